// Does a cap hold while proposals are under way, and does a rejected one stop counting?
package io.grasshopper.yarn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.junit.jupiter.api.Test;

class InFlightTest {
  private final ApplicationId app = ApplicationId.newInstance(1, 1);
  private long nowNanos = Long.MAX_VALUE - 5;
  private final InFlight inFlight = new InFlight(() -> nowNanos);

  private boolean take(int held, int cap) {
    return inFlight.take(app, () -> held, cap);
  }

  @Test
  void countsProposalsAgainstTheCapTogetherWithLiveContainers() {
    assertTrue(take(1, 3));
    assertTrue(take(1, 3));
    assertFalse(take(1, 3));
    inFlight.committed(app);
    assertFalse(take(2, 3));
    assertEquals(1, inFlight.count(app));
  }

  @Test
  void takesBackWhatCameToNothing() {
    assertTrue(take(2, 3));
    inFlight.giveBack(app);
    assertTrue(take(2, 3));
  }

  @Test
  void forgetsARejectedProposalInTimeAlsoWhereTheClockWrapsAround() {
    assertTrue(take(2, 3));
    nowNanos += InFlight.LIFE_NANOS - 1;
    assertFalse(take(2, 3));
    nowNanos += 1;
    assertEquals(0, inFlight.count(app));
    assertTrue(take(2, 3));
  }

  @Test
  void doesNotOvershootWhereManyThreadsProposeAtOnce() throws Exception {
    InFlight slow = new InFlight(() -> {
      LockSupport.parkNanos(1_000_000);
      return nowNanos;
    });
    CountDownLatch go = new CountDownLatch(1);
    AtomicInteger taken = new AtomicInteger();
    Thread[] threads = new Thread[8];
    for (int i = 0; i < threads.length; i++) {
      threads[i] = new Thread(() -> {
        try {
          go.await();
        } catch (InterruptedException error) {
          return;
        }
        while (slow.take(app, () -> 3, 10)) {
          taken.incrementAndGet();
        }
      });
      threads[i].start();
    }
    go.countDown();
    for (Thread thread : threads) {
      thread.join();
    }
    assertEquals(7, taken.get());
  }
}
