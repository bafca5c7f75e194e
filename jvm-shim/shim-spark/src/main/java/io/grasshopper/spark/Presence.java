// Is what a fact has reported still there?
package io.grasshopper.spark;

import io.grasshopper.core.Fact;
import org.apache.spark.scheduler.TaskSchedulerImpl;

/** Asks Spark. */
final class Presence {
  /** The driver's own, which the scheduler gets to know with its first task only. */
  private static final String LOCAL_EXECUTOR = "driver";

  private final TaskSchedulerImpl scheduler;
  private final OrderGate gate;

  Presence(TaskSchedulerImpl scheduler, OrderGate gate) {
    this.scheduler = scheduler;
    this.gate = gate;
  }

  /** Asks for an attempt, a stage or an executor. Under the scheduler's lock. */
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

  /**
   * The DAG scheduler's thread changes its map meanwhile: a job that is missed while the map grows is told to have ended, and comes
   * again with its next stage.
   */
  boolean isActive(int sparkJob) {
    return scheduler.dagScheduler().jobIdToActiveJob().contains(sparkJob);
  }

  /** True where it cannot be known. */
  boolean isExecuting(String execution) {
    try {
      Class<?> executions = Class.forName("org.apache.spark.sql.execution.SQLExecution");
      return executions.getMethod("getQueryExecution", long.class).invoke(null, Long.parseLong(execution)) != null;
    } catch (ReflectiveOperationException | NumberFormatException error) {
      return true;
    }
  }
}
