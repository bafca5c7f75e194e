// Is what a fact has reported still there?
package io.grasshopper.spark;

import io.grasshopper.core.Fact;
import org.apache.spark.scheduler.TaskSchedulerImpl;

/** Asks Spark's scheduler, under its lock. */
final class Presence {
  /** The driver's own, which the scheduler gets to know with its first task only. */
  private static final String LOCAL_EXECUTOR = "driver";

  private final TaskSchedulerImpl scheduler;
  private final OrderGate gate;

  Presence(TaskSchedulerImpl scheduler, OrderGate gate) {
    this.scheduler = scheduler;
    this.gate = gate;
  }

  boolean isThere(Fact fact) {
    switch (fact.type()) {
      case "attempt_started":
        return scheduler.taskIdToTaskSetManager().containsKey(fact.number("attempt"));
      case "stage_submitted":
        return gate.set((int) fact.number("stage"), (int) fact.number("stage_attempt")) != null;
      default:
        String executor = (String) fact.get("executor");
        return executor.equals(LOCAL_EXECUTOR) || scheduler.isExecutorAlive(executor);
    }
  }
}
