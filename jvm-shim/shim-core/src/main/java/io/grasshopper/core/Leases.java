// For which jobs does the control plane speculate right now? Control is a lease, and silence ends it.
package io.grasshopper.core;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;

/**
 * The jobs under control, each until an instant of the monotonic clock.
 *
 * <p>Only a valid reply in mode control whose decision cycle grew renews a lease: a control plane that answers without deciding
 * loses its jobs. A valid reply in a lower mode ends all leases at once. {@link #holds} may be called from any thread.
 *
 * <p>The longest lease that was claimed last is also how long everything else that was ordered may outlive the last valid reply.
 */
public final class Leases {
  private final Map<String, Long> endNanosByJob = new ConcurrentHashMap<>();
  private final LongSupplier nanoClock;
  private long planeEpoch = -1;
  private long lastCycle = -1;
  private long longestNanos = Reply.millisAsNanos(Reply.LONGEST_MS);
  private boolean isHeard;
  private long silentNanos;

  /** @param nanoClock {@link System#nanoTime}, or a clock a test moves */
  public Leases(LongSupplier nanoClock) {
    this.nanoClock = nanoClock;
  }

  /** Whether the control plane holds this job now. */
  public boolean holds(String job) {
    Long end = endNanosByJob.get(job);
    return end != null && nanoClock.getAsLong() - end < 0;
  }

  void renew(Reply reply) {
    longestNanos = reply.claims.values().stream().mapToLong(Long::longValue).max().orElse(longestNanos);
    isHeard = true;
    silentNanos = nanoClock.getAsLong() + longestNanos;
    if (!reply.isControl()) {
      endAll();
      return;
    }
    boolean grew = reply.planeEpoch != planeEpoch || reply.cycle > lastCycle;
    if (grew) {
      planeEpoch = reply.planeEpoch;
      lastCycle = reply.cycle;
      long now = nanoClock.getAsLong();
      reply.claims.forEach((job, leaseNanos) -> endNanosByJob.put(job, now + leaseNanos));
    }
  }

  /** Ends all leases; {@link #takeEnded} still tells which they were. */
  void endAll() {
    long now = nanoClock.getAsLong();
    endNanosByJob.replaceAll((job, end) -> now);
  }

  /** The jobs whose lease has ended since the last call. */
  List<String> takeEnded() {
    List<String> ended = new ArrayList<>();
    for (String job : endNanosByJob.keySet()) {
      if (!holds(job)) {
        endNanosByJob.remove(job);
        ended.add(job);
      }
    }
    return ended;
  }

  /** Whether no valid reply has come for a lease; true once for each silence. */
  boolean takeSilence() {
    boolean isOver = isHeard && nanoClock.getAsLong() - silentNanos >= 0;
    isHeard &= !isOver;
    return isOver;
  }

  /** Nanoseconds until the next lease ends or silence begins; {@link Long#MAX_VALUE} for neither. */
  long nanosToNextEnd() {
    long now = nanoClock.getAsLong();
    long shortest = isHeard ? Math.max(0, silentNanos - now) : Long.MAX_VALUE;
    for (long end : endNanosByJob.values()) {
      shortest = Math.min(shortest, Math.max(0, end - now));
    }
    return shortest;
  }
}
