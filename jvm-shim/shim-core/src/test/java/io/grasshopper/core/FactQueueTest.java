// Does a full queue ever hold up a host thread?
package io.grasshopper.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class FactQueueTest {
  @Test
  void dropsAndCountsWhatDoesNotFit() {
    FactQueue queue = new FactQueue(3, () -> { });
    assertTimeoutPreemptively(Duration.ofSeconds(1), () -> {
      for (int i = 0; i < 10; i++) {
        queue.offer(() -> { });
      }
    });
    assertEquals(7, queue.dropped());
  }

  @Test
  void wakesTheLoopForUrgentEventsOnly() {
    AtomicInteger woken = new AtomicInteger();
    FactQueue queue = new FactQueue(3, woken::incrementAndGet);
    queue.offer(() -> { });
    queue.offerUrgent(() -> { });
    assertEquals(1, woken.get());
  }
}
