// Which applications of one queue hold less than their targets, and who of them comes first?
package io.grasshopper.yarn;

import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.hadoop.yarn.api.records.ApplicationId;

/**
 * The applications under their target in the plan: by their grants' precedence, and of equal ones the hungriest first, by
 * containers held minus target.
 *
 * <p>Only the applications whose place a new plan changes are moved, and those that a callback names, because sorting for each
 * container placed costs up to a tenth of a node update. Iterating needs no lock.
 */
final class TargetOrder<S> {
  /** An application's place; a key that never changes, as the set's order demands. */
  static final class Place<S> implements Comparable<Place<S>> {
    final S application;
    final ApplicationId id;
    /** Containers held minus target; 0 where the application is not under one. */
    final int surplus;
    final double precedence;
    private final long turn;

    Place(S application, ApplicationId id, int surplus, double precedence, long turn) {
      this.application = application;
      this.id = id;
      this.surplus = surplus;
      this.precedence = precedence;
      this.turn = turn;
    }

    Place<S> at(int otherSurplus, double otherPrecedence) {
      return new Place<>(application, id, otherSurplus, otherPrecedence, turn);
    }

    @Override
    public int compareTo(Place<S> other) {
      int byPrecedence = Double.compare(precedence, other.precedence);
      int bySurplus = byPrecedence != 0 ? byPrecedence : Integer.compare(surplus, other.surplus);
      return bySurplus != 0 ? bySurplus : Long.compare(turn, other.turn);
    }
  }

  private final Holdings<S> holdings;
  private final ConcurrentSkipListSet<Place<S>> hungry = new ConcurrentSkipListSet<>();
  /** All that are in the queue; who is not, moves no more. */
  private final Map<S, Place<S>> places = new ConcurrentHashMap<>();
  /** Fair, so that a callback waits for one application to move, and not for all that a new plan moves. */
  private final ReentrantLock lock = new ReentrantLock(true);
  private volatile Plan plan = Plan.NONE;
  private long nextTurn;

  TargetOrder(Holdings<S> holdings) {
    this.holdings = holdings;
  }

  Plan plan() {
    return plan;
  }

  /** Follows a newer plan from here on; whoever comes first moves the applications, while the others go on. */
  void follow(Plan next) {
    if (!turnTo(next)) {
      return;
    }
    try {
      places.keySet().forEach(this::update);
    } catch (Throwable error) {
      plan = Plan.NONE;
      throw error;
    }
  }

  private boolean turnTo(Plan next) {
    lock.lock();
    try {
      boolean isNewer = next.isNewerThan(plan);
      plan = isNewer ? next : plan;
      return isNewer;
    } finally {
      lock.unlock();
    }
  }

  /** The application has come into the queue. Ties go by who came first. */
  void add(S application) {
    lock.lock();
    try {
      places.putIfAbsent(application, new Place<>(application, holdings.id(application), 0, 0, nextTurn++));
      update(application);
    } finally {
      lock.unlock();
    }
  }

  /** Gives an application its place, anew after each change; what is heard of it once it has left the queue counts no more. */
  void update(S application) {
    lock.lock();
    try {
      Place<S> old = places.get(application);
      if (old == null) {
        return;
      }
      Grant grant = plan.of(old.id, System.nanoTime());
      int surplus = grant == null ? 0 : Math.min(0, holdings.containers(application) - grant.target);
      Place<S> place = old.at(surplus, surplus == 0 ? 0 : grant.precedence);
      if (place.compareTo(old) != 0) {
        places.put(application, place);
        hungry.remove(old);
        if (surplus < 0) {
          hungry.add(place);
        }
      }
    } finally {
      lock.unlock();
    }
  }

  void remove(S application) {
    lock.lock();
    try {
      Place<S> old = places.remove(application);
      if (old != null) {
        hungry.remove(old);
      }
    } finally {
      lock.unlock();
    }
  }

  Iterator<Place<S>> inTurn() {
    return hungry.iterator();
  }
}
