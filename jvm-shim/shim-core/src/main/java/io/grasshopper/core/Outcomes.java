// How does the control plane hear what has become of an order?
package io.grasshopper.core;

import java.util.function.Consumer;
import java.util.function.LongSupplier;

/** Leaves outcomes in the queue, from any thread, also under a lock: that wakes nobody. */
final class Outcomes {
  private final FactQueue queue;
  private final LoopThread thread;
  private final Consumer<Fact> facts;
  private final LongSupplier nanoClock;

  /** @param facts where an outcome goes from the queue */
  Outcomes(FactQueue queue, LoopThread thread, Consumer<Fact> facts, LongSupplier nanoClock) {
    this.queue = queue;
    this.thread = thread;
    this.facts = facts;
    this.nanoClock = nanoClock;
  }

  void applied(long order, long attempt) {
    outcome(order, "applied", "", attempt);
  }

  void refused(long order, String reason) {
    outcome(order, "refused", reason, -1);
  }

  void expired(long order, String reason) {
    outcome(order, "expired", reason, -1);
  }

  private void outcome(long order, String result, String reason, long attempt) {
    long now = nanoClock.getAsLong();
    queue.offer(() -> {
      if (result.equals("refused")) {
        thread.markUrgent();
      }
      facts.accept(Fact.at("order_outcome", now)
          .with("order", order).with("result", result).withText("reason", reason).with("attempt", attempt));
    });
  }
}
