// Is every fact sent, and none of them counted twice?
package io.grasshopper.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class OutboxTest {
  private final Fact attached = Fact.timeless("driver_attached");
  private final LiveState live = new LiveState();
  private final Outbox outbox = new Outbox(5);

  private List<String> next() {
    return outbox.next(attached, live).stream().map(Fact::type).collect(Collectors.toList());
  }

  private void happens(Fact fact) {
    live.apply(fact);
    outbox.add(fact);
  }

  private static Fact executor(String name) {
    return Fact.at("executor_added", 0).with("executor", name);
  }

  @Test
  void beginsWithAFullReport() {
    happens(executor("1"));
    assertEquals("[driver_attached, executor_added]", next().toString());
    assertTrue(outbox.isBatchFull());
    assertEquals(1, outbox.sequence());
  }

  @Test
  void sendsAnUnacknowledgedBatchAgainUnderItsNumber() {
    next();
    outbox.acknowledge();
    happens(executor("1"));
    assertEquals("[executor_added]", next().toString());
    happens(executor("2"));
    assertEquals("[executor_added]", next().toString());
    assertEquals(2, outbox.sequence());
    outbox.acknowledge();
    assertEquals("[executor_added]", next().toString());
    assertEquals(3, outbox.sequence());
    assertFalse(outbox.isBatchFull());
  }

  /** The orders in the reply to that batch were never seen, and the next number would say that they were. */
  @Test
  void leavesOutANumberWhereAFullReportReplacesAnUnacknowledgedBatch() {
    next();
    outbox.requireFull();
    next();
    assertEquals(3, outbox.sequence());
    outbox.discard();
    next();
    assertEquals(5, outbox.sequence());
    outbox.acknowledge();
    outbox.requireFull();
    next();
    assertEquals(6, outbox.sequence());
  }

  @Test
  void sendsOnlyTheLatestOfSnapshots() {
    next();
    outbox.acknowledge();
    happens(Fact.timeless("queue_demand").with("slots", 1));
    happens(executor("1"));
    happens(Fact.timeless("queue_demand").with("slots", 2));
    assertEquals("[executor_added, queue_demand]", next().toString());
    outbox.requireFull();
    assertEquals("[driver_attached, queue_demand, executor_added]", next().toString());
    assertEquals(2, outbox.next(attached, live).get(1).number("slots"));
  }

  @Test
  void replacesWhatItCannotHoldByAFullReportAndCountsIt() {
    next();
    outbox.acknowledge();
    for (int i = 0; i < 6; i++) {
      happens(executor("same"));
    }
    assertEquals("[driver_attached, executor_added]", next().toString());
    assertEquals(5, outbox.dropped());
  }

  @Test
  void keepsOutcomesInAFullReport() {
    next();
    outbox.add(Fact.at("order_outcome", 0).with("order", 1));
    outbox.acknowledge();
    next();
    outbox.add(Fact.at("order_outcome", 0).with("order", 2));
    outbox.requireFull();
    assertEquals("[driver_attached, order_outcome, order_outcome]", next().toString());
  }

  @Test
  void saysGoodByeAtTheEndOfAFullReport() {
    next();
    outbox.acknowledge();
    happens(executor("1"));
    happens(Fact.timeless("driver_detached"));
    outbox.requireFull();
    assertEquals("[driver_attached, executor_added, driver_detached]", next().toString());
  }

  private void finishes(long stage, int index, String outcome) {
    live.apply(Fact.at("attempt_ended", index).with("stage", stage).with("stage_attempt", 0)
        .with("attempt", stage * 100_000 + index).with("index", index).with("outcome", outcome));
  }

  private static long ends(List<Fact> report) {
    return report.stream().filter(fact -> fact.type().equals("attempt_ended")).count();
  }

  /** A driver with many finished tasks must get back after the control plane has restarted, and hold up nobody else. */
  @Test
  void tellsTheNewestEndsAndOfTheOthersWhatIsDone() {
    for (long stage = 1; stage <= 3; stage++) {
      live.apply(Fact.at("stage_submitted", 0).with("stage", stage).with("stage_attempt", 0));
      for (int index = 0; index < 20_000; index++) {
        finishes(stage, index, index == 7 ? "failed" : "success");
      }
    }
    finishes(3, 5, "lost");
    List<Fact> report = outbox.next(attached, live);
    assertEquals(2_000, ends(report));
    Set<Object> done = new HashSet<>();
    for (Fact fact : report) {
      if (fact.type().equals("attempt_ended") && fact.get("outcome").equals("success")) {
        assertTrue(done.add(fact.get("stage") + "." + fact.get("index")));
      } else if (fact.type().equals("stage_submitted")) {
        for (Object run : (List<?>) fact.get("done")) {
          for (int index = (int) ((List<?>) run).get(0); index <= (int) ((List<?>) run).get(1); index++) {
            assertTrue(done.add(fact.get("stage") + "." + index), "told twice, so that its end would teach nothing");
          }
        }
      }
    }
    assertEquals(3 * 19_999 - 1, done.size());
    assertFalse(done.contains("1.7"));
    assertFalse(done.contains("3.5"), "its output is lost");
  }

  @Test
  void aCopyThatIsLostWhileItRunsTakesNoFinishedOutputWithIt() {
    Fact copy = Fact.at("attempt_started", 1).with("stage", 1L).with("stage_attempt", 0).with("attempt", 7L).with("index", 0);
    live.apply(Fact.at("stage_submitted", 0).with("stage", 1L).with("stage_attempt", 0));
    live.apply(copy);
    finishes(1, 0, "success");
    live.apply(Fact.at("attempt_ended", 2).with("stage", 1L).with("stage_attempt", 0).with("attempt", 7L).with("index", 0)
        .with("outcome", "lost"));
    outbox.beBrief();
    outbox.discard();
    assertEquals("[[0, 0]]", outbox.next(attached, live).get(1).get("done").toString());
  }

  /** What an ApplicationMaster has taken over from an earlier one: no end of an attempt tells it. */
  @Test
  void tasksThatWereDoneWhenTheirStageWasToldStayDone() {
    live.apply(Fact.at("stage_submitted", 0).with("stage", 1L).with("stage_attempt", 0)
        .with("done", Collections.singletonList(Arrays.asList(3, 5))));
    finishes(1, 0, "success");
    outbox.beBrief();
    outbox.discard();
    assertEquals("[[0, 0], [3, 5]]", outbox.next(attached, live).get(1).get("done").toString());
  }

  @Test
  void tellsStillLessOnceAReportWasTooLong() {
    live.apply(Fact.at("stage_submitted", 0).with("stage", 1L).with("stage_attempt", 0)
        .with("preferred_hosts", Collections.singletonList("h1")));
    finishes(1, 0, "success");
    finishes(1, 2, "success");
    assertEquals("[h1]", outbox.next(attached, live).get(1).get("preferred_hosts").toString());
    assertEquals(2, ends(outbox.next(attached, live)));
    outbox.beBrief();
    outbox.discard();
    List<Fact> report = outbox.next(attached, live);
    assertEquals("[[0, 0], [2, 2]]", report.get(1).get("done").toString());
    assertEquals("[]", report.get(1).get("preferred_hosts").toString());
    assertEquals(2, report.size());
  }

  /** The names of hosts are most of what a large stage has to say, and only make copies more local. */
  @Test
  void leavesOutThePreferredHostsOfALargeStage() {
    live.apply(Fact.at("stage_submitted", 0).with("stage", 1L).with("stage_attempt", 0)
        .with("preferred_hosts", Collections.nCopies(20_000, "h1")));
    assertEquals("[]", outbox.next(attached, live).get(1).get("preferred_hosts").toString());
  }

  @Test
  void leavesOutWhatTheHostNoLongerHas() {
    happens(executor("1"));
    happens(executor("2"));
    for (long stage = 1; stage <= 2; stage++) {
      live.apply(Fact.at("stage_submitted", 0).with("stage", stage).with("stage_attempt", 0));
      finishes(stage, 0, "success");
      live.apply(Fact.at("attempt_started", 0).with("stage", stage).with("stage_attempt", 0).with("attempt", stage));
    }
    live.retain(fact -> "1".equals(fact.get("executor")) || Long.valueOf(1).equals(fact.get("stage")));
    assertEquals("[driver_attached, executor_added, stage_submitted, attempt_ended, attempt_started]", next().toString());
  }

  @Test
  void reportsOnlyWhatIsAlive() {
    happens(executor("1"));
    happens(Fact.at("job_submitted", 0).with("job", "sql-1"));
    happens(Fact.at("stage_submitted", 0).with("stage", 3).with("stage_attempt", 0));
    happens(Fact.at("attempt_started", 0).with("stage", 3).with("stage_attempt", 0).with("attempt", 10L));
    happens(Fact.at("attempt_started", 0).with("stage", 3).with("stage_attempt", 0).with("attempt", 11L));
    outbox.acknowledge();
    outbox.requireFull();
    live.apply(Fact.at("attempt_ended", 0).with("stage", 3).with("stage_attempt", 0).with("attempt", 10L));
    assertEquals("[driver_attached, executor_added, job_submitted, stage_submitted, attempt_ended, attempt_started]",
        next().toString());
    live.apply(Fact.at("stage_ended", 0).with("stage", 3).with("stage_attempt", 0));
    live.apply(Fact.at("attempt_ended", 0).with("stage", 3).with("stage_attempt", 0).with("attempt", 11L));
    live.apply(Fact.at("job_ended", 0).with("job", "sql-1"));
    live.apply(Fact.at("executor_lost", 0).with("executor", "1"));
    outbox.requireFull();
    assertEquals("[driver_attached]", next().toString());
  }
}
