// In which order are the applications of a queue offered the next container?
package io.grasshopper.yarn;

import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.hadoop.yarn.api.records.ApplicationId;

/**
 * One pass over a queue: applications under their target by precedence, equal ones by (held + in flight - target), then the
 * others in stock order; applications that ask for nothing, or are at their cap, are left out.
 *
 * <p>The scheduler takes one application, proposes a container for it, and comes back to {@link #hasNext} only if nothing came
 * of that. So a proposal is counted in {@link #next} and given back in the following {@link #hasNext}. If anything in here fails,
 * the pass goes on in stock order.
 */
final class AssignmentTurns<S> implements Iterator<S> {
  private final Plan plan;
  private final Holdings<S> holdings;
  private final InFlight inFlight;
  private final Supplier<Iterator<S>> stockOrder;
  private final Iterator<TargetOrder.Place<S>> hungry;
  private final PriorityQueue<TargetOrder.Place<S>> fedMeanwhile = new PriorityQueue<>();
  private final Set<S> seen = Collections.newSetFromMap(new IdentityHashMap<>());
  private Iterator<S> others;
  private TargetOrder.Place<S> head;
  private S upcoming;
  private ApplicationId counted;
  private boolean isStock;

  AssignmentTurns(TargetOrder<S> order, Holdings<S> holdings, InFlight inFlight, Supplier<Iterator<S>> stockOrder) {
    this.plan = order.plan();
    this.holdings = holdings;
    this.inFlight = inFlight;
    this.stockOrder = stockOrder;
    this.hungry = order.inTurn();
    this.head = nextPlace();
  }

  @Override
  public boolean hasNext() {
    if (!isStock) {
      try {
        settle();
        return upcoming != null || advance();
      } catch (Throwable error) {
        giveUp(error);
      }
    }
    return others.hasNext();
  }

  @Override
  public S next() {
    if (!isStock) {
      try {
        settle();
        if (upcoming == null && !advance()) {
          throw new NoSuchElementException();
        }
        S application = upcoming;
        upcoming = null;
        return application;
      } catch (NoSuchElementException end) {
        throw end;
      } catch (Throwable error) {
        giveUp(error);
      }
    }
    return others.next();
  }

  private void giveUp(Throwable error) {
    isStock = true;
    others = stockOrder.get();
    Shim.caught("assignment order", error);
  }

  /** Nothing came of the last proposal. */
  private void settle() {
    if (counted != null && upcoming == null) {
      inFlight.giveBack(counted);
      counted = null;
    }
  }

  /** Finds the next application that may have a container, and counts a proposal for it. */
  private boolean advance() {
    for (S application = candidate(); application != null; application = candidate()) {
      if (mayTake(application)) {
        upcoming = application;
        return true;
      }
    }
    return false;
  }

  private boolean mayTake(S application) {
    ApplicationId id = holdings.id(application);
    Grant grant = plan.of(id, System.nanoTime());
    if (grant == null || holdings.awaitsMaster(application)) {
      return true;
    }
    if (!inFlight.take(id, () -> holdings.containers(application), grant.cap)) {
      return false;
    }
    counted = id;
    return true;
  }

  private S candidate() {
    TargetOrder.Place<S> place = firstBelowTarget();
    if (place != null) {
      seen.add(place.application);
      return place.application;
    }
    if (others == null) {
      others = stockOrder.get();
    }
    while (others.hasNext()) {
      S application = others.next();
      if (holdings.asks(application) && !seen.contains(application)) {
        return application;
      }
    }
    return null;
  }

  /** The place whose turn it is once what is in flight is counted; null when all targets are met. */
  private TargetOrder.Place<S> firstBelowTarget() {
    while (head != null && (fedMeanwhile.isEmpty() || head.compareTo(fedMeanwhile.peek()) <= 0)) {
      TargetOrder.Place<S> place = head;
      head = nextPlace();
      if (!holdings.asks(place.application)) {
        continue;
      }
      int more = inFlight.count(place.id);
      if (plan.of(place.id, System.nanoTime()) == null || place.surplus + more >= 0) {
        continue;
      }
      if (more == 0) {
        return place;
      }
      fedMeanwhile.add(place.at(place.surplus + more, place.precedence));
    }
    return fedMeanwhile.poll();
  }

  private TargetOrder.Place<S> nextPlace() {
    return hungry.hasNext() ? hungry.next() : null;
  }
}
