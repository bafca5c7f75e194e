// How does a task set launch what was ordered, and otherwise behave exactly as Spark's own?
package io.grasshopper.spark;

import java.util.List;
import org.apache.spark.scheduler.PendingTasksByLocality;
import org.apache.spark.scheduler.TaskInfo;
import org.apache.spark.scheduler.TaskLocality;
import org.apache.spark.scheduler.TaskLocation;
import org.apache.spark.scheduler.TaskSchedulerImpl;
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

  private final Control control;
  private final JobKey job;
  private final JobShare share;
  private final boolean isOurs;
  private final TaskAttempts attempts;
  private final Wishes wishes;
  /** The task that an order is about to start, and the order's id. */
  private int launchingIndex = -1;
  private long launchingOrder;
  /** Whether the offer that Spark asks about is one that we have kept its originals from. */
  private boolean declined;
  /** When it was submitted, or launched something last on a host that was not to be avoided. */
  private long movedNanos = System.nanoTime();

  OrderedTaskSet(TaskSchedulerImpl scheduler, TaskSetManager stock, JobKey job, Control control) {
    super(scheduler, stock.taskSet(), stock.maxTaskFailures(), scheduler.healthTrackerOpt(), new SystemClock());
    this.control = control;
    this.attempts = new TaskAttempts(scheduler, this);
    this.wishes = new Wishes(this, attempts, control);
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

  TaskAttempts attempts() {
    return attempts;
  }

  Wishes wishes() {
    return wishes;
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
    return accepted(wishes.add(wish));
  }

  /** Accepts the order that originals go in; answers null, or why it cannot be. */
  String runNext(RunOrder ordered) {
    return accepted(wishes.runNext(ordered));
  }

  private String accepted(String refusal) {
    if (refusal == null) {
      control.wishing.add(this);
    }
    return refusal;
  }

  /** Log lines of a task set keep the name that users filter by. */
  @Override
  public String logName() {
    return TaskSetManager.class.getName();
  }

  @Override
  public boolean isSchedulable() {
    return super.isSchedulable() || wishes.hasCopies() && !isZombie() && control.guard.isOn();
  }

  private boolean isSteered() {
    return share.hasGrant() || !wishes.isEmpty() || !control.avoided.isEmpty() || !control.draining.isEmpty();
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
        Wish wish = wishes.take(executor, host, speculative, start);
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
        RunOrder order = speculative ? null : wishes.runOrder(start);
        int next = order == null ? -1 : next(order, executor, host, maxLocality);
        if (next >= 0) {
          return launch(next, host, order.order, false);
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
  private int next(RunOrder order, String executor, String host, Enumeration.Value maxLocality) {
    return order.next(
        index -> !attempts.hasEnded(index) && attempts.running(index) == 0,
        index -> wishes.isAllowed(index, executor, host) && TaskLocality.isAllowed(maxLocality, locality(index, host)));
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
      share.started(attempts.isCopy(attempt));
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
        attempts.ended(attempt);
        control.attemptEnded(job.key, share, attempts.isCopy(attempt));
      } catch (Throwable error) {
        control.guard.caught("end", error);
      } finally {
        control.meter.leave(start);
      }
    }
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
