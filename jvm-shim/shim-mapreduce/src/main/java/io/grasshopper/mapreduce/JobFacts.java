// What does a job tell about itself and its two stages, its maps and its reduces?
package io.grasshopper.mapreduce;

import io.grasshopper.core.Fact;
import io.grasshopper.core.Settings;
import io.grasshopper.core.SyncLoop;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.TypeConverter;
import org.apache.hadoop.mapreduce.split.JobSplit.TaskSplitMetaInfo;
import org.apache.hadoop.mapreduce.split.SplitMetaInfoReader;
import org.apache.hadoop.mapreduce.v2.api.records.JobState;
import org.apache.hadoop.mapreduce.v2.api.records.TaskState;
import org.apache.hadoop.mapreduce.v2.api.records.TaskType;
import org.apache.hadoop.mapreduce.v2.app.AppContext;
import org.apache.hadoop.mapreduce.v2.app.job.Job;
import org.apache.hadoop.mapreduce.v2.app.job.Task;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An ApplicationMaster has one job.
 *
 * <p>Its reduces are a stage from the end of the last map on: before that, they only fetch what maps have written. For the sync
 * loop's thread.
 */
final class JobFacts {
  private static final Logger LOG = LoggerFactory.getLogger(JobFacts.class);
  /** Formats whose names begin so read all of a split, and its length is in bytes. */
  private static final List<String> WHOLE_SPLITS =
      Arrays.asList("org.apache.hadoop.mapreduce.lib.input.", "org.apache.hadoop.mapred.TextInputFormat");

  private static final Map<JobState, String> OUTCOMES = new EnumMap<>(JobState.class);

  static {
    OUTCOMES.put(JobState.SUCCEEDED, "success");
    OUTCOMES.put(JobState.KILLED, "killed");
    OUTCOMES.put(JobState.FAILED, "failed");
    OUTCOMES.put(JobState.ERROR, "failed");
  }

  private final Configuration conf;
  private final AppContext context;
  private final SyncLoop loop;
  private final Settings settings;
  private boolean isTold;
  private boolean isEnded;
  private boolean mapsAreOver;
  private long mapsOverNanos;
  /** Each as it was told; null where there are none. */
  private Fact maps;
  private Fact reduces;
  private int givenUp;

  JobFacts(Configuration conf, AppContext context, SyncLoop loop, Settings settings) {
    this.conf = conf;
    this.context = context;
    this.loop = loop;
    this.settings = settings;
  }

  /** The job; null while there is none. From any thread. */
  Job job() {
    return context.getAllJobs().values().stream().findFirst().orElse(null);
  }

  /** Tells what is new of the job; answers whether its maps have been told. */
  boolean look(long nowNanos) {
    Job job = job();
    if (!isTold && job != null && isReady(job)) {
      submit(job, nowNanos);
      isTold = true;
    }
    if (isTold && !mapsAreOver && job.getCompletedMaps() >= job.getTotalMaps()) {
      mapsAreOver = true;
      mapsOverNanos = nowNanos;
      if (job.getTotalReduces() > 0) {
        reduces = tell(stage(job, TaskKey.REDUCES, nowNanos));
      }
    }
    if (isTold) {
      tellGivenUp(job);
    }
    if (isTold && !isEnded && OUTCOMES.containsKey(job.getState())) {
      isEnded = true;
      loop.emit(Fact.at("job_ended", nowNanos)
          .withKey("job", job.getID().toString()).with("outcome", OUTCOMES.get(job.getState())));
    }
    return isTold;
  }

  /** Whether its tasks are known: what an earlier ApplicationMaster has finished, too. Hadoop speculates on no uber job. */
  private static boolean isReady(Job job) {
    return job.getState() == JobState.RUNNING && !job.isUber()
        && job.getTasks().values().stream().noneMatch(task -> task.getState() == TaskState.NEW);
  }

  /** Tasks that have failed or were killed, where their job allows that, are done, too, and no attempt tells it. */
  private void tellGivenUp(Job job) {
    int now = job.getFailedMaps() + job.getKilledMaps() + job.getFailedReduces() + job.getKilledReduces();
    if (now > givenUp) {
      givenUp = now;
      for (Fact stage : Arrays.asList(maps, reduces)) {
        if (stage != null) {
          loop.emit(stage.plus("done", runs(job, (Long) stage.get("stage"), JobFacts::isGivenUp)));
        }
      }
    }
  }

  private static boolean isGivenUp(Task task) {
    return task.isFinished() && task.getState() != TaskState.SUCCEEDED;
  }

  private Fact tell(Fact fact) {
    loop.emit(fact);
    return fact;
  }

  /** Whether the last map has ended, so that reduces count. */
  boolean mapsAreOver() {
    return mapsAreOver;
  }

  /** When it had. */
  long mapsOverNanos() {
    return mapsOverNanos;
  }

  /** Whether the job's user lets Hadoop run the tasks of this stage twice. */
  static boolean mayCopy(Configuration conf, long stage) {
    return conf.getBoolean(stage == TaskKey.MAPS ? MRJobConfig.MAP_SPECULATIVE : MRJobConfig.REDUCE_SPECULATIVE, true);
  }

  private void submit(Job job, long nowNanos) {
    int nMaps = job.getTotalMaps();
    int nReduces = job.getTotalReduces();
    boolean hasBoth = nMaps > 0 && nReduces > 0;
    long ageMs = Math.max(0, context.getClock().getTime() - job.getReport().getSubmitTime());
    loop.emit(Fact.at("job_submitted", nowNanos - ageMs * 1_000_000)
        .withKey("job", job.getID().toString())
        .withText("name", job.getName())
        .with("host_ids", Collections.singletonList((long) job.getID().getId()))
        .with("stages", nReduces > 0 ? Arrays.asList(TaskKey.MAPS, TaskKey.REDUCES) : Arrays.asList(TaskKey.MAPS))
        .with("stage_tasks", nReduces > 0 ? Arrays.asList((long) nMaps, (long) nReduces) : Arrays.asList((long) nMaps))
        .with("edges", hasBoth ? Arrays.asList(Arrays.asList(TaskKey.MAPS, TaskKey.REDUCES)) : Collections.emptyList())
        .with("deadline_ms", Attachment.deadlineMs(settings))
        .with("kill_late", settings.endsLateJobs())
        .withText("speculator", settings.text("policy", ""))
        .with("mode", settings.mode()));
    if (nMaps > 0) {
      maps = tell(withSplits(job, stage(job, TaskKey.MAPS, nowNanos)));
    }
  }

  private Fact stage(Job job, long stage, long nowNanos) {
    boolean isMaps = stage == TaskKey.MAPS;
    boolean isLast = !isMaps || job.getTotalReduces() == 0;
    return Fact.at("stage_submitted", nowNanos)
        .withKey("job", job.getID().toString())
        .with("stage", stage)
        .with("stage_attempt", 0L)
        .with("n_tasks", isMaps ? job.getTotalMaps() : job.getTotalReduces())
        .withText("name", isMaps ? "map" : "reduce")
        .withText("operators", conf.get(isMaps ? MRJobConfig.MAP_CLASS_ATTR : MRJobConfig.REDUCE_CLASS_ATTR, ""))
        .with("kind", isLast ? "result" : "shuffle_map")
        .with("done", runs(job, stage, Task::isFinished))
        .with("copies_enabled", mayCopy(conf, stage));
  }

  /** First and last of each run of such tasks. */
  private static List<List<Integer>> runs(Job job, long stage, Predicate<Task> which) {
    List<List<Integer>> runs = new ArrayList<>();
    int[] ended = job.getTasks(stage == TaskKey.MAPS ? TaskType.MAP : TaskType.REDUCE).values().stream()
        .filter(which).map(Task::getID).mapToInt(id -> id.getId()).sorted().toArray();
    for (int index : ended) {
      List<Integer> last = runs.isEmpty() ? null : runs.get(runs.size() - 1);
      if (last != null && last.get(1) == index - 1) {
        last.set(1, index);
      } else {
        runs.add(Arrays.asList(index, index));
      }
    }
    return runs;
  }

  /** Lengths and places of the maps' input, where the job has written them down. */
  private Fact withSplits(Job job, Fact stage) {
    List<Long> lengths = new ArrayList<>();
    List<List<String>> hosts = new ArrayList<>();
    try {
      Path folder = new Path(conf.get(MRJobConfig.MAPREDUCE_JOB_DIR));
      for (TaskSplitMetaInfo split : SplitMetaInfoReader.readSplitMetaInfo(
          TypeConverter.fromYarn(job.getID()), folder.getFileSystem(conf), conf, folder)) {
        lengths.add(Fact.amount(split.getInputDataLength()));
        hosts.add(Arrays.asList(split.getLocations()));
      }
    } catch (IOException | RuntimeException error) {
      LOG.info("Grasshopper: the sizes of the maps' input are not known: {}", error.toString());
    }
    if (lengths.size() == job.getTotalMaps()) {
      stage.with(readsWholeSplits() ? "input_bytes" : "relative_bytes", lengths).with("preferred_hosts", hosts);
    }
    return stage;
  }

  private boolean readsWholeSplits() {
    String key = conf.getBoolean("mapred.mapper.new-api", false) ? MRJobConfig.INPUT_FORMAT_CLASS_ATTR : "mapred.input.format.class";
    String format = conf.get(key);
    return format == null || WHOLE_SPLITS.stream().anyMatch(format::startsWith);
  }
}
