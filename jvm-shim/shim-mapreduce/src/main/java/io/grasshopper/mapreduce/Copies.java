// How is one more attempt of a task asked for, and when is that refused?
package io.grasshopper.mapreduce;

import io.grasshopper.core.Order;
import io.grasshopper.core.SyncLoop;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.mapreduce.v2.api.records.TaskAttemptId;
import org.apache.hadoop.mapreduce.v2.api.records.TaskId;
import org.apache.hadoop.mapreduce.v2.api.records.TaskState;
import org.apache.hadoop.mapreduce.v2.app.AppContext;
import org.apache.hadoop.mapreduce.v2.app.job.Job;
import org.apache.hadoop.mapreduce.v2.app.job.Task;
import org.apache.hadoop.mapreduce.v2.app.job.TaskAttempt;
import org.apache.hadoop.mapreduce.v2.app.job.event.TaskAttemptKillEvent;
import org.apache.hadoop.mapreduce.v2.app.job.event.TaskEvent;
import org.apache.hadoop.mapreduce.v2.app.job.event.TaskEventType;
import org.apache.hadoop.yarn.event.EventHandler;

/**
 * Orders are carried out on the dispatcher's thread, where no task changes its state between the check and the event: a task that
 * does not run would fail its job for it. All else is of that thread, too.
 */
final class Copies {
  /** YARN is asked for a container, not for a host; one that nobody wants to wait for may be the only one with room. */
  private static final int MOST_MOVES = 2;

  private final AppContext context;
  private final SyncLoop loop;
  private final int most;
  private final Map<TaskAttemptId, Asked> asked = new HashMap<>();
  /** Copies that were on a host to avoid, by task: the attempt that Hadoop starts in the place of one takes its order over. */
  private final Map<TaskId, Asked> moving = new HashMap<>();

  /** @param most further attempts of a task at a time */
  Copies(AppContext context, SyncLoop loop, int most) {
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
      TaskId task = TaskKey.task(job.getID(), order.number("stage"), order.integer("index"));
      context.getEventHandler().handle(new Errand(job.getID(), context.getClock().getTime(), () -> launch(order, job.getTask(task))));
    }
  }

  private void launch(Order order, Task task) {
    String refusal = order.isOverdue(System.nanoTime()) ? "overdue" : refusal(task);
    if (refusal != null) {
      loop.refused(order.id(), refusal);
      return;
    }
    Set<TaskAttemptId> before = new HashSet<>(task.getAttempts().keySet());
    handler(task).handle(new TaskEvent(task.getID(), TaskEventType.T_ADD_SPEC_ATTEMPT));
    for (TaskAttemptId attempt : task.getAttempts().keySet()) {
      if (!before.contains(attempt)) {
        asked.put(attempt, new Asked(order.id(), new HashSet<>(order.list("avoid_hosts")), MOST_MOVES));
        return;
      }
    }
    loop.refused(order.id(), "not_running");
  }

  @SuppressWarnings("unchecked")
  private static EventHandler<TaskEvent> handler(Task task) {
    return (EventHandler<TaskEvent>) task;
  }

  private String refusal(Task task) {
    if (task == null) {
      return "unknown_task";
    }
    if (task.isFinished()) {
      return "task_ended";
    }
    if (task.getState() != TaskState.RUNNING) {
      return "not_running";
    }
    int waiting = 0;
    int live = 0;
    for (TaskAttempt attempt : task.getAttempts().values()) {
      live += attempt.isFinished() ? 0 : 1;
      waiting += !attempt.isFinished() && attempt.getLaunchTime() == 0 ? 1 : 0;
    }
    if (live == waiting) {
      return "not_running";
    }
    return live - 1 >= most ? "above_clamp" : null;
  }

  /**
   * An attempt begins in its container. Answers the order that asked for it, 0 for none; -1 where it is on a host to avoid, and
   * ends for another one in its place. On the dispatcher's thread.
   */
  long began(TaskAttemptId attempt, String host) {
    Asked mine = asked.remove(attempt);
    if (mine == null) {
      mine = moving.remove(attempt.getTaskId());
    }
    if (mine == null) {
      return 0;
    }
    if (mine.moves == 0 || !mine.avoidHosts.contains(host)) {
      return mine.order;
    }
    moving.put(attempt.getTaskId(), new Asked(mine.order, mine.avoidHosts, mine.moves - 1));
    context.getEventHandler().handle(new TaskAttemptKillEvent(attempt, "grasshopper: a copy belongs on another host", true));
    return -1;
  }

  /** A copy that has not begun. */
  private static final class Asked {
    final long order;
    final Set<Object> avoidHosts;
    /** How often it may still be moved. */
    final int moves;

    Asked(long order, Set<Object> avoidHosts, int moves) {
      this.order = order;
      this.avoidHosts = avoidHosts;
      this.moves = moves;
    }
  }
}
