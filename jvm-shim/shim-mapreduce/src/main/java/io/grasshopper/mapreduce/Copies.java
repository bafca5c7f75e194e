// How is one more attempt of a task asked for, and when is that refused?
package io.grasshopper.mapreduce;

import io.grasshopper.core.Order;
import io.grasshopper.core.SyncLoop;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.v2.api.records.TaskAttemptId;
import org.apache.hadoop.mapreduce.v2.api.records.TaskAttemptState;
import org.apache.hadoop.mapreduce.v2.api.records.TaskId;
import org.apache.hadoop.mapreduce.v2.api.records.TaskState;
import org.apache.hadoop.mapreduce.v2.app.AppContext;
import org.apache.hadoop.mapreduce.v2.app.job.Job;
import org.apache.hadoop.mapreduce.v2.app.job.Task;
import org.apache.hadoop.mapreduce.v2.app.job.TaskAttempt;
import org.apache.hadoop.mapreduce.v2.app.job.event.TaskAttemptEvent;
import org.apache.hadoop.mapreduce.v2.app.job.event.TaskAttemptKillEvent;
import org.apache.hadoop.mapreduce.v2.app.job.event.TaskEvent;
import org.apache.hadoop.mapreduce.v2.app.job.event.TaskEventType;
import org.apache.hadoop.yarn.event.Event;
import org.apache.hadoop.yarn.event.EventHandler;

/**
 * A {@code T_ADD_SPEC_ATTEMPT} for a task that is not running fails the whole job, so the check and the event share the dispatcher's
 * thread, on which alone tasks change. All state here is confined to it.
 */
final class Copies {
  /** YARN is asked for a container, not for a host: the one to avoid may be the only one with room. */
  private static final int MOST_MOVES = 2;

  private final Configuration conf;
  private final AppContext context;
  private final SyncLoop loop;
  private final int most;
  private final Map<TaskAttemptId, Asked> asked = new HashMap<>();
  /** Orders whose copy was killed for being on a host to avoid, by task; the attempt that Hadoop starts in its place inherits them. */
  private final Map<TaskId, Asked> moving = new HashMap<>();

  /** @param most further attempts of a task at a time */
  Copies(Configuration conf, AppContext context, SyncLoop loop, int most) {
    this.conf = conf;
    this.context = context;
    this.loop = loop;
    this.most = most;
  }

  /** @param job null while there is none */
  void launch(Order order, Job job) {
    if (order.number("byte_offset", 0) > 0) {
      loop.refused(order.id(), "byte_offset_unsupported");
    } else if (job == null) {
      loop.refused(order.id(), "unknown_stage");
    } else {
      context.getEventHandler().handle(new Errand(job.getID(), context.getClock().getTime(), () -> launchNow(order, job)));
    }
  }

  private void launchNow(Order order, Job job) {
    try {
      launch(order, job.getTask(TaskKey.task(job.getID(), order.number("stage"), order.integer("index"))));
    } catch (RuntimeException | LinkageError error) {
      loop.refused(order.id(), "shim_error");
      throw error;
    }
  }

  private void launch(Order order, Task task) {
    String refusal = order.isOverdue(System.nanoTime()) ? "overdue" : refusal(task);
    if (refusal != null) {
      loop.refused(order.id(), refusal);
      return;
    }
    Set<TaskAttemptId> before = new HashSet<>(task.getAttempts().keySet());
    Copies.<TaskEvent>handler(task).handle(new TaskEvent(task.getID(), TaskEventType.T_ADD_SPEC_ATTEMPT));
    for (TaskAttemptId attempt : task.getAttempts().keySet()) {
      if (!before.contains(attempt)) {
        asked.put(attempt, new Asked(order.id(), order.expiresNanos(), new HashSet<>(order.list("avoid_hosts")), MOST_MOVES));
        return;
      }
    }
    loop.refused(order.id(), "not_running");
  }

  /** Hadoop's own tasks and attempts handle their events themselves. */
  @SuppressWarnings("unchecked")
  private static <T extends Event<?>> EventHandler<T> handler(Object of) {
    return (EventHandler<T>) of;
  }

  private String refusal(Task task) {
    if (task == null) {
      return "unknown_task";
    }
    if (!JobFacts.mayCopy(conf, TaskKey.stage(task.getID()))) {
      return "opted_out";
    }
    if (task.isFinished()) {
      return "task_ended";
    }
    if (task.getState() != TaskState.RUNNING) {
      return "not_running";
    }
    int live = 0;
    for (TaskAttempt attempt : task.getAttempts().values()) {
      live += attempt.isFinished() ? 0 : 1;
      Asked before = asked.get(attempt.getID());
      if (before != null && !attempt.isFinished() && System.nanoTime() - before.expiresNanos >= 0) {
        return "no_slot";
      }
    }
    if (task.getAttempts().values().stream().noneMatch(Copies::runs)) {
      return "not_running";
    }
    return live - 1 >= most ? "above_clamp" : null;
  }

  private static boolean runs(TaskAttempt attempt) {
    return attempt.getLaunchTime() > 0 && attempt.getFinishTime() == 0;
  }

  /**
   * An attempt begins in its container. Answers the order that asked for it, 0 for none; -1 where it is on a host to avoid, and
   * ends for another one in its place. On the dispatcher's thread.
   */
  long began(TaskAttempt attempt, Task task) {
    boolean hasRival = task.getState() == TaskState.RUNNING
        && task.getAttempts().values().stream().anyMatch(other -> runs(other) && !other.getID().equals(attempt.getID()));
    Asked mine = asked.remove(attempt.getID());
    if (mine == null) {
      Asked moved = moving.remove(task.getID());
      mine = hasRival ? moved : null;
    }
    if (mine == null) {
      return 0;
    }
    boolean isBeside = mine.avoidHosts.contains(attempt.getNodeId().getHost());
    if (!isBeside || !hasRival || mine.moves == 0 || attempt.getState() != TaskAttemptState.RUNNING) {
      return mine.order;
    }
    moving.put(task.getID(), new Asked(mine.order, mine.expiresNanos, mine.avoidHosts, mine.moves - 1));
    Copies.<TaskAttemptEvent>handler(attempt)
        .handle(new TaskAttemptKillEvent(attempt.getID(), "grasshopper: a copy belongs on another host", true));
    return -1;
  }

  /** A copy that has not begun. */
  private static final class Asked {
    final long order;
    /** From then on the control plane does not know of it any more, though it cannot be called back. */
    final long expiresNanos;
    final Set<Object> avoidHosts;
    /** How often it may still be moved. */
    final int moves;

    Asked(long order, long expiresNanos, Set<Object> avoidHosts, int moves) {
      this.order = order;
      this.expiresNanos = expiresNanos;
      this.avoidHosts = avoidHosts;
      this.moves = moves;
    }
  }
}
