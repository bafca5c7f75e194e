// How does a task set launch what was ordered, and otherwise behave exactly as Spark's own?
package io.grasshopper.spark;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import org.apache.spark.scheduler.PendingTasksByLocality;
import org.apache.spark.scheduler.TaskInfo;
import org.apache.spark.scheduler.TaskLocality;
import org.apache.spark.scheduler.TaskLocation;
import org.apache.spark.scheduler.TaskSchedulerImpl;
import org.apache.spark.scheduler.TaskSetExcludelist;
import org.apache.spark.scheduler.TaskSetManager;
import org.apache.spark.util.SystemClock;
import scala.Enumeration;
import scala.Option;
import scala.Tuple3;

/**
 * Stands in for Spark's {@link TaskSetManager} from its submission on.
 *
 * <p>Spark calls all of this under the lock of the {@link TaskSchedulerImpl}. Without wishes, grants, hosts to avoid,
 * executors that drain and lease every override is the stock method; so it is once the guard has switched the shim off.
 */
final class OrderedTaskSet extends TaskSetManager implements JobShare.Part {
  private static final PendingTasksByLocality NOTHING_PENDING = new PendingTasksByLocality();

  private final TaskSchedulerImpl scheduler;
  private final Control control;
  private final JobKey job;
  private final JobShare share;
  private final boolean isOurs;
  private final List<Wish> wishes = new ArrayList<>();
  private final Set<Long> dying = new HashSet<>();
  private RunOrder runOrder = RunOrder.NONE;
  /** The task that an order is about to start, and the order's id. */
  private int launchingIndex = -1;
  private long launchingOrder;
  /** Whether the offer that Spark asks about is one that we have kept its originals from. */
  private boolean declined;
  /** When it was submitted, or launched something last on a host that was not to be avoided. */
  private long movedNanos = System.nanoTime();

  OrderedTaskSet(TaskSchedulerImpl scheduler, TaskSetManager stock, JobKey job, Control control) {
    super(scheduler, stock.taskSet(), stock.maxTaskFailures(), scheduler.healthTrackerOpt(), new SystemClock());
    this.scheduler = scheduler;
    this.control = control;
    this.job = job;
    this.share = control.share(job);
    this.share.add(this);
    this.isOurs = OrderGate.refusalOfJob(job) == null;
  }

  JobKey job() {
    return job;
  }

  JobShare share() {
    return share;
  }

  @Override
  public boolean isOver() {
    return isZombie() && runningTasks() == 0;
  }

  /** Originals that have not started; less the copies that run, which is near enough. */
  @Override
  public int waiting() {
    return isZombie() ? 0 : Math.max(0, numTasks() - tasksSuccessful() - runningTasks());
  }

  /** Accepts a copy that waits for a slot; answers null, or why the present state forbids it. */
  String wish(Wish wish) {
    String refusal = refusalOfCopy(wish);
    if (refusal == null) {
      wishes.add(wish);
      control.wishing.add(this);
    }
    return refusal;
  }

  /** Takes the place of the order that originals went in before; answers null, or why it cannot. */
  String runNext(RunOrder ordered) {
    if (!ordered.isWithin(numTasks())) {
      return "unknown_task";
    }
    runOrder = ordered;
    control.wishing.add(this);
    return null;
  }

  private String refusalOfCopy(Wish wish) {
    int index = wish.index;
    if (successful()[index]) {
      return "task_ended";
    }
    if (copiesRunning()[index] == 0) {
      return "not_running";
    }
    if (!isOnlyHost() && !wish.host.isEmpty() && hasRunningAttempt(index, "", wish.host)) {
      return "host_has_attempt";
    }
    long waiting = wishes.stream().filter(other -> other.index == index).count();
    return copiesRunning()[index] - 1 + waiting >= control.maxCopies ? "above_clamp" : null;
  }

  private boolean isOnlyHost() {
    return scheduler.hostToExecutors().size() <= 1;
  }

  /** Remembers that an attempt was told to die; answers null, or why it must live. */
  String condemn(long attempt, int index) {
    int others = 0;
    for (Object each : Scala.list(taskAttempts()[index])) {
      TaskInfo info = (TaskInfo) each;
      if (info.running() && info.taskId() != attempt && !dying.contains(info.taskId())) {
        others++;
      }
    }
    if (others == 0 && !successful()[index]) {
      return "last_attempt";
    }
    dying.add(attempt);
    return null;
  }

  /** Ends what is overdue or has lost its object; answers the nanoseconds to the next end. */
  long endOverdue(long nowNanos) {
    if (isZombie() || runOrder.isOver(nowNanos)) {
      runOrder = RunOrder.NONE;
    }
    long shortest = runOrder == RunOrder.NONE ? Long.MAX_VALUE : runOrder.expiresNanos - nowNanos;
    for (Iterator<Wish> each = wishes.iterator(); each.hasNext(); ) {
      Wish wish = each.next();
      if (isOver(wish, nowNanos)) {
        each.remove();
      } else {
        shortest = Math.min(shortest, wish.expiresNanos - nowNanos);
      }
    }
    return shortest;
  }

  /** Drops what was ordered, as when the lease ends; the control plane hears of copies unless the reason is empty. */
  void dropWishes(String reason) {
    for (Wish wish : wishes) {
      if (!reason.isEmpty()) {
        control.loop.expired(wish.order, reason);
      }
    }
    wishes.clear();
    runOrder = RunOrder.NONE;
  }

  boolean hasWishes() {
    return !wishes.isEmpty() || runOrder != RunOrder.NONE;
  }

  private boolean isOver(Wish wish, long nowNanos) {
    String refusal = isZombie() ? "stage_ended" : refusalNow(wish);
    if (refusal != null) {
      control.loop.refused(wish.order, refusal);
      return true;
    }
    if (nowNanos - wish.expiresNanos >= 0) {
      control.loop.expired(wish.order, "no_slot");
      return true;
    }
    return false;
  }

  private String refusalNow(Wish wish) {
    if (successful()[wish.index]) {
      return "task_ended";
    }
    return copiesRunning()[wish.index] > 0 ? null : "not_running";
  }

  /** Log lines of a task set keep the name that users filter by. */
  @Override
  public String logName() {
    return TaskSetManager.class.getName();
  }

  @Override
  public boolean isSchedulable() {
    return super.isSchedulable() || !wishes.isEmpty() && !isZombie() && control.guard.isOn();
  }

  private boolean isSteered() {
    return share.hasGrant() || hasWishes() || !control.avoided.isEmpty() || !control.draining.isEmpty();
  }

  @Override
  public Option<Tuple3<Object, Enumeration.Value, Object>> dequeueTaskHelper(
      String executor, String host, Enumeration.Value maxLocality, boolean speculative) {
    if (isSteered() && control.guard.isOn() && !isBarrier()) {
      long start = System.nanoTime();
      try {
        if (control.draining.contains(executor)) {
          declined = true;
          return Option.empty();
        }
        if (share.isGated()) {
          declined = true;
          return Option.empty();
        }
        Wish wish = serve(executor, host, speculative, start);
        if (wish != null) {
          return launch(wish.index, host, wish.order, true);
        }
        if (!speculative && share.isFullOfOriginals(start)) {
          declined = true;
          return Option.empty();
        }
        if (!speculative && isOurs && control.avoided.has(host, share, share::waiting, start - movedNanos, start)) {
          declined = true;
          return Option.empty();
        }
        int next = speculative ? -1 : next(executor, host, maxLocality, start);
        if (next >= 0) {
          return launch(next, host, runOrder.order, false);
        }
      } catch (Throwable error) {
        control.guard.caught("offer", error);
      } finally {
        control.meter.leave(start);
      }
    }
    return super.dequeueTaskHelper(executor, host, maxLocality, speculative);
  }

  /**
   * Spark asks for this after each offer that has launched nothing: where tasks are pending, delay scheduling has turned the
   * offer down, and the time until it gives up preferred hosts goes on. An offer that we declined is none to it.
   */
  @Override
  public PendingTasksByLocality pendingTasks() {
    boolean isHidden = declined;
    declined = false;
    return isHidden ? NOTHING_PENDING : super.pendingTasks();
  }

  private Option<Tuple3<Object, Enumeration.Value, Object>> launch(int index, String host, long order, boolean isCopy) {
    launchingIndex = index;
    launchingOrder = order;
    declined = false;
    return Option.apply(new Tuple3<Object, Enumeration.Value, Object>(index, locality(index, host), isCopy));
  }

  /** The original that was ordered to go first, of those that delay scheduling lets start here; -1 for none. */
  private int next(String executor, String host, Enumeration.Value maxLocality, long nowNanos) {
    return runOrder.isOver(nowNanos) ? -1 : runOrder.next(
        index -> !successful()[index] && copiesRunning()[index] == 0,
        index -> isAllowed(index, executor, host) && TaskLocality.isAllowed(maxLocality, locality(index, host)));
  }

  private Wish serve(String executor, String host, boolean speculative, long nowNanos) {
    for (Iterator<Wish> each = wishes.iterator(); each.hasNext(); ) {
      Wish wish = each.next();
      if (isOver(wish, nowNanos)) {
        each.remove();
      } else if (wish.isDue(speculative) && wish.wants(host) && isAllowed(wish.index, executor, host)
          && !hasRunningAttempt(wish.index, executor, host)) {
        each.remove();
        return wish;
      }
    }
    return null;
  }

  private boolean isAllowed(int index, String executor, String host) {
    TaskSetExcludelist excluded = Scala.orNull(taskSetExcludelistHelperOpt());
    return excluded == null
        || !excluded.isNodeExcludedForTask(host, index) && !excluded.isExecutorExcludedForTask(executor, index);
  }

  /** Never two running attempts of a task on one host; where there is only one host, never on one executor. */
  private boolean hasRunningAttempt(int index, String executor, String host) {
    boolean onlyHost = isOnlyHost();
    for (Object each : Scala.list(taskAttempts()[index])) {
      TaskInfo info = (TaskInfo) each;
      if (info.running() && (onlyHost ? info.executorId().equals(executor) : info.host().equals(host))) {
        return true;
      }
    }
    return false;
  }

  /** The level the launch really has, so that an ordered launch does not loosen the delay scheduling of the rest. */
  private Enumeration.Value locality(int index, String host) {
    List<Object> preferred = Scala.list(Scala.call(tasks()[index], "preferredLocations"));
    if (preferred.isEmpty()) {
      return TaskLocality.PROCESS_LOCAL();
    }
    for (Object location : preferred) {
      if (((TaskLocation) location).host().equals(host)) {
        return TaskLocality.NODE_LOCAL();
      }
    }
    return TaskLocality.ANY();
  }

  @Override
  public void addRunningTask(long attempt) {
    int before = runningTasks();
    super.addRunningTask(attempt);
    if (runningTasks() == before) {
      return;
    }
    long start = System.nanoTime();
    try {
      share.started(isCopy(attempt));
      TaskInfo info = taskInfos().apply(attempt);
      if (!control.avoided.names(info.host())) {
        movedNanos = start;
      }
      boolean isOrdered = launchingIndex == info.index();
      launchingIndex = -1;
      control.facts.attemptStarted(stageId(), taskSet().stageAttemptId(), info, isOrdered ? launchingOrder : 0);
      if (isOrdered && info.speculative()) {
        control.loop.applied(launchingOrder, attempt);
      }
    } catch (Throwable error) {
      control.guard.caught("launch", error);
    } finally {
      control.meter.leave(start);
    }
  }

  @Override
  public void removeRunningTask(long attempt) {
    int before = runningTasks();
    super.removeRunningTask(attempt);
    if (runningTasks() < before) {
      long start = System.nanoTime();
      try {
        dying.remove(attempt);
        control.attemptEnded(job.key, share, isCopy(attempt));
      } catch (Throwable error) {
        control.guard.caught("end", error);
      } finally {
        control.meter.leave(start);
      }
    }
  }

  private boolean isCopy(long attempt) {
    TaskInfo info = Scala.orNull(taskInfos().get(attempt));
    return info != null && info.speculative();
  }

  @Override
  public boolean checkSpeculatableTasks(long minTimeMs) {
    return !isClaimed() && super.checkSpeculatableTasks(minTimeMs);
  }

  /** Whether the control plane speculates for this job, and Spark shall not. */
  private boolean isClaimed() {
    long start = System.nanoTime();
    try {
      return control.guard.isOn() && control.loop.leases().holds(job.key);
    } catch (Throwable error) {
      control.guard.caught("speculation", error);
      return false;
    } finally {
      control.meter.leave(start);
    }
  }
}
