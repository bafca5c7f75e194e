// What does each order do to a MapReduce job, and when is it refused?
package io.grasshopper.mapreduce;

import io.grasshopper.core.Fact;
import io.grasshopper.core.Guard;
import io.grasshopper.core.Host;
import io.grasshopper.core.Order;
import io.grasshopper.core.Settings;
import io.grasshopper.core.SyncLoop;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.v2.api.records.TaskAttemptId;
import org.apache.hadoop.mapreduce.v2.app.AppContext;
import org.apache.hadoop.mapreduce.v2.app.job.Job;
import org.apache.hadoop.mapreduce.v2.app.job.Task;
import org.apache.hadoop.mapreduce.v2.app.job.TaskAttempt;
import org.apache.hadoop.mapreduce.v2.app.job.event.JobEvent;
import org.apache.hadoop.mapreduce.v2.app.job.event.JobEventType;
import org.apache.hadoop.mapreduce.v2.app.job.event.TaskAttemptStatusUpdateEvent.TaskAttemptStatus;
import org.apache.hadoop.mapreduce.v2.app.speculate.Speculator;
import org.apache.hadoop.mapreduce.v2.app.speculate.SpeculatorEvent;
import org.apache.hadoop.util.VersionInfo;

/**
 * The ApplicationMaster's side of the sync loop; it decides nothing.
 *
 * <p>An attempt cannot be ended for another one: Hadoop would start a third in its place. Nor can a copy be called back once it
 * is asked for.
 */
final class MapReduceHost implements Host {
  private static final String SHIM_VERSION = MapReduceHost.class.getPackage().getImplementationVersion();

  private final AppContext context;
  private final SyncLoop loop;
  private final boolean endsLateJobs;
  private final Fact attached;
  private final JobFacts jobs;
  private final Attempts attempts;
  private final TaskProgress progress = new TaskProgress();
  private final Copies copies;
  /** Attempts that have begun; of the dispatcher's thread. */
  private final Set<TaskAttemptId> begun = new HashSet<>();
  private final long lookEveryNanos;
  private long lookNanos = System.nanoTime();

  MapReduceHost(Configuration conf, AppContext context, Settings settings, Guard guard) {
    this.context = context;
    this.loop = new SyncLoop("mapreduce", this, guard, settings);
    this.endsLateJobs = settings.endsLateJobs();
    this.lookEveryNanos = settings.progressIntervalMs() * 1_000_000L;
    this.attached = attached(context, settings);
    this.copies = new Copies(conf, context, loop, settings.maxCopies());
    this.jobs = new JobFacts(conf, context, loop, settings);
    this.attempts = new Attempts(loop, jobs);
  }

  private static Fact attached(AppContext context, Settings settings) {
    Map<String, Object> capabilities = new LinkedHashMap<>();
    capabilities.put("max_copies", settings.maxCopies());
    capabilities.put("stop_job", true);
    return Fact.timeless("driver_attached")
        .withKey("application", context.getApplicationID().toString())
        .withText("name", context.getApplicationName())
        .withText("user", String.valueOf(context.getUser()))
        .withText("host_version", "mapreduce " + VersionInfo.getVersion())
        .withText("shim_version", SHIM_VERSION)
        .with("mode", settings.mode())
        .with("capabilities", capabilities)
        .with("stock_speculation", true)
        .with("executor_slots", 1)
        .with("executor_limit", Fact.MAX_TASKS);
  }

  void start() {
    loop.start(context.getApplicationID().toString(), context.getStartTime());
  }

  void stop() {
    loop.queue().offer(() -> attempts.look(System.nanoTime()));
    loop.stop("the ApplicationMaster has ended");
  }

  /** Called on the dispatcher's thread. Where Hadoop may not speculate on maps or on reduces, it keeps their starts from us. */
  void hear(SpeculatorEvent event) {
    TaskAttemptStatus status = event.getReportedStatus();
    if (status != null && begun.add(status.id)) {
      began(status.id);
    }
    if (event.getType() == Speculator.EventType.ATTEMPT_STATUS_UPDATE) {
      progress.report(status);
    }
  }

  private void began(TaskAttemptId id) {
    Task task = jobs.job().getTask(id.getTaskId());
    TaskAttempt attempt = task.getAttempt(id);
    long ranMs = Math.max(0, context.getClock().getTime() - attempt.getLaunchTime());
    long atNanos = System.nanoTime() - ranMs * 1_000_000;
    long order = copies.began(attempt, task);
    if (order >= 0) {
      loop.queue().offerUrgent(() -> attempts.began(attempt, order, atNanos));
    }
  }

  /** Whether the control plane speculates for this job now. */
  boolean isClaimed() {
    Job job = jobs.job();
    return job != null && loop.leases().holds(job.getID().toString());
  }

  @Override
  public Fact attached() {
    return attached;
  }

  @Override
  public void apply(Order order) {
    switch (order.type()) {
      case "launch_copy":
        copies.launch(order, jobs.job());
        break;
      case "stop_job":
        stopJob(order);
        break;
      default:
        loop.refused(order.id(), "unknown_order");
        break;
    }
  }

  private void stopJob(Order order) {
    Job job = jobs.job();
    if (job == null || !job.getID().toString().equals(order.text("job"))) {
      loop.refused(order.id(), "unknown_job");
    } else if (!endsLateJobs) {
      loop.refused(order.id(), "late_jobs_kept");
    } else {
      context.getEventHandler().handle(new JobEvent(job.getID(), JobEventType.JOB_KILL));
      loop.applied(order.id(), -1);
    }
  }

  @Override
  public void settle() {}

  /** A copy that is asked for cannot be called back; Hadoop's speculation looks at the lease itself. */
  @Override
  public void leaseEnded(String job) {}

  @Override
  public void standDown(String reason) {}

  /** Also our timer: Hadoop announces no attempt's end, so we look. Nothing expires here. */
  @Override
  public long endOverdue(long nowNanos) {
    if (nowNanos - lookNanos >= 0) {
      lookNanos = nowNanos + lookEveryNanos;
      if (attempts.look(nowNanos)) {
        loop.queue().hurry();
      }
    }
    return lookNanos - nowNanos;
  }

  @Override
  public Map<String, Object> progress(long nowNanos, boolean all) {
    return progress.table.columns(loop.live(), nowNanos, all);
  }

  @Override
  public void progressArrived() {
    progress.table.arrived();
  }

  @Override
  public void forgetGone() {
    loop.live().retain(attempts::isThere);
  }
}
