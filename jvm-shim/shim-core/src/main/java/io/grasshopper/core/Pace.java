// How soon may something happen that should happen at once, but not all the time?
package io.grasshopper.core;

/** Bursts are free; in the long run there is a gap between one and the next. */
final class Pace {
  private final long gapNanos;
  private final long burstNanos;
  /** Until when the gaps of all that has happened reach; nothing has yet. */
  private long usedNanos;
  private boolean isUsed;

  Pace(long gapNanos, int burst) {
    this.gapNanos = gapNanos;
    this.burstNanos = gapNanos * (burst - 1);
  }

  /** When the next one may happen: now, or later. */
  long earliestNanos(long nowNanos) {
    return isUsed && usedNanos - burstNanos - nowNanos > 0 ? usedNanos - burstNanos : nowNanos;
  }

  /** One happens now. */
  void happened(long nowNanos) {
    usedNanos = (isUsed && usedNanos - nowNanos > 0 ? usedNanos : nowNanos) + gapNanos;
    isUsed = true;
  }
}
