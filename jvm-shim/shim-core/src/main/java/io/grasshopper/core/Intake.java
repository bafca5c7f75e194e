// What have host threads left in the queue, and what if some of it was lost?
package io.grasshopper.core;

import java.util.function.LongSupplier;

/** Turns events into facts. For the sync loop's thread. */
final class Intake {
  /** By this long after a loss every other event has come in: what the host has no more by then has ended. */
  private static final long STRAY_EVENTS_NANOS = 3_000_000_000L;

  private final FactQueue queue;
  private final Outbox outbox;
  private final Host host;
  private final Guard guard;
  private final LongSupplier nanoClock;
  private long dropsReported;
  private boolean hasLostEvents;
  private long forgetNanos;

  Intake(FactQueue queue, Outbox outbox, Host host, Guard guard, LongSupplier nanoClock) {
    this.queue = queue;
    this.outbox = outbox;
    this.host = host;
    this.guard = guard;
    this.nanoClock = nanoClock;
  }

  void translateEvents() {
    for (Runnable event = queue.poll(); event != null; event = queue.poll()) {
      guard.run("event", event);
    }
    if (queue.dropped() != dropsReported) {
      dropsReported = queue.dropped();
      outbox.requireFull();
      forgetNanos = hasLostEvents ? forgetNanos : nanoClock.getAsLong() + STRAY_EVENTS_NANOS;
      hasLostEvents = true;
    }
  }

  /** Some time after events were lost, the host says what it still has, and a full report says it on. */
  void forgetLost(long nowNanos) {
    if (hasLostEvents && nowNanos - forgetNanos >= 0) {
      hasLostEvents = false;
      guard.run("lost events", host::forgetGone);
      outbox.requireFull();
    }
  }
}
