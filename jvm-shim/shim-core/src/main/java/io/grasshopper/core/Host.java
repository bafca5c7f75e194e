// What must a host system's shim be able to do for the sync loop?
package io.grasshopper.core;

import java.util.Map;

/** The host's half of a shim. Every method is called on the sync loop's thread, inside the guard. */
public interface Host {
  /** The {@code driver_attached} fact, first in every full report. */
  Fact attached();

  /** Carries out an order, or refuses it; the result goes to {@link SyncLoop#applied} and its neighbours. */
  void apply(Order order);

  /** All orders of one reply are with the host: whatever they need together happens here. */
  void settle();

  /** From here on the host's own behaviour applies to this job: wishes are dropped, targets and caps are gone. */
  void leaseEnded(String job);

  /**
   * All wishes and grants are dropped, for all jobs.
   *
   * @param reason told as the outcome of each order that waits; empty for silence, where another control plane answers that has
   *     never heard of them
   */
  void standDown(String reason);

  /** Events were lost, perhaps the ends of something: what the host no longer has leaves the live state. */
  default void forgetGone() {}

  /** Ends wishes whose time is over; answers nanoseconds until the next one, or {@link Long#MAX_VALUE}. */
  long endOverdue(long nowNanos);

  /**
   * Progress columns by wire name, empty for none: of the attempts that have moved since progress last arrived.
   *
   * @param all of all attempts instead, for the control plane may know nothing of them
   */
  Map<String, Object> progress(long nowNanos, boolean all);

  /** What {@link #progress} last answered has arrived. */
  default void progressArrived() {}
}
