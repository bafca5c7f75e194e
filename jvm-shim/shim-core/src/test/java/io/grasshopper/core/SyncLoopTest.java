// Does the loop keep its promises to the host and to the control plane?
package io.grasshopper.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class SyncLoopTest extends LoopTest {
  private static final String CLAIM = ", \"claims\": [{\"job\": \"sql-1\", \"lease_ms\": 300}]";

  @Test
  void introducesItselfWithAFullReport() throws Exception {
    start();
    Map<?, ?> request = plane.nextRequest();
    assertEquals(1L, request.get("protocol"));
    assertEquals(1L, request.get("sequence"));
    assertEquals(true, request.get("full"));
    assertEquals("{kind=spark, id=app-1, epoch=5}", request.get("source").toString());
    assertEquals(false, plane.nextRequest().get("full"));
  }

  @Test
  void sendsTheSameMessageAgainUntilItIsAcknowledged() throws Exception {
    AtomicInteger failures = new AtomicInteger(2);
    plane.behaviour = (http, request) -> {
      if (failures.getAndDecrement() > 0) {
        http.sendResponseHeaders(500, -1);
      } else {
        FakePlane.reply(http, FakePlane.acknowledging(request, ""));
      }
    };
    start();
    for (int i = 0; i < 3; i++) {
      assertEquals(1L, plane.nextRequest().get("sequence"));
    }
    assertEquals(2L, plane.nextRequest().get("sequence"));
  }

  /** An attempt that stands still says nothing again, and a repeated number may have been heard without it. */
  @Test
  void tellsProgressUntilItHasArrivedUnderANewNumber() throws Exception {
    AtomicInteger failures = new AtomicInteger(1);
    plane.behaviour = (http, request) -> {
      if (failures.getAndDecrement() > 0) {
        http.sendResponseHeaders(500, -1);
      } else {
        FakePlane.reply(http, FakePlane.acknowledging(request, ""));
      }
    };
    host.hasNewProgress = true;
    start();
    for (long sequence : new long[] {1, 1, 2}) {
      Map<?, ?> request = plane.nextRequest();
      assertEquals(sequence, request.get("sequence"));
      assertNotNull(request.get("progress"));
    }
    assertNull(plane.nextRequest().get("progress"));
  }

  @Test
  void endsALeaseOnTimeWhileTheControlPlaneHangs() throws Exception {
    AtomicInteger count = new AtomicInteger();
    plane.behaviour = (http, request) -> {
      if (count.getAndIncrement() > 0) {
        Thread.sleep(2500);
      }
      FakePlane.reply(http, FakePlane.acknowledging(request, CLAIM));
    };
    start();
    for (int i = 0; i < 500 && !loop.leases().holds("sql-1"); i++) {
      Thread.sleep(1);
    }
    assertTrue(loop.leases().holds("sql-1"));
    long start = System.nanoTime();
    assertEquals("lease ended sql-1", nextCall());
    assertTrue(System.nanoTime() - start < 1_000_000_000L, "the lease outlived its 300 ms by far");
    assertFalse(loop.leases().holds("sql-1"));
  }

  @Test
  void standsDownAndReportsInFullForAnotherControlPlane() throws Exception {
    AtomicInteger count = new AtomicInteger();
    plane.behaviour = (http, request) -> {
      String epoch = "\"plane_epoch\": " + (count.incrementAndGet() < 3 ? 7 : 8);
      FakePlane.reply(http, FakePlane.acknowledging(request, "").replace("\"plane_epoch\": 7", epoch));
    };
    start();
    assertEquals("stand down ", nextCall());
    for (int i = 0; i < 3; i++) {
      plane.nextRequest();
    }
    assertEquals(true, plane.nextRequest().get("full"));
  }

  @Test
  void reportsInFullWhenAsked() throws Exception {
    replyOnce("");
    start();
    plane.nextRequest();
    plane.behaviour = (http, request) -> FakePlane.reply(http,
        FakePlane.acknowledging(request, request.get("full").equals(true) ? "" : ", \"want_full\": true"));
    for (int i = 0; i < 20; i++) {
      if (plane.nextRequest().get("full").equals(true)) {
        return;
      }
    }
    throw new AssertionError("no full report in 20 requests");
  }

  private static Fact end(long attempt) {
    return Fact.at("attempt_ended", 0).with("stage", 3L).with("stage_attempt", 0L).with("attempt", attempt)
        .with("index", (int) attempt).with("outcome", "success");
  }

  private Map<?, ?> nextWith(String text) throws Exception {
    for (int i = 0; i < 50; i++) {
      Map<?, ?> request = plane.nextRequest();
      if (request.get("facts").toString().contains(text)) {
        return request;
      }
    }
    throw new AssertionError("no request says " + text);
  }

  /** What has been learned of it survives a restart, and would be learned again. */
  @Test
  void saysOfEachEndWhetherItWasToldBefore() throws Exception {
    AtomicBoolean hasRestarted = new AtomicBoolean();
    plane.behaviour = (http, request) -> {
      boolean isFirst = request.get("facts").toString().contains("attempt=2") && hasRestarted.compareAndSet(false, true);
      String reply = FakePlane.acknowledging(request, isFirst ? ", \"want_full\": true" : "");
      FakePlane.reply(http, hasRestarted.get() ? reply.replace("\"plane_epoch\": 7", "\"plane_epoch\": 8") : reply);
    };
    start();
    loop.queue().offer(() -> {
      loop.emit(Fact.at("stage_submitted", 0).with("stage", 3L).with("stage_attempt", 0L));
      loop.emit(end(1));
    });
    assertFalse(nextWith("attempt=1").toString().contains("told"));
    plane.nextRequest();
    loop.queue().offer(() -> loop.emit(end(2)));
    assertEquals(false, nextWith("attempt=2").get("full"));
    List<?> ends = ((List<?>) nextWith("attempt=2").get("facts")).subList(2, 4);
    assertEquals("[true, null]", ends.stream().map(fact -> ((Map<?, ?>) fact).get("told")).collect(Collectors.toList()).toString());
  }

  @Test
  void sendsAShorterFullReportAfterOneThatWasTooLong() throws Exception {
    plane.behaviour = (http, request) -> {
      if (request.get("facts").toString().contains("attempt_ended")) {
        http.sendResponseHeaders(413, -1);
      } else {
        FakePlane.reply(http, FakePlane.acknowledging(request, ""));
      }
    };
    prepare();
    loop.emit(Fact.at("stage_submitted", 0).with("stage", 3L).with("stage_attempt", 0L));
    loop.emit(Fact.at("attempt_ended", 0).with("stage", 3L).with("stage_attempt", 0L).with("attempt", 9L)
        .with("index", 4).with("outcome", "success"));
    loop.start("app-1", 5);
    assertTrue(plane.nextRequest().get("facts").toString().contains("attempt_ended"));
    assertTrue(plane.nextRequest().get("facts").toString().contains("done=[[4, 4]]"));
    assertEquals(false, plane.nextRequest().get("full"));
  }

  /** Four threads pinned for good would be the end of all exchanges, also with the control plane that comes next. */
  @Test
  void attachesAgainAfterAServerWhoseAnswersNeverEnd() throws Exception {
    int port;
    plane.close();
    try (Trickle trickle = new Trickle("HTTP/1.1 200 OK\r\nX: ")) {
      port = trickle.port();
      loop = new SyncLoop("spark", host, new Guard(() -> { }), trickle.settings("timeout", "100ms"));
      host.loop = loop;
      loop.start("app-1", 5);
      Thread.sleep(2500);
    }
    plane = new FakePlane(port);
    plane.nextRequest();
  }

  /** Nobody would be left to end what was ordered. */
  @Test
  void leavesTheHostToItselfWhereTheVirtualMachineFails() throws Exception {
    CountDownLatch off = new CountDownLatch(1);
    loop = new SyncLoop("spark", host, new Guard(off::countDown), plane.settings());
    host.loop = loop;
    loop.start("app-1", 5);
    loop.queue().offerUrgent(() -> {
      throw new OutOfMemoryError("as the test wants");
    });
    assertTrue(off.await(5, TimeUnit.SECONDS));
    loop.stop("over");
    loop.queue().offer(() -> { });
    assertNull(loop.queue().poll(), "nobody would ever take it");
  }

  @Test
  void saysGoodBye() throws Exception {
    start();
    plane.nextRequest();
    loop.stop("done");
    String last = "";
    while (!plane.requests.isEmpty()) {
      last = plane.nextRequest().get("facts").toString();
    }
    assertEquals("[{type=driver_detached, reason=done}]", last);
  }

  @Test
  void stopsWithinASecondWhileTheControlPlaneHangs() throws Exception {
    plane.behaviour = (http, request) -> Thread.sleep(4000);
    start();
    plane.nextRequest();
    long begin = System.nanoTime();
    loop.stop("done");
    assertTrue(System.nanoTime() - begin < 1_500_000_000L);
  }
}
