// Which attempts run, and which have ended since we last looked?
package io.grasshopper.mapreduce;

import io.grasshopper.core.Fact;
import io.grasshopper.core.SyncLoop;
import io.grasshopper.mapreduce.TaskProgress.Amounts;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.mapreduce.v2.api.records.TaskAttemptState;
import org.apache.hadoop.mapreduce.v2.api.records.TaskId;
import org.apache.hadoop.mapreduce.v2.app.job.TaskAttempt;

/** A container is an executor with one slot, and comes and goes with its attempt. For the sync loop's thread. */
final class Attempts {
  /** The numbers of attempts begin at a multiple of this under each ApplicationMaster of a job. */
  private static final int OF_EACH_MASTER = 1000;

  private final SyncLoop loop;
  private final JobFacts jobs;
  private final List<Started> untold = new ArrayList<>();
  private final Map<Long, Started> running = new HashMap<>();
  /** By task; a map whose output is gone runs again. */
  private final Map<TaskId, Started> finished = new HashMap<>();

  Attempts(SyncLoop loop, JobFacts jobs) {
    this.loop = loop;
    this.jobs = jobs;
  }

  void began(TaskAttempt attempt, long order, long atNanos) {
    untold.add(new Started(attempt, order, atNanos, 0));
    look(System.nanoTime());
  }

  /** Tells what has begun and ended; answers whether there was any of it. */
  boolean look(long nowNanos) {
    if (!jobs.look(nowNanos)) {
      return false;
    }
    boolean isNews = false;
    for (Iterator<Started> each = untold.iterator(); each.hasNext(); ) {
      Started started = each.next();
      if (started.stage() == TaskKey.MAPS || jobs.mapsAreOver()) {
        each.remove();
        begin(started.from(jobs.mapsOverNanos()), nowNanos);
        isNews = true;
      }
    }
    for (Iterator<Started> each = running.values().iterator(); each.hasNext(); ) {
      Started started = each.next();
      if (started.attempt.getFinishTime() > 0) {  // the task knows then; the container may take a minute more
        each.remove();
        end(started, outcome(started.attempt.getState()), nowNanos);
        isNews = true;
      }
    }
    return isNews;
  }

  private void begin(Started started, long nowNanos) {
    TaskId task = started.attempt.getID().getTaskId();
    Started earlier = finished.get(task);
    if (earlier != null && earlier.attempt.getState() != TaskAttemptState.SUCCEEDED) {
      finished.remove(task);
      tellEnd(earlier, "lost", nowNanos);
    }
    boolean isCopy = running.values().stream().anyMatch(other -> other.attempt.getID().getTaskId().equals(task));
    started.speculative = started.order > 0 || isCopy && earlier == null;
    running.put(started.number(), started);
    loop.emit(Fact.at("executor_added", started.atNanos)
        .withKey("executor", started.container()).withKey("host", started.host()).with("slots", 1));
    loop.emit(started.fact(Fact.at("attempt_started", started.atNanos)));
  }

  private void end(Started started, String outcome, long nowNanos) {
    tellEnd(started, outcome, nowNanos);
    loop.emit(Fact.at("executor_lost", nowNanos).withKey("executor", started.container()));
    if (outcome.equals("success")) {
      finished.put(started.attempt.getID().getTaskId(), started);
    }
  }

  private void tellEnd(Started started, String outcome, long nowNanos) {
    TaskAttempt attempt = started.attempt;
    Amounts amounts = Amounts.of(attempt.getID(), attempt.getCounters());
    List<String> reasons = attempt.getDiagnostics();
    long ranMs = attempt.getFinishTime() - attempt.getLaunchTime() - started.waitedMs;
    loop.emit(started.fact(Fact.at("attempt_ended", nowNanos))
        .with("outcome", outcome)
        .withAmount("duration_ms", Math.max(0, ranMs))
        .withText("reason", reasons.isEmpty() ? "" : reasons.get(reasons.size() - 1))
        .withAmount("bytes_read", amounts.bytesRead)
        .withAmount("bytes_written", amounts.bytesWritten)
        .withAmount("records_read", amounts.recordsRead)
        .withAmount("records_written", amounts.recordsWritten));
  }

  private static String outcome(TaskAttemptState state) {
    switch (state) {
      case SUCCEEDED:
        return "success";
      case FAILED:
        return "failed";
      default:
        return "killed";
    }
  }

  /** Whether an attempt or an executor is still running; stages last as long as the job. */
  boolean isThere(Fact fact) {
    switch (fact.type()) {
      case "attempt_started":
        return running.containsKey(fact.number("attempt"));
      case "executor_added":
        return running.values().stream().anyMatch(started -> started.container().equals(fact.get("executor")));
      default:
        return true;
    }
  }

  /** An attempt that has a container. */
  private static final class Started {
    final TaskAttempt attempt;
    final long order;
    final long atNanos;
    /** For the last map to end; a reduce begins then, as far as its pace is concerned. */
    final long waitedMs;
    boolean speculative;

    Started(TaskAttempt attempt, long order, long atNanos, long waitedMs) {
      this.attempt = attempt;
      this.order = order;
      this.atNanos = atNanos;
      this.waitedMs = waitedMs;
    }

    /** The same; a reduce begins with the last map's end at the earliest. */
    Started from(long mapsOverNanos) {
      long waitedNanos = stage() == TaskKey.MAPS ? 0 : Math.max(0, mapsOverNanos - atNanos);
      return new Started(attempt, order, atNanos + waitedNanos, waitedNanos / 1_000_000);
    }

    long number() {
      return TaskKey.attempt(attempt.getID());
    }

    long stage() {
      return TaskKey.stage(attempt.getID().getTaskId());
    }

    String container() {
      return attempt.getAssignedContainerID().toString();
    }

    String host() {
      return attempt.getNodeId().getHost();
    }

    Fact fact(Fact fact) {
      return fact
          .with("attempt", number())
          .with("stage", stage())
          .with("stage_attempt", 0L)
          .with("index", (long) attempt.getID().getTaskId().getId())
          .withKey("executor", container())
          .withKey("host", host())
          .with("attempt_number", attempt.getID().getId() % OF_EACH_MASTER)
          .with("speculative", speculative)
          .with("order", order);
    }
  }
}
