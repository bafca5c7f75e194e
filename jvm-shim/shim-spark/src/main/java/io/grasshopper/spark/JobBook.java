// Which jobs are alive, and which Spark jobs and stages belong to each?
package io.grasshopper.spark;

import io.grasshopper.core.Fact;
import io.grasshopper.core.SyncLoop;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.IntPredicate;
import java.util.function.Predicate;
import org.apache.spark.scheduler.JobFailed;
import org.apache.spark.scheduler.JobResult;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.StageInfo;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Turns Spark's jobs into the user's jobs. Used by the sync loop's thread only. */
final class JobBook {
  private static final Logger LOG = LoggerFactory.getLogger(JobBook.class);
  private static final int MOST_MISREAD = 100;
  private static final int MAX_ENDED_EXECUTIONS = 1000;
  /** A job group may never end: only this many of its ended Spark jobs are remembered, the last to start. */
  private static final int MAX_ENDED_SPARK_JOBS = 100;

  private final SyncLoop loop;
  private final boolean endsLateJobs;
  private final Consumer<String> onEnd;
  private final Map<String, Job> jobs = new HashMap<>();
  private final Map<Integer, Job> bySparkJob = new HashMap<>();
  private final Set<String> endedExecutions = new LinkedHashSet<>();
  private final Set<String> toldMisread = new HashSet<>();

  /**
   * @param endsLateJobs whether a job that says nothing of it may be ended once it is late
   * @param onEnd hears the key of each job that has ended
   */
  JobBook(SyncLoop loop, boolean endsLateJobs, Consumer<String> onEnd) {
    this.loop = loop;
    this.endsLateJobs = endsLateJobs;
    this.onEnd = onEnd;
  }

  void started(SparkListenerJobStart event, long atNanos) {
    JobKey key = JobKey.of(event.properties(), event.jobId());
    tellMisread(key);
    Job job = job(key, atNanos);
    Part part = job.add(event.jobId());
    bySparkJob.put(event.jobId(), job);
    for (Object each : Scala.list(Scala.call(event, "stageInfos"))) {
      StageInfo stage = (StageInfo) each;
      part.tasksByStage.put((long) stage.stageId(), (long) stage.numTasks());
      job.callSite = stage.name();
      for (Object parent : Scala.list(Scala.call(stage, "parentIds"))) {
        part.edges.add(Arrays.asList((long) (Integer) parent, (long) stage.stageId()));
      }
    }
    loop.emit(job.fact());
  }

  private void tellMisread(JobKey key) {
    if (!key.misread.isEmpty() && toldMisread.size() < MOST_MISREAD && toldMisread.add(key.misread)) {
      LOG.warn("Grasshopper: of job {},{} an option that cannot be read allows the least", key.key, key.misread);
    }
  }

  /**
   * A task set of this Spark job is there, perhaps before the job's own event, and before the end of the Spark job that came
   * before it under the same key.
   */
  void ensure(JobKey key, int sparkJob, long atNanos) {
    if (!bySparkJob.containsKey(sparkJob)) {
      Job job = job(key, atNanos);
      job.add(sparkJob);
      bySparkJob.put(sparkJob, job);
      loop.emit(job.fact());
    }
  }

  void ended(int sparkJob, JobResult result, long atNanos) {
    Job job = bySparkJob.remove(sparkJob);
    if (job == null) {
      return;
    }
    job.active.remove(sparkJob);
    if (result instanceof JobFailed) {
      job.outcome = isCancelled(sparkJob, ((JobFailed) result).exception().getMessage()) ? "killed" : "failed";
    }
    if (job.active.isEmpty() && (!job.key.isSql || endedExecutions.contains(job.key.key))) {
      end(job, atNanos);
    }
  }

  /**
   * Whether this is what Spark says of a Spark job that it has cancelled, or that its context did not outlive; from 4.0 on it
   * names the error's condition first. The text of other failures is the user's, and may be about anything.
   */
  static boolean isCancelled(int sparkJob, String message) {
    String said = "Job " + sparkJob + " cancelled";
    return message != null && (message.startsWith(said) || message.startsWith("[SPARK_JOB_CANCELLED] " + said));
  }

  /** A root execution is over; those that are nested in it are not known by their own id. */
  void sqlEnded(long execution, long atNanos) {
    Job job = jobs.get(JobKey.SQL + execution);
    if (job != null) {
      remember(job.key.key);
      end(job, atNanos);
    }
  }

  /** A thread that inherited the id of an execution may still start Spark jobs under it, and nothing will end those for us. */
  private void remember(String execution) {
    if (endedExecutions.size() >= MAX_ENDED_EXECUTIONS) {
      endedExecutions.remove(endedExecutions.iterator().next());
    }
    endedExecutions.add(execution);
  }

  /** The ends of some may have been lost: Spark jobs and SQL executions, by their ids, that are not there any more have ended. */
  void retain(IntPredicate isActive, Predicate<String> isExecuting, long atNanos) {
    bySparkJob.keySet().removeIf(sparkJob -> !isActive.test(sparkJob));
    for (Job job : new ArrayList<>(jobs.values())) {
      job.active.removeIf(sparkJob -> !isActive.test(sparkJob));
      boolean isThere = job.key.isSql ? isExecuting.test(job.key.key.substring(JobKey.SQL.length())) : !job.active.isEmpty();
      if (!isThere) {
        end(job, atNanos);
      }
    }
  }

  private void end(Job job, long atNanos) {
    jobs.remove(job.key.key);
    bySparkJob.values().removeIf(other -> other == job);
    loop.emit(Fact.at("job_ended", atNanos).withKey("job", job.key.key).with("outcome", job.outcome));
    onEnd.accept(job.key.key);
  }

  boolean isLive(String job) {
    return jobs.containsKey(job);
  }

  JobKey key(String job) {
    Job found = jobs.get(job);
    return found == null ? null : found.key;
  }

  /** Whether the job's user lets it be ended once it cannot meet its deadline. */
  boolean endsLate(JobKey key) {
    return key.lateJob.isEmpty() ? endsLateJobs : key.lateJob.equals("kill");
  }

  /** The Spark jobs that run for this job now. */
  Set<Integer> activeSparkJobs(String job) {
    Job found = jobs.get(job);
    return found == null ? Collections.emptySet() : found.active;
  }

  private Job job(JobKey key, long atNanos) {
    return jobs.computeIfAbsent(key.key, k -> new Job(key, atNanos));
  }

  private final class Job {
    final JobKey key;
    final long atNanos;
    final Set<Integer> active = new TreeSet<>();
    final Map<Integer, Part> parts = new LinkedHashMap<>();
    String callSite = "";
    String outcome = "success";

    Job(JobKey key, long atNanos) {
      this.key = key;
      this.atNanos = atNanos;
    }

    Part add(int sparkJob) {
      active.add(sparkJob);
      Part part = parts.computeIfAbsent(sparkJob, k -> new Part());
      int ended = parts.size() - active.size();
      for (Iterator<Integer> each = parts.keySet().iterator(); ended > MAX_ENDED_SPARK_JOBS; ) {
        if (!active.contains(each.next())) {
          each.remove();
          ended--;
        }
      }
      return part;
    }

    Fact fact() {
      Set<Long> hostIds = new TreeSet<>();
      Map<Long, Long> tasksByStage = new TreeMap<>();
      Set<List<Long>> edges = new LinkedHashSet<>();
      parts.forEach((sparkJob, part) -> {
        hostIds.add((long) sparkJob);
        tasksByStage.putAll(part.tasksByStage);
        edges.addAll(part.edges);
      });
      return Fact.at("job_submitted", atNanos)
          .withKey("job", key.key)
          .withText("name", key.description.isEmpty() ? callSite : key.description)
          .with("host_ids", new ArrayList<>(hostIds))
          .with("stages", orNone(tasksByStage.keySet()))
          .with("stage_tasks", orNone(tasksByStage.values()))
          .with("edges", orNone(edges))
          .with("weight", key.weight)
          .with("copies_enabled", key.copiesEnabled)
          .with("mode", key.mode)
          .with("deadline_ms", key.deadlineMs)
          .with("error_bound", key.errorBound)
          .with("kill_late", endsLate(key))
          .withText("speculator", key.speculator);
    }
  }

  /** What the wire takes; nothing where that is too much, for half of a graph would be another one. */
  private static <T> List<T> orNone(Collection<T> ofJob) {
    return ofJob.size() > Fact.MAX_STAGES ? Collections.emptyList() : new ArrayList<>(ofJob);
  }

  /** What one Spark job brings to its job. */
  private static final class Part {
    final Map<Long, Long> tasksByStage = new HashMap<>();
    final List<List<Long>> edges = new ArrayList<>();
  }
}
