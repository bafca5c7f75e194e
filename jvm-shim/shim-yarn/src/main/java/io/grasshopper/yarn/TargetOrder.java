// Which applications of one queue hold less than their targets, and who of them comes first?
package io.grasshopper.yarn;

import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListSet;
import org.apache.hadoop.yarn.api.records.ApplicationId;

/**
 * The applications under their target in one plan, the hungriest first: by containers held minus target.
 *
 * <p>Built once per plan; afterwards only the application that a callback names is moved, because sorting for each container
 * placed costs up to a tenth of a node update. Iterating needs no lock.
 */
final class TargetOrder<S> {
  /** An application's place; a key that never changes, as the set's order demands. */
  static final class Place<S> implements Comparable<Place<S>> {
    final S application;
    final ApplicationId id;
    /** Containers held minus target; negative. */
    final int surplus;
    private final long turn;

    Place(S application, ApplicationId id, int surplus, long turn) {
      this.application = application;
      this.id = id;
      this.surplus = surplus;
      this.turn = turn;
    }

    Place<S> withMore(int inFlight) {
      return new Place<>(application, id, surplus + inFlight, turn);
    }

    @Override
    public int compareTo(Place<S> other) {
      return surplus != other.surplus ? Integer.compare(surplus, other.surplus) : Long.compare(turn, other.turn);
    }
  }

  final Plan plan;
  private final Holdings<S> holdings;
  private final ConcurrentSkipListSet<Place<S>> hungry = new ConcurrentSkipListSet<>();
  private final Map<S, Place<S>> places = new IdentityHashMap<>();
  private long turns;

  TargetOrder(Plan plan, Holdings<S> holdings) {
    this.plan = plan;
    this.holdings = holdings;
  }

  /** Gives an application its place, anew after each change; none where it is not under a target. Ties keep the first turn. */
  synchronized void update(S application) {
    ApplicationId id = holdings.id(application);
    Grant grant = plan.of(id, System.nanoTime());
    Place<S> old = places.get(application);
    if (grant == null && old == null) {
      return;
    }
    int surplus = grant == null ? 0 : holdings.containers(application) - grant.target;
    if (old != null && old.surplus == surplus) {
      return;
    }
    remove(application);
    if (surplus < 0) {
      Place<S> place = new Place<>(application, id, surplus, old == null ? turns++ : old.turn);
      places.put(application, place);
      hungry.add(place);
    }
  }

  synchronized void remove(S application) {
    Place<S> old = places.remove(application);
    if (old != null) {
      hungry.remove(old);
    }
  }

  Iterator<Place<S>> hungriestFirst() {
    return hungry.iterator();
  }
}
