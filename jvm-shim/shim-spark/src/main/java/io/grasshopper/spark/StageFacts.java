// What does a task set tell about itself when it is submitted?
package io.grasshopper.spark;

import io.grasshopper.core.Fact;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.ToLongFunction;
import org.apache.spark.SparkConf;
import org.apache.spark.scheduler.ResultStage;
import org.apache.spark.scheduler.ShuffleMapTask;
import org.apache.spark.scheduler.Stage;
import org.apache.spark.scheduler.Task;
import org.apache.spark.scheduler.TaskLocation;
import org.apache.spark.scheduler.TaskSet;

/** Builds {@code stage_submitted} and {@code resource_requested}. Used by the sync loop's thread only. */
final class StageFacts {
  private static final int MAX_NODES = 1000;

  private final InputBytes inputBytes = new InputBytes();
  private final boolean coordinatesFiles;
  private final int coresPerTask;
  private long requests;

  StageFacts(SparkConf conf) {
    coordinatesFiles = conf.getBoolean("spark.hadoop.outputCommitCoordination.enabled", true);
    coresPerTask = (int) Math.ceil(Double.parseDouble(conf.get("spark.task.cpus", "1")));
  }

  /** The submission, and the request for slots that goes with it. */
  List<Fact> of(JobKey job, TaskSet set, Stage stage, long atNanos) {
    List<Fact> facts = new ArrayList<>();
    List<List<String>> hosts = preferredHosts(set.tasks());
    facts.add(submitted(job, set, stage, hosts, atNanos));
    Set<String> nodes = new LinkedHashSet<>();
    hosts.forEach(nodes::addAll);
    facts.add(Fact.at("resource_requested", atNanos)
        .with("request", ++requests)
        .with("count", set.tasks().length)
        .withKey("job", job.key)
        .with("stage", set.stageId())
        .with("stage_attempt", set.stageAttemptId())
        .with("cores", coresPerTask)
        .with("nodes", nodes.size() > MAX_NODES ? Collections.emptyList() : new ArrayList<>(nodes)));
    return facts;
  }

  private Fact submitted(JobKey job, TaskSet set, Stage stage, List<List<String>> hosts, long atNanos) {
    Task<?>[] tasks = set.tasks();
    String name = stage == null ? "" : stage.name();
    List<Long> bytes = known(tasks, inputBytes::of);
    List<Long> lengths = known(tasks, inputBytes::lengthOf);
    OutputSink sink = sink(stage);
    return Fact.at("stage_submitted", atNanos)
        .withKey("job", job.key)
        .with("stage", set.stageId())
        .with("stage_attempt", set.stageAttemptId())
        .with("n_tasks", tasks.length)
        .withText("name", name)
        .with("partitions", partitions(tasks))
        .with("input_bytes", bytes)
        .with("relative_bytes", lengths.equals(bytes) ? Collections.emptyList() : lengths)
        .with("preferred_hosts", hosts)
        .with("kind", tasks.length > 0 && tasks[0] instanceof ShuffleMapTask ? "shuffle_map" : "result")
        .withText("action", name.contains(" at ") ? name.substring(0, name.indexOf(" at ")) : "")
        .withText("operators", stage == null ? "" : Operators.of(stage.rdd()))
        .withText("writer", sink.writer)
        .with("committers", sink.committers)
        .with("commit_coordinated", sink.isCoordinated)
        .with("barrier", tasks.length > 0 && tasks[0].isBarrier())
        .with("pipelined", isPipelined(set))
        .with("streaming", job.isStreaming)
        .with("copies_enabled", job.copiesEnabled);
  }

  /** Whether the wire cannot take it: it is left to Spark, unsaid. */
  static boolean isTooLarge(TaskSet set) {
    return set.tasks().length > Fact.MAX_TASKS;
  }

  static boolean isPipelined(TaskSet set) {
    return (Boolean) Scala.callOr(set, "isPipelined", false);
  }

  private static List<Long> partitions(Task<?>[] tasks) {
    List<Long> partitions = new ArrayList<>();
    boolean isIdentity = true;
    for (int i = 0; i < tasks.length; i++) {
      partitions.add((long) tasks[i].partitionId());
      isIdentity &= tasks[i].partitionId() == i;
    }
    return isIdentity ? Collections.emptyList() : partitions;
  }

  private static List<Long> known(Task<?>[] tasks, ToLongFunction<Task<?>> amount) {
    List<Long> amounts = new ArrayList<>();
    boolean isKnown = false;
    for (Task<?> task : tasks) {
      amounts.add(Fact.amount(amount.applyAsLong(task)));
      isKnown |= amounts.get(amounts.size() - 1) >= 0;
    }
    return isKnown ? amounts : Collections.emptyList();
  }

  private static List<List<String>> preferredHosts(Task<?>[] tasks) {
    List<List<String>> hosts = new ArrayList<>();
    boolean isKnown = false;
    for (Task<?> task : tasks) {
      Set<String> ofTask = new LinkedHashSet<>();
      for (Object location : Scala.list(Scala.call(task, "preferredLocations"))) {
        ofTask.add(Fact.key(((TaskLocation) location).host()));
      }
      hosts.add(new ArrayList<>(ofTask));
      isKnown |= !ofTask.isEmpty();
    }
    return isKnown ? hosts : Collections.emptyList();
  }

  private OutputSink sink(Stage stage) {
    if (!(stage instanceof ResultStage)) {
      return OutputSink.NONE;
    }
    return OutputSink.of(Scala.call(stage, "func"), stage.rdd(), coordinatesFiles);
  }
}
