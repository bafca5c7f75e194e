// Is every fact sent, and none of them counted twice?
package io.grasshopper.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
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
