// Which attempts of a task run, and which of them may end?
package io.grasshopper.spark;

import java.util.HashSet;
import java.util.Set;
import org.apache.spark.scheduler.TaskInfo;
import org.apache.spark.scheduler.TaskSchedulerImpl;
import org.apache.spark.scheduler.TaskSetManager;

/** The attempts of one task set, and those of them that were told to die. Touched under the scheduler's lock only. */
final class TaskAttempts {
  private final TaskSchedulerImpl scheduler;
  private final TaskSetManager set;
  private final Set<Long> dying = new HashSet<>();

  TaskAttempts(TaskSchedulerImpl scheduler, TaskSetManager set) {
    this.scheduler = scheduler;
    this.set = set;
  }

  boolean hasEnded(int index) {
    return set.successful()[index];
  }

  int running(int index) {
    return set.copiesRunning()[index];
  }

  /** Remembers that an attempt was told to die; answers null, or why it must live. */
  String condemn(long attempt, int index) {
    int others = 0;
    for (Object each : Scala.list(set.taskAttempts()[index])) {
      TaskInfo info = (TaskInfo) each;
      if (info.running() && info.taskId() != attempt && !dying.contains(info.taskId())) {
        others++;
      }
    }
    if (others == 0 && !hasEnded(index)) {
      return "last_attempt";
    }
    dying.add(attempt);
    return null;
  }

  /** The attempt runs no more. */
  void ended(long attempt) {
    dying.remove(attempt);
  }

  /** Never two running attempts of a task on one host; where there is only one host, never on one executor. */
  boolean hasRunning(int index, String executor, String host) {
    boolean onlyHost = isOnlyHost();
    for (Object each : Scala.list(set.taskAttempts()[index])) {
      TaskInfo info = (TaskInfo) each;
      if (info.running() && (onlyHost ? info.executorId().equals(executor) : info.host().equals(host))) {
        return true;
      }
    }
    return false;
  }

  boolean isOnlyHost() {
    return scheduler.hostToExecutors().size() <= 1;
  }

  boolean isCopy(long attempt) {
    TaskInfo info = Scala.orNull(set.taskInfos().get(attempt));
    return info != null && info.speculative();
  }
}
