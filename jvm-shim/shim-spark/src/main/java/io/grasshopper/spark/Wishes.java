// Which orders of a task set wait for a slot, until when, and which of them does an offer serve?
package io.grasshopper.spark;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.scheduler.TaskSetExcludelist;
import org.apache.spark.scheduler.TaskSetManager;

/** Each ends by being served, refused by the present state, or expired. Touched under the scheduler's lock only. */
final class Wishes {
  private final TaskSetManager set;
  private final TaskAttempts attempts;
  private final Control control;
  private final List<Wish> waiting = new ArrayList<>();

  Wishes(TaskSetManager set, TaskAttempts attempts, Control control) {
    this.set = set;
    this.attempts = attempts;
    this.control = control;
  }

  boolean isEmpty() {
    return waiting.isEmpty();
  }

  /** Accepts a wish; answers null, or why the present state forbids it. */
  String add(Wish wish) {
    String refusal = wish.isCopy ? refusalOfCopy(wish) : refusalOfRunNext(wish.index);
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
    long others = waiting.stream().filter(other -> other.isCopy && other.index == index).count();
    return attempts.running(index) - 1 + others >= control.maxCopies ? "above_clamp" : null;
  }

  private String refusalOfRunNext(int index) {
    if (attempts.hasEnded(index)) {
      return "task_ended";
    }
    return attempts.running(index) > 0 ? "already_running" : null;
  }

  /** Ends wishes that are overdue or have lost their object; answers the nanoseconds to the next end. */
  long endOverdue(long nowNanos) {
    long shortest = Long.MAX_VALUE;
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

  /** Drops all, as when the lease ends; the control plane hears of it unless the reason is empty. */
  void drop(String reason) {
    for (Wish wish : waiting) {
      if (!reason.isEmpty()) {
        control.loop.expired(wish.order, reason);
      }
    }
    waiting.clear();
  }

  /** Takes the wish that this offer serves; null for none. */
  Wish take(String executor, String host, boolean speculative, long nowNanos) {
    for (Iterator<Wish> each = waiting.iterator(); each.hasNext(); ) {
      Wish wish = each.next();
      if (isOver(wish, nowNanos)) {
        each.remove();
      } else if (wish.isDue(speculative) && wish.wants(host) && isAllowed(wish, executor, host)) {
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
    boolean running = attempts.running(wish.index) > 0;
    return wish.isCopy == running ? null : running ? "already_running" : "not_running";
  }

  private boolean isAllowed(Wish wish, String executor, String host) {
    TaskSetExcludelist excluded = Scala.orNull(set.taskSetExcludelistHelperOpt());
    if (excluded != null
        && (excluded.isNodeExcludedForTask(host, wish.index)
            || excluded.isExecutorExcludedForTask(executor, wish.index))) {
      return false;
    }
    return !wish.isCopy || !attempts.hasRunning(wish.index, executor, host);
  }
}
