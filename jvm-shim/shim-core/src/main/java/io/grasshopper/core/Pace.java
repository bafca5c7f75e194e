// When is the next exchange due?
package io.grasshopper.core;

import java.util.function.LongSupplier;

/**
 * At the interval the last reply asked for, 5 ms after an urgent event, or when the doorbell rings.
 *
 * <p>For the sync loop's thread.
 */
final class Pace {
  private static final long MILLI = 1_000_000;
  private static final long COALESCE_NANOS = 5 * MILLI;
  private static final long RING_GAP_NANOS = 20 * MILLI;
  private static final long FIRST_INTERVAL_MS = 500;
  private static final long LONGEST_INTERVAL_MS = 60_000;

  private final LongSupplier nanoClock;
  private long nextDueNanos;
  private long earliestNanos;
  private boolean soon;
  private long soonNanos;
  private boolean rung;

  Pace(LongSupplier nanoClock) {
    this.nanoClock = nanoClock;
    this.nextDueNanos = nanoClock.getAsLong();
    this.earliestNanos = nextDueNanos;
  }

  /** Something urgent has happened, which counts only where orders may follow. */
  void hurry(long nowNanos, boolean isInControl) {
    if (!soon) {
      soonNanos = nowNanos + COALESCE_NANOS;
      soon = isInControl;
    }
  }

  /** @param hasRung whether the doorbell has rung since the last call */
  void ring(boolean hasRung) {
    rung |= hasRung;
  }

  /** An exchange goes out, and with it all that was urgent. */
  void begin() {
    soon = false;
    rung = false;
  }

  /** No exchange before these milliseconds are over. */
  void postpone(long millis) {
    earliestNanos = nanoClock.getAsLong() + millis * MILLI;
    nextDueNanos = earliestNanos;
  }

  /** After a turn that has failed. */
  void postpone() {
    postpone(FIRST_INTERVAL_MS);
  }

  /**
   * The plane sets the pace: a full report is due when it says so, urgent events count only where orders may follow.
   *
   * @param sentNanos when the exchange that it answers was sent
   */
  void follow(Reply reply, Outbox outbox, long sentNanos) {
    boolean isAskedAgain = reply.wantFull && outbox.isBatchFull();
    long leastMs = isAskedAgain ? FIRST_INTERVAL_MS : 1;
    long intervalMs = Math.max(leastMs, Math.min(LONGEST_INTERVAL_MS, reply.nextIntervalMs));
    soon &= reply.isControl();
    earliestNanos = nanoClock.getAsLong();
    nextDueNanos = outbox.hasBacklog() ? earliestNanos : sentNanos + intervalMs * MILLI;
  }

  /** @param sentNanos when the last exchange was sent */
  long dueNanos(long sentNanos) {
    long due = nextDueNanos;
    if (soon) {
      due = Math.min(due, soonNanos);
    }
    if (rung) {
      due = Math.min(due, sentNanos + RING_GAP_NANOS);
    }
    return Math.max(due, earliestNanos);
  }
}
