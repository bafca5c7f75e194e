// When is what was ordered over, and what is left of it then?
package io.grasshopper.spark;

import io.grasshopper.core.Order;
import java.util.Iterator;

/** Ends wishes, grants and hosts to avoid: on time, with a lease, or all at once. For the sync loop's thread. */
final class OrderEnds {
  private final Control control;
  private final SchedulerLock lock;
  private final Offers offers;
  private long dueNanos;
  private boolean isDue;

  OrderEnds(Control control, SchedulerLock lock, Offers offers) {
    this.control = control;
    this.lock = lock;
    this.offers = offers;
  }

  /** The order counts from here on: it may launch something with the next offer, and it expires. */
  void began(Order order) {
    offers.want();
    dueBy(order.expiresNanos());
  }

  /** Something may be over at this moment. */
  void dueBy(long nanos) {
    dueNanos = isDue ? Math.min(dueNanos, nanos) : nanos;
    isDue = true;
  }

  /** Ends what is over; answers nanoseconds until the next end, or {@link Long#MAX_VALUE}. */
  long endOverdue(long nowNanos) {
    if (isDue && nowNanos - dueNanos >= 0) {
      long next = lock.get(() -> sweep(nowNanos));
      isDue = next != Long.MAX_VALUE;
      dueNanos = nowNanos + next;
      offers.settle();
    }
    return isDue ? Math.max(0, dueNanos - nowNanos) : Long.MAX_VALUE;
  }

  private long sweep(long nowNanos) {
    long next = Long.MAX_VALUE;
    for (Iterator<OrderedTaskSet> each = control.wishing.iterator(); each.hasNext(); ) {
      OrderedTaskSet set = each.next();
      next = Math.min(next, set.wishes().endOverdue(nowNanos));
      if (set.wishes().isEmpty()) {
        each.remove();
      }
    }
    for (JobShare share : control.shares()) {
      if (share.hasGrant() && nowNanos - share.endNanos() >= 0) {
        control.clear(share);
        offers.want();
      } else if (share.hasGrant()) {
        next = Math.min(next, share.endNanos() - nowNanos);
      }
    }
    if (control.avoided.isOver(nowNanos)) {
      control.avoided = AvoidedHosts.NONE;
      offers.want();
    }
    return Math.min(next, control.avoided.nanosToEnd(nowNanos));
  }

  void leaseEnded(String job) {
    lock.run(() -> {
      JobShare share = control.share(job);
      if (share != null && share.hasGrant()) {
        control.clear(share);
        offers.want();
      }
      for (OrderedTaskSet set : control.wishing) {
        if (set.job().key.equals(job)) {
          set.wishes().drop("lease_ended");
        }
      }
    });
    offers.settle();
  }

  /** All is over; the control plane hears of wishes unless the reason is empty. */
  void standDown(String reason) {
    lock.run(() -> {
      control.wishing.forEach(set -> set.wishes().drop(reason));
      control.wishing.clear();
      control.shares().forEach(control::clear);
      control.avoided = AvoidedHosts.NONE;
    });
    offers.want();
    offers.settle();
  }
}
