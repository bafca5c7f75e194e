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
 */
public final class Leases {
  private final Map<String, Long> endNanosByJob = new ConcurrentHashMap<>();
  private final LongSupplier nanoClock;
  private long planeEpoch = -1;
  private long lastCycle = -1;

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
    if (!reply.isControl()) {
      endAll();
      return;
    }
    boolean grew = reply.planeEpoch != planeEpoch || reply.cycle > lastCycle;
    planeEpoch = reply.planeEpoch;
    lastCycle = reply.cycle;
    if (grew) {
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

  /** Nanoseconds until the next lease ends; {@link Long#MAX_VALUE} without leases. */
  long nanosToNextEnd() {
    long now = nanoClock.getAsLong();
    long shortest = Long.MAX_VALUE;
    for (long end : endNanosByJob.values()) {
      shortest = Math.min(shortest, Math.max(0, end - now));
    }
    return shortest;
  }
}
