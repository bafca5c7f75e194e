// Does the doorbell bring orders at once, and is nothing different where it does not work?
package io.grasshopper.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class DoorbellTest extends LoopTest {
  private static final String ORDER = ", \"orders\": [" + FakePlane.order("run_next", 41) + "]";

  private Map<?, ?> nextQuestion() throws InterruptedException {
    Map<?, ?> question = plane.questions.poll(5, TimeUnit.SECONDS);
    assertNotNull(question, "no question within 5 s");
    return question;
  }

  private void exchanges(int count) throws InterruptedException {
    for (int i = 0; i < count; i++) {
      plane.nextRequest();
    }
  }

  @Test
  void namesItsSourceAndItsPatience() throws Exception {
    start();
    assertEquals("{protocol=1, source={kind=spark, id=app-1, epoch=5}, wait_ms=10000}", nextQuestion().toString());
  }

  @Test
  void fetchesAnOrderAsSoonAsItRings() throws Exception {
    CountDownLatch ring = new CountDownLatch(1);
    plane.doorbell = (http, question) -> {
      ring.await();
      FakePlane.reply(http, "{\"protocol\": 1, \"orders_waiting\": 1}");
    };
    replySeldom();
    start();
    nextQuestion();
    plane.behaviour = (http, request) -> FakePlane.reply(http, seldom(FakePlane.acknowledging(request, ORDER)));
    assertNull(host.calls.poll(200, TimeUnit.MILLISECONDS), "nothing rang yet");
    ring.countDown();
    assertEquals("run_next 41", host.calls.poll(1, TimeUnit.SECONDS));
  }

  @Test
  void listensAgainAfterEachExchange() throws Exception {
    AtomicInteger rings = new AtomicInteger(3);
    plane.doorbell = (http, question) ->
        FakePlane.reply(http, "{\"protocol\": 1, \"orders_waiting\": " + (rings.getAndDecrement() > 0 ? 1 : 0) + "}");
    replySeldom();
    start();
    exchanges(1 + 3);
    assertNull(plane.requests.poll(300, TimeUnit.MILLISECONDS), "an answer without orders is no reason to exchange");
    assertEquals(4, plane.questions.size());
  }

  @Test
  void exchangesNoFasterThanEvery20MsForOneThatRingsAllTheTime() throws Exception {
    plane.doorbell = (http, question) -> FakePlane.reply(http, "{\"protocol\": 1, \"orders_waiting\": 1}");
    replySeldom();
    start();
    exchanges(20);
    long begin = System.nanoTime();
    exchanges(21);
    assertTrue(System.nanoTime() - begin >= 19 * 20_000_000L);
  }

  @Test
  void asksNobodyWhoOrdersNothing() throws Exception {
    plane.behaviour = (http, request) ->
        FakePlane.reply(http, FakePlane.acknowledging(request, "").replace("\"control\"", "\"shadow\""));
    start();
    exchanges(5);
    assertTrue(plane.questions.isEmpty());
  }

  @Test
  void asksAnOlderControlPlaneOnceAndTheNextOneAgain() throws Exception {
    start();
    nextQuestion();
    exchanges(20);
    assertTrue(plane.questions.isEmpty());
    plane.behaviour = (http, request) ->
        FakePlane.reply(http, FakePlane.acknowledging(request, "").replace("\"plane_epoch\": 7", "\"plane_epoch\": 8"));
    nextQuestion();
  }

  @Test
  void restsAfterGarbageWhileExchangesGoOn() throws Exception {
    String[] garbage = {"", "[]", "{\"orders_waiting\": \"many\"}", "<html>502</html>"};
    AtomicInteger count = new AtomicInteger();
    plane.doorbell = (http, question) -> FakePlane.reply(http, garbage[count.getAndIncrement() % garbage.length]);
    start();
    exchanges(50);
    // A second and more has gone by: with pauses of 250 ms, 500 ms, 1 s there was time for three questions.
    assertTrue(count.get() >= 1 && count.get() <= 4, count + " questions");
  }

  @Test
  void aQuestionThatHangsKeepsNeitherExchangesNorTheEndWaiting() throws Exception {
    plane.doorbell = (http, question) -> Thread.sleep(3000);
    start();
    nextQuestion();
    exchanges(20);
    assertTrue(plane.questions.isEmpty(), "one question at a time");
    long begin = System.nanoTime();
    loop.stop("done");
    assertTrue(System.nanoTime() - begin < 1_000_000_000L);
  }
}
