// Which orders of a reply reach the host?
package io.grasshopper.core;

import java.util.function.LongSupplier;

/** Each order once, and only what is valid, in time and within the mode. For the sync loop's thread. */
final class OrderDispatch {
  private final Host host;
  private final Guard guard;
  private final Outcomes outcomes;
  private final OrderMemory seenOrders = new OrderMemory();
  private final LongSupplier nanoClock;

  OrderDispatch(Host host, Guard guard, Outcomes outcomes, LongSupplier nanoClock) {
    this.host = host;
    this.guard = guard;
    this.outcomes = outcomes;
    this.nanoClock = nanoClock;
  }

  void obey(Reply reply) {
    for (Order order : reply.orders) {
      if (seenOrders.isNew(order.id())) {
        obey(order, reply);
      }
    }
    guard.run("settle", host::settle);
  }

  /** A kill only takes back what was launched in control, so it is the one order that counts after a change of mode. */
  private void obey(Order order, Reply reply) {
    if (order.badField() != null) {
      outcomes.refused(order.id(), "bad_field:" + order.badField());
    } else if (!reply.isControl() && !order.type().equals("kill_attempt")) {
      outcomes.refused(order.id(), "mode");
    } else if (order.isOverdue(nanoClock.getAsLong())) {
      outcomes.expired(order.id(), "overdue");
    } else {
      try {
        host.apply(order);
      } catch (Throwable error) {
        guard.caught("order", error);
        outcomes.refused(order.id(), "shim_error");
      }
    }
  }

  /** Another control plane counts its orders anew. */
  void forget() {
    seenOrders.forget();
  }
}
