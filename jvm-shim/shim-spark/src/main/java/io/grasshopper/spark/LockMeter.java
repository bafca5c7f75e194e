// How long do our hooks hold Spark's scheduler lock?
package io.grasshopper.spark;

/**
 * Sums the time spent in our hooks under {@code synchronized(taskScheduler)}; written under that lock only.
 *
 * <p>Left out are overrides that only read a field or two: to ask the clock would take longer than they do.
 */
final class LockMeter {
  private volatile long calls;
  private volatile long totalNanos;
  private volatile long longestNanos;

  /** Accounts for one stay that began at {@code startNanos}. */
  @SuppressWarnings("NonAtomicOperationOnVolatileField")
  void leave(long startNanos) {
    long stay = System.nanoTime() - startNanos;
    calls++;
    totalNanos += stay;
    longestNanos = Math.max(longestNanos, stay);
  }

  long calls() {
    return calls;
  }

  long totalNanos() {
    return totalNanos;
  }

  long longestNanos() {
    return longestNanos;
  }
}
