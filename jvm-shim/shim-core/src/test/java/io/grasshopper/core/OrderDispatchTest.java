// Does every order that comes with a reply end with one outcome?
package io.grasshopper.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class OrderDispatchTest extends LoopTest {
  private Map<?, ?> nextOutcome() throws InterruptedException {
    for (int i = 0; i < 200; i++) {
      for (Object fact : (List<?>) plane.nextRequest().get("facts")) {
        if (((Map<?, ?>) fact).get("type").equals("order_outcome")) {
          return (Map<?, ?>) fact;
        }
      }
    }
    throw new AssertionError("no outcome in 200 requests");
  }

  @Test
  void obeysAnOrderOnceHoweverOftenItComes() throws Exception {
    plane.behaviour = (http, request) -> FakePlane.reply(http, FakePlane.acknowledging(request,
        ", \"orders\": [" + FakePlane.order("run_next", 41) + "]"));
    start();
    assertEquals("run_next 41", nextCall());
    assertEquals("applied", nextOutcome().get("result"));
    assertNull(host.calls.poll(200, TimeUnit.MILLISECONDS));
  }

  @Test
  void tellsAnOutcomeEvenWhereItsOwnCodeFails() throws Exception {
    replyOnce(", \"orders\": [{\"type\": \"break\", \"order\": 42, \"ttl_ms\": 9000}]");
    start();
    Map<?, ?> outcome = nextOutcome();
    assertEquals("refused shim_error", outcome.get("result") + " " + outcome.get("reason"));
  }

  @Test
  void letsAnOrderExpireThatHasNoTime() throws Exception {
    replyOnce(", \"orders\": [" + FakePlane.order("run_next", 43).replace("9000", "0") + "]");
    start();
    Map<?, ?> outcome = nextOutcome();
    assertEquals("expired overdue", outcome.get("result") + " " + outcome.get("reason"));
    assertTrue(host.calls.isEmpty());
  }

  @Test
  void refusesOrdersOutsideModeControl() throws Exception {
    plane.behaviour = (http, request) -> FakePlane.reply(http, FakePlane.acknowledging(request,
        ", \"orders\": [" + FakePlane.order("run_next", 44) + "]").replace("\"control\"", "\"shadow\""));
    start();
    assertEquals("mode", nextOutcome().get("reason"));
  }

  @Test
  void obeysAKillAfterControlWasSwitchedOff() throws Exception {
    plane.behaviour = (http, request) -> FakePlane.reply(http, FakePlane.acknowledging(request,
        ", \"orders\": [" + FakePlane.order("kill_attempt", 45) + "]").replace("\"control\"", "\"off\""));
    start();
    assertEquals("applied", nextOutcome().get("result"));
  }

  @Test
  void tellsSoonWhatAHostThreadRefusesButIsNotWokenByIt() throws Exception {
    replySeldom();
    start();
    plane.nextRequest();
    Thread.sleep(100);
    loop.refused(46, "zombie");
    assertNull(plane.requests.poll(150, TimeUnit.MILLISECONDS), "the thread that holds a lock must not wake another");
    assertEquals("zombie", nextOutcome().get("reason"));
  }
}
