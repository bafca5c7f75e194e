// Which orders of a task set wait for an offer, until when, and which of them does it serve?
package io.grasshopper.spark;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.scheduler.TaskSetExcludelist;
import org.apache.spark.scheduler.TaskSetManager;

/** A copy ends by being served, refused by the present state, or expired. Touched under the scheduler's lock only. */
final class Wishes {
  private final TaskSetManager set;
  private final TaskAttempts attempts;
  private final Control control;
  private final List<Wish> waiting = new ArrayList<>();
  private RunOrder runOrder = RunOrder.NONE;

  Wishes(TaskSetManager set, TaskAttempts attempts, Control control) {
    this.set = set;
    this.attempts = attempts;
    this.control = control;
  }

  boolean isEmpty() {
    return waiting.isEmpty() && runOrder == RunOrder.NONE;
  }

  boolean hasCopies() {
    return !waiting.isEmpty();
  }

  /** Takes the place of the order that originals went in before; answers null, or why it cannot. */
  String runNext(RunOrder ordered) {
    if (!ordered.isWithin(set.numTasks())) {
      return "unknown_task";
    }
    runOrder = ordered;
    return null;
  }

  /** Accepts a copy; answers null, or why the present state forbids it. */
  String add(Wish wish) {
    String refusal = refusalOfCopy(wish);
    if (refusal == null) {
      waiting.add(wish);
    }
    return refusal;
  }

  private String refusalOfCopy(Wish wish) {
    int index = wish.index;
    if (attempts.hasEnded(index)) {
      return "task_ended";
    }
    if (attempts.running(index) == 0) {
      return "not_running";
    }
    if (!attempts.isOnlyHost() && !wish.host.isEmpty() && attempts.hasRunning(index, "", wish.host)) {
      return "host_has_attempt";
    }
    long others = waiting.stream().filter(other -> other.index == index).count();
    return attempts.running(index) - 1 + others >= control.maxCopies ? "above_clamp" : null;
  }

  /** Ends what is overdue or has lost its object; answers the nanoseconds to the next end. */
  long endOverdue(long nowNanos) {
    if (set.isZombie() || runOrder.isOver(nowNanos)) {
      runOrder = RunOrder.NONE;
    }
    long shortest = runOrder == RunOrder.NONE ? Long.MAX_VALUE : runOrder.expiresNanos - nowNanos;
    for (Iterator<Wish> each = waiting.iterator(); each.hasNext(); ) {
      Wish wish = each.next();
      if (isOver(wish, nowNanos)) {
        each.remove();
      } else {
        shortest = Math.min(shortest, wish.expiresNanos - nowNanos);
      }
    }
    return shortest;
  }

  /** Drops all, as when the lease ends; the control plane hears of copies unless the reason is empty. */
  void drop(String reason) {
    for (Wish wish : waiting) {
      if (!reason.isEmpty()) {
        control.loop.expired(wish.order, reason);
      }
    }
    waiting.clear();
    runOrder = RunOrder.NONE;
  }

  /** The order that says which original goes first here; null where none does. */
  RunOrder runOrder(long nowNanos) {
    return runOrder.isOver(nowNanos) ? null : runOrder;
  }

  /** Takes the copy that this offer serves; null for none. */
  Wish take(String executor, String host, boolean speculative, long nowNanos) {
    for (Iterator<Wish> each = waiting.iterator(); each.hasNext(); ) {
      Wish wish = each.next();
      if (isOver(wish, nowNanos)) {
        each.remove();
      } else if (wish.isDue(speculative) && wish.wants(host) && isAllowed(wish.index, executor, host)
          && !attempts.hasRunning(wish.index, executor, host)) {
        each.remove();
        return wish;
      }
    }
    return null;
  }

  private boolean isOver(Wish wish, long nowNanos) {
    String refusal = set.isZombie() ? "stage_ended" : refusalNow(wish);
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
    if (attempts.hasEnded(wish.index)) {
      return "task_ended";
    }
    return attempts.running(wish.index) > 0 ? null : "not_running";
  }

  /** Whether Spark's exclusion lists let a task start here. */
  boolean isAllowed(int index, String executor, String host) {
    TaskSetExcludelist excluded = Scala.orNull(set.taskSetExcludelistHelperOpt());
    return excluded == null
        || !excluded.isNodeExcludedForTask(host, index) && !excluded.isExecutorExcludedForTask(executor, index);
  }
}
