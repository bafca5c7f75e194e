// How do Spark's events and our hooks become facts, without work on Spark's threads?
package io.grasshopper.spark;

import io.grasshopper.core.Fact;
import io.grasshopper.core.SyncLoop;
import org.apache.spark.ExecutorLostFailure;
import org.apache.spark.Resubmitted$;
import org.apache.spark.SparkConf;
import org.apache.spark.Success$;
import org.apache.spark.TaskEndReason;
import org.apache.spark.TaskFailedReason;
import org.apache.spark.TaskKilled;
import org.apache.spark.TaskResultLost$;
import org.apache.spark.scheduler.SparkListenerExecutorAdded;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.Stage;
import org.apache.spark.scheduler.StageInfo;
import org.apache.spark.scheduler.TaskInfo;
import org.apache.spark.scheduler.TaskSet;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Every public method only leaves an event in the queue; the facts are made later, on the sync loop's thread. */
final class SparkFacts {
  private static final Logger LOG = LoggerFactory.getLogger(SparkFacts.class);
  /** The listener hears of starts and ends late, seldom by more than this; a larger difference is a wall clock that was set. */
  private static final long MOST_LAG_MS = 10_000;

  private final SyncLoop loop;
  private final JobBook jobs;
  private final StageFacts stages;
  private final double coresPerTask;
  private final Runnable onStageEnd;

  /** @param onStageEnd hears, on the loop's thread, that a stage is over */
  SparkFacts(SyncLoop loop, JobBook jobs, SparkConf conf, Runnable onStageEnd) {
    this.loop = loop;
    this.jobs = jobs;
    this.stages = new StageFacts(conf);
    this.coresPerTask = Double.parseDouble(conf.get("spark.task.cpus", "1"));
    this.onStageEnd = onStageEnd;
  }

  void executorAdded(SparkListenerExecutorAdded event) {
    long now = System.nanoTime();
    loop.queue().offerUrgent(() -> loop.emit(Fact.at("executor_added", now)
        .withKey("executor", event.executorId())
        .withKey("host", event.executorInfo().executorHost())
        .with("slots", (long) (event.executorInfo().totalCores() / coresPerTask))));
  }

  void executorLost(SparkListenerExecutorRemoved event) {
    long now = System.nanoTime();
    loop.queue().offerUrgent(() -> loop.emit(Fact.at("executor_lost", now)
        .withKey("executor", event.executorId()).withText("reason", event.reason())));
  }

  void jobStarted(SparkListenerJobStart event) {
    long now = System.nanoTime();
    loop.queue().offerUrgent(() -> jobs.started(event, now));
  }

  void jobEnded(SparkListenerJobEnd event) {
    long now = System.nanoTime();
    loop.queue().offerUrgent(() -> jobs.ended(event.jobId(), event.jobResult(), now));
  }

  void sqlEnded(long execution) {
    long now = System.nanoTime();
    loop.queue().offerUrgent(() -> jobs.sqlEnded(execution, now));
  }

  /** Called under the scheduler's lock, with the stage as the DAG scheduler has it. */
  void stageSubmitted(JobKey job, TaskSet set, Stage stage) {
    long now = System.nanoTime();
    if (StageFacts.isTooLarge(set)) {
      loop.queue().offer(() -> LOG.warn("Grasshopper: stage {}.{} has {} tasks, more than {}; it is left to Spark",
          set.stageId(), set.stageAttemptId(), set.tasks().length, Fact.MAX_TASKS));
      return;
    }
    loop.queue().offer(() -> {
      jobs.ensure(job, set.priority(), now);
      stages.of(job, set, stage, now).forEach(loop::emit);
    });
  }

  void stageEnded(StageInfo info) {
    long now = System.nanoTime();
    loop.queue().offerUrgent(() -> {
      long shuffled = info.taskMetrics() == null ? -1 : info.taskMetrics().shuffleWriteMetrics().bytesWritten();
      loop.emit(Fact.at("stage_ended", now)
          .with("stage", info.stageId())
          .with("stage_attempt", info.attemptNumber())
          .with("outcome", info.failureReason().isDefined() ? "failed" : "success")
          .withAmount("shuffle_write_bytes", shuffled));
      onStageEnd.run();
    });
  }

  /** The listener has heard of something our hooks have already left, or are about to leave, under the scheduler's lock. */
  void hurry() {
    loop.queue().hurry();
  }

  /**
   * Called under the scheduler's lock for our task sets, and by the listener for all; the second call is without effect.
   *
   * <p>A start means nothing to a control plane that has not been told of its stage.
   */
  void attemptStarted(int stage, int stageAttempt, TaskInfo info, long order) {
    long now = System.nanoTime();
    loop.queue().offer(() -> {
      boolean isKnown = loop.live().runningAttempt(info.taskId()) != null;
      if (!isKnown && loop.live().stage(stage, stageAttempt) != null) {
        loop.emit(identity("attempt_started", stage, stageAttempt, info, order, now)
            .withText("locality", info.taskLocality().toString()));
      }
    });
  }

  void attemptEnded(SparkListenerTaskEnd event) {
    long now = System.nanoTime();
    loop.queue().offerUrgent(() -> loop.emit(ended(event, now)));
  }

  private Fact ended(SparkListenerTaskEnd event, long atNanos) {
    TaskInfo info = event.taskInfo();
    Fact start = loop.live().runningAttempt(info.taskId());
    long order = start == null ? 0 : start.number("order");
    Fact fact = identity("attempt_ended", event.stageId(), event.stageAttemptId(), info, order, atNanos)
        .with("outcome", outcome(event.reason()))
        .with("duration_ms", durationMs(info.duration(), start, atNanos))
        .withText("reason", reason(event.reason()));
    if (event.taskMetrics() != null) {
      Volumes volumes = new Volumes(event.taskMetrics());
      fact.withAmount("run_ms", event.taskMetrics().executorRunTime())
          .withAmount("bytes_read", volumes.bytesRead)
          .withAmount("bytes_written", volumes.bytesWritten)
          .withAmount("records_read", volumes.recordsRead)
          .withAmount("records_written", volumes.recordsWritten)
          .withAmount("shuffle_bytes_written", event.taskMetrics().shuffleWriteMetrics().bytesWritten());
    }
    return fact;
  }

  /** As Spark has it by its wall clock, as far as the monotonic one agrees where the start is known, and the wire takes it. */
  static long durationMs(long wallMs, Fact start, long endNanos) {
    if (start == null) {
      return Math.max(0, Math.min(wallMs, Fact.MAX_AGE_MS));
    }
    long ms = (endNanos - start.atNanos()) / 1_000_000;
    return Math.max(0, Math.max(ms - MOST_LAG_MS, Math.min(wallMs, ms + MOST_LAG_MS)));
  }

  private static Fact identity(String type, int stage, int stageAttempt, TaskInfo info, long order, long atNanos) {
    return Fact.at(type, atNanos)
        .with("attempt", info.taskId())
        .with("stage", stage)
        .with("stage_attempt", stageAttempt)
        .with("index", info.index())
        .withKey("executor", info.executorId())
        .withKey("host", info.host())
        .with("attempt_number", info.attemptNumber())
        .with("speculative", info.speculative())
        .with("order", order);
  }

  private static String outcome(TaskEndReason reason) {
    if (reason == Success$.MODULE$) {
      return "success";
    }
    if (reason instanceof ExecutorLostFailure || reason == Resubmitted$.MODULE$ || reason == TaskResultLost$.MODULE$) {
      return "lost";
    }
    boolean isFailure = reason instanceof TaskFailedReason && ((TaskFailedReason) reason).countTowardsTaskFailures();
    return isFailure ? "failed" : "killed";
  }

  private static String reason(TaskEndReason reason) {
    if (reason instanceof TaskKilled) {
      return ((TaskKilled) reason).reason();
    }
    return reason instanceof TaskFailedReason ? ((TaskFailedReason) reason).toErrorString() : "";
  }
}
