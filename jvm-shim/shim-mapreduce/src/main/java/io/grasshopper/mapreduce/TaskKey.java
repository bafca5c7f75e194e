// How are tasks and attempts named on the wire?
package io.grasshopper.mapreduce;

import org.apache.hadoop.mapreduce.v2.api.records.JobId;
import org.apache.hadoop.mapreduce.v2.api.records.TaskAttemptId;
import org.apache.hadoop.mapreduce.v2.api.records.TaskId;
import org.apache.hadoop.mapreduce.v2.api.records.TaskType;
import org.apache.hadoop.mapreduce.v2.util.MRBuilderUtils;

/** Maps are stage 0, reduces stage 1; an attempt's number holds its stage, its task and its own number. */
final class TaskKey {
  static final long MAPS = 0;
  static final long REDUCES = 1;
  private static final int TASK_BITS = 24;
  private static final int ATTEMPT_BITS = 24;

  private TaskKey() {}

  static long stage(TaskId task) {
    return task.getTaskType() == TaskType.MAP ? MAPS : REDUCES;
  }

  static long attempt(TaskAttemptId attempt) {
    TaskId task = attempt.getTaskId();
    return ((stage(task) << TASK_BITS) + task.getId() << ATTEMPT_BITS) + attempt.getId();
  }

  /** The task of a stage, whether or not there is one. */
  static TaskId task(JobId job, long stage, int index) {
    return MRBuilderUtils.newTaskId(job, index, stage == MAPS ? TaskType.MAP : TaskType.REDUCE);
  }
}
