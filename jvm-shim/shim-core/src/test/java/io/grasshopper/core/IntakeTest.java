// Are events taken in, reported soon, and not missed where some were lost?
package io.grasshopper.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class IntakeTest extends LoopTest {
  @Test
  void exchangesSoonAfterEachUrgentEvent() throws Exception {
    replySeldom();
    start();
    plane.nextRequest();
    for (int i = 0; i < 3; i++) {
      Thread.sleep(100);
      long begin = System.nanoTime();
      loop.queue().offerUrgent(() -> loop.emit(Fact.at("executor_lost", begin).withKey("executor", "1")));
      assertEquals(1, ((List<?>) plane.nextRequest().get("facts")).size());
      assertTrue(System.nanoTime() - begin < 1_000_000_000L);
    }
  }

  @Test
  void takesEventsInWhereNothingIsToBeSentForLong() throws Exception {
    plane.behaviour = (http, request) ->
        FakePlane.reply(http, seldom(FakePlane.acknowledging(request, "")).replace("\"control\"", "\"shadow\""));
    start();
    plane.nextRequest();
    Thread.sleep(100);
    for (int i = 0; i < 3; i++) {
      CountDownLatch taken = new CountDownLatch(1);
      loop.queue().offerUrgent(taken::countDown);
      assertTrue(taken.await(2, TimeUnit.SECONDS));
    }
  }

  @Test
  void reportsInFullAfterDroppedEvents() throws Exception {
    start("queue.capacity", "100");
    plane.nextRequest();
    for (int i = 0; i < 100_000; i++) {
      loop.queue().offer(() -> { });
    }
    for (int i = 0; i < 20; i++) {
      Map<?, ?> request = plane.nextRequest();
      if (request.get("full").equals(true) && (Long) request.get("dropped_events") > 0) {
        return;
      }
    }
    throw new AssertionError("drops did not lead to a full report");
  }

  /** The end of an attempt may have been dropped, and a report that goes on naming it repairs nothing. */
  @Test
  void asksTheHostWhatIsStillThereAfterDroppedEvents() throws Exception {
    start("queue.capacity", "100");
    loop.queue().offer(() -> loop.emit(Fact.at("attempt_started", 0).with("attempt", 1L)));
    plane.nextRequest();
    Thread.sleep(100);
    for (int i = 0; i < 100_000; i++) {
      loop.queue().offer(() -> { });
    }
    assertEquals("forget gone", nextCall());
    for (int i = 0; i < 1000; i++) {
      Map<?, ?> request = plane.nextRequest();
      if (request.get("full").equals(true) && !request.get("facts").toString().contains("attempt_started")) {
        return;
      }
    }
    throw new AssertionError("every full report names what has gone");
  }
}
