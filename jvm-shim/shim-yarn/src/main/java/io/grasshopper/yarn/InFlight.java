// How many containers has the scheduler proposed for an application and not committed yet?
package io.grasshopper.yarn;

import java.util.ArrayDeque;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.IntSupplier;
import java.util.function.LongSupplier;
import org.apache.hadoop.yarn.api.records.ApplicationId;

/**
 * Proposals by application, each with its time.
 *
 * <p>Where the CapacityScheduler works asynchronously, several proposals are under way before the first becomes a live
 * container; a cap held against live containers alone is overshot. A proposal that is never committed was rejected, and counts no
 * longer than {@link #LIFE_NANOS}.
 */
final class InFlight {
  static final InFlight SHARED = new InFlight(System::nanoTime);
  static final long LIFE_NANOS = 200_000_000;
  private static final int MOST_OF_ONE = 10_000;

  private final Map<ApplicationId, ArrayDeque<Long>> proposals = new ConcurrentHashMap<>();
  private final LongSupplier nanoClock;

  InFlight(LongSupplier nanoClock) {
    this.nanoClock = nanoClock;
  }

  int count(ApplicationId application) {
    ArrayDeque<Long> times = proposals.get(application);
    if (times == null) {
      return 0;
    }
    synchronized (times) {
      dropOld(times);
      return times.size();
    }
  }

  /**
   * Counts one more proposal, unless those under way and the containers held fill the cap already.
   *
   * @param held asked while no proposal of this application can be counted or committed
   */
  boolean take(ApplicationId application, IntSupplier held, int cap) {
    ArrayDeque<Long> times = proposals.computeIfAbsent(application, a -> new ArrayDeque<>());
    synchronized (times) {
      dropOld(times);
      if (times.size() >= MOST_OF_ONE || held.getAsInt() >= cap - times.size()) {
        return false;
      }
      times.addLast(nanoClock.getAsLong());
      return true;
    }
  }

  /** The latest proposal did not come about. */
  void giveBack(ApplicationId application) {
    ArrayDeque<Long> times = proposals.get(application);
    if (times != null) {
      synchronized (times) {
        times.pollLast();
      }
    }
  }

  /** The earliest proposal is committed: its container is live. */
  void committed(ApplicationId application) {
    ArrayDeque<Long> times = proposals.get(application);
    if (times != null) {
      synchronized (times) {
        times.pollFirst();
      }
    }
  }

  void forget(ApplicationId application) {
    proposals.remove(application);
  }

  private void dropOld(ArrayDeque<Long> times) {
    long now = nanoClock.getAsLong();
    while (!times.isEmpty() && now - times.peekFirst() >= LIFE_NANOS) {
      times.pollFirst();
    }
  }
}
