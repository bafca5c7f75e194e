// What does each order do to Spark's scheduler, and when is it refused?
package io.grasshopper.spark;

import io.grasshopper.core.Fact;
import io.grasshopper.core.Guard;
import io.grasshopper.core.Host;
import io.grasshopper.core.Order;
import io.grasshopper.core.Settings;
import io.grasshopper.core.SyncLoop;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.TaskSchedulerImpl;
import org.apache.spark.scheduler.TaskSetManager;

/**
 * The driver's side of the sync loop.
 *
 * <p>It decides nothing; {@link OrderGate} says what is refused. Task sets and shares are touched under the scheduler's lock, and
 * nothing is waited for there.
 */
final class SparkHost implements Host {
  private final SyncLoop loop;
  private final JobBook jobs;
  private final SparkFacts facts;
  private final ExecutorProgress progress = new ExecutorProgress();
  private final Control control;
  private SparkContext context;
  private TaskSchedulerImpl scheduler;
  private SchedulerLock lock;
  private OrderGate gate;
  private Presence presence;
  private Offers offers;
  private OrderEnds ends;
  private ExecutorCap executors;
  private Fact attached;
  private boolean inControl;
  private boolean ordersPending;

  SparkHost(SparkConf conf, Settings settings, Guard guard) {
    loop = new SyncLoop("spark", this, guard, settings);
    jobs = new JobBook(loop, settings.endsLateJobs(), this::jobEnded);
    facts = new SparkFacts(loop, jobs, conf, () -> ends.dueBy(System.nanoTime()));
    control = new Control(guard, loop, facts, settings.maxCopies());
  }

  SparkFacts facts() {
    return facts;
  }

  ExecutorProgress progress() {
    return progress;
  }

  Control control() {
    return control;
  }

  /** Puts the hooks in place and begins to exchange. The context is complete, and no job of the user runs yet. */
  void install(SparkContext sparkContext, String mode) {
    context = sparkContext;
    scheduler = (TaskSchedulerImpl) sparkContext.taskScheduler();
    lock = new SchedulerLock(scheduler, control.meter);
    gate = new OrderGate(scheduler, loop.live());
    presence = new Presence(scheduler, gate);
    offers = new Offers(sparkContext, scheduler);
    ends = new OrderEnds(control, lock, offers);
    inControl = mode.equals("control");
    ordersPending = !sparkContext.conf().get("spark.scheduler.mode", "").equalsIgnoreCase("FIFO");
    executors = ExecutorCap.of(sparkContext, control);
    attached = SparkAttached.fact(sparkContext, mode, control.maxCopies, ordersPending, executors != null);
    TaskSetSwap.install(scheduler, control, inControl);
    loop.start(sparkContext.applicationId(), sparkContext.startTime());
  }

  void stop(String reason) {
    loop.stop(reason);
  }

  @Override
  public Fact attached() {
    return attached;
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
  public void apply(Order order) {
    String refusal = inControl ? carryOut(order) : "mode";
    if (refusal != null) {
      loop.refused(order.id(), refusal);
    }
  }

  private String carryOut(Order order) {
    switch (order.type()) {
      case "launch_copy":
        return order.number("byte_offset", 0) > 0 ? "byte_offset_unsupported" : lock.get(() -> wish(order));
      case "run_next":
        return ordersPending ? lock.get(() -> runNext(order)) : "fifo_mode";
      case "kill_attempt":
        return kill(order);
      case "stop_job":
        return stopJob(order);
      case "container_grant":
        return ordersPending ? grant(order) : "fifo_mode";
      case "avoid_hosts":
        return avoid(order);
      case "cap_executors":
        return executors == null ? "executors_fixed" : capExecutors(order);
      default:
        return "unknown_order";
    }
  }

  private String wish(Order order) {
    TaskSetManager set = gate.set(order);
    String refusal = gate.refusalOfCopy(order, set);
    if (refusal == null) {
      refusal = ((OrderedTaskSet) set).wish(new Wish(order));
    }
    if (refusal == null) {
      ends.began(order);
      if (context.executorAllocationManager().isDefined()) {
        int index = order.integer("index");
        scheduler.dagScheduler().speculativeTaskSubmitted(set.tasks()[index], index);
      }
    }
    return refusal;
  }

  private String runNext(Order order) {
    TaskSetManager set = gate.set(order);
    String refusal = gate.refusal(order, set);
    if (refusal == null) {
      refusal = ((OrderedTaskSet) set).runNext(RunOrder.of(order));
    }
    if (refusal == null) {
      ends.began(order);
      loop.applied(order.id(), -1);
    }
    return refusal;
  }

  private String kill(Order order) {
    long attempt = order.number("attempt");
    String refusal = lock.get(() -> gate.condemn(order, attempt));
    if (refusal != null) {
      return refusal;
    }
    if (!context.killTaskAttempt(attempt, true, killReason(order))) {
      return "not_running";
    }
    loop.applied(order.id(), attempt);
    return null;
  }

  private String stopJob(Order order) {
    JobKey job = jobs.key(order.text("job"));
    if (job == null) {
      return "unknown_job";
    }
    String refusal = OrderGate.refusalOfJob(job);
    if (refusal != null) {
      return refusal;
    }
    if (!jobs.endsLate(job)) {
      return "late_jobs_kept";
    }
    for (int sparkJob : jobs.activeSparkJobs(job.key)) {
      context.cancelJob(sparkJob, killReason(order));
    }
    loop.applied(order.id(), -1);
    return null;
  }

  private static String killReason(Order order) {
    return order.text("reason").isEmpty() ? "grasshopper" : "grasshopper: " + order.text("reason");
  }

  private String grant(Order order) {
    JobKey job = jobs.key(order.text("job"));
    if (job == null) {
      return "unknown_job";
    }
    String refusal = OrderGate.refusalOfJob(job);
    if (refusal != null) {
      return refusal;
    }
    int target = order.integer("target");
    int cap = order.integer("cap", -1);
    int originals = order.integer("originals", -1);
    double precedence = order.real("precedence");
    lock.run(() -> control.grant(control.share(job), target, cap, originals, precedence, order.expiresNanos()));
    ends.began(order);
    loop.applied(order.id(), -1);
    return null;
  }

  private String avoid(Order order) {
    if (order.list("hosts").size() != order.list("waves").size()) {
      return "bad_field:waves";
    }
    AvoidedHosts hosts = AvoidedHosts.of(order);
    lock.run(() -> control.avoided = hosts);
    ends.began(order);
    loop.applied(order.id(), -1);
    return null;
  }

  private String capExecutors(Order order) {
    int most = order.integer("executors", -1);
    if (most < 0) {
      executors.lift();
    } else if (!executors.lower(most, order.expiresNanos())) {
      return "executors_fixed";
    }
    loop.applied(order.id(), -1);
    return null;
  }

  @Override
  public void settle() {
    offers.settle();
  }

  @Override
  public void leaseEnded(String job) {
    ends.leaseEnded(job);
  }

  @Override
  public void standDown(String reason) {
    if (executors != null) {
      executors.lift();
    }
    ends.standDown(reason);
  }

  private void jobEnded(String job) {
    lock.run(() -> control.jobEnded(job));
  }

  @Override
  public void forgetGone() {
    lock.run(() -> loop.live().retain(presence::isThere));
    jobs.retain(presence::isActive, presence::isExecuting, System.nanoTime());
  }

  @Override
  public long endOverdue(long nowNanos) {
    return ends.endOverdue(nowNanos);
  }
}
