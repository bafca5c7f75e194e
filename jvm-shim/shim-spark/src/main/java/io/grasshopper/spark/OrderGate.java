// Which orders does the present state of the scheduler, or the user, forbid?
package io.grasshopper.spark;

import io.grasshopper.core.LiveState;
import io.grasshopper.core.Order;
import org.apache.spark.scheduler.TaskInfo;
import org.apache.spark.scheduler.TaskSchedulerImpl;
import org.apache.spark.scheduler.TaskSetManager;

/** Every answer is null for "go ahead", or the reason code of a refusal. */
final class OrderGate {
  private final TaskSchedulerImpl scheduler;
  private final LiveState live;

  OrderGate(TaskSchedulerImpl scheduler, LiveState live) {
    this.scheduler = scheduler;
    this.live = live;
  }

  /** The task set an order is about, or null. Under the scheduler's lock. */
  TaskSetManager set(Order order) {
    return set(order.integer("stage"), order.integer("stage_attempt"));
  }

  /** The task set of a stage's attempt, or null. Under the scheduler's lock. */
  TaskSetManager set(int stage, int stageAttempt) {
    return Scala.orNull(scheduler.taskSetManagerForAttempt(stage, stageAttempt));
  }

  /** For what changes which of a stage's tasks start. Under the scheduler's lock. */
  String refusal(Order order, TaskSetManager set) {
    if (set == null) {
      long stage = order.number("stage");
      boolean hasOther = live.liveStages().stream().anyMatch(fact -> fact.number("stage") == stage);
      return hasOther ? "other_epoch" : "unknown_stage";
    }
    if (set.isZombie()) {
      return "zombie";
    }
    if (set.isBarrier()) {
      return "barrier";
    }
    if (StageFacts.isPipelined(set.taskSet())) {
      return "pipelined";
    }
    JobKey job = JobKey.of(set.taskSet().properties(), set.taskSet().priority());
    if (job.isStreaming) {
      return "streaming";
    }
    if (!(set instanceof OrderedTaskSet)) {
      return "stock_task_set";
    }
    return refusalOfJob(job);
  }

  /** For copies. Under the scheduler's lock. */
  String refusalOfCopy(Order order, TaskSetManager set) {
    String refusal = refusal(order, set);
    if (refusal != null) {
      return refusal;
    }
    if (order.number("index") >= set.numTasks()) {
      return "unknown_task";
    }
    if (!((OrderedTaskSet) set).job().copiesEnabled) {
      return "opted_out";
    }
    String host = order.text("host");
    return host.isEmpty() || scheduler.hostToExecutors().contains(host) ? null : "unknown_host";
  }

  /** For everything that acts on a job: its user may have withheld it from control. */
  static String refusalOfJob(JobKey job) {
    return job.mode.equals("control") ? null : "mode";
  }

  /** For kills; the attempt counts as dying from here on. Under the scheduler's lock. */
  String condemn(Order order, long attempt) {
    TaskSetManager set = scheduler.taskIdToTaskSetManager().get(attempt);
    if (set == null) {
      return "not_running";
    }
    if (set.stageId() != order.number("stage") || set.taskSet().stageAttemptId() != order.number("stage_attempt")) {
      return "other_epoch";
    }
    if (!(set instanceof OrderedTaskSet)) {
      return "stock_task_set";
    }
    if (set.isBarrier()) {
      return "barrier";
    }
    TaskInfo info = Scala.orNull(set.taskInfos().get(attempt));
    if (info == null || !info.running()) {
      return "not_running";
    }
    if (info.index() != order.number("index")) {
      return "unknown_task";
    }
    OrderedTaskSet ordered = (OrderedTaskSet) set;
    String refusal = refusalOfJob(ordered.job());
    return refusal != null ? refusal : ordered.attempts().condemn(attempt, info.index());
  }
}
