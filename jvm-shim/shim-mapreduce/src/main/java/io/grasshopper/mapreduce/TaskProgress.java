// What does a task say of itself with each status update?
package io.grasshopper.mapreduce;

import io.grasshopper.core.ProgressTable;
import org.apache.hadoop.mapreduce.Counter;
import org.apache.hadoop.mapreduce.CounterGroup;
import org.apache.hadoop.mapreduce.Counters;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormatCounter;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormatCounter;
import org.apache.hadoop.mapreduce.v2.api.records.TaskAttemptId;
import org.apache.hadoop.mapreduce.v2.api.records.TaskType;
import org.apache.hadoop.mapreduce.v2.app.job.event.TaskAttemptStatusUpdateEvent.TaskAttemptStatus;

/** Totals by Hadoop's own counters, which a task updates record by record. */
final class TaskProgress {
  private static final double MILLION = 1e6;
  private static final long UNKNOWN = -1;

  final ProgressTable table = new ProgressTable("progress_ppm", "bytes_read", "records_read", "records_written");

  void report(TaskAttemptStatus status) {
    if (status.counters == null) {
      return;
    }
    long claim = Math.round(Math.max(0, Math.min(1, status.progress)) * MILLION);
    Amounts amounts = Amounts.of(status.id, status.counters);
    table.report(TaskKey.attempt(status.id),
        new long[] {claim, amounts.bytesRead, amounts.recordsRead, amounts.recordsWritten});
  }

  /** What an attempt has read and written. */
  static final class Amounts {
    /** Of a map's input. A reduce has fetched all of its own before it reads any. */
    final long bytesRead;
    final long bytesWritten;
    final long recordsRead;
    final long recordsWritten;

    private Amounts(Counters counters, boolean isMap) {
      bytesRead = isMap ? value(counters, FileInputFormatCounter.BYTES_READ) : UNKNOWN;
      bytesWritten = value(counters, FileOutputFormatCounter.BYTES_WRITTEN);
      recordsRead = value(counters, isMap ? TaskCounter.MAP_INPUT_RECORDS : TaskCounter.REDUCE_INPUT_RECORDS);
      recordsWritten = value(counters, isMap ? TaskCounter.MAP_OUTPUT_RECORDS : TaskCounter.REDUCE_OUTPUT_RECORDS);
    }

    static Amounts of(TaskAttemptId attempt, Counters counters) {
      return new Amounts(counters, attempt.getTaskId().getTaskType() == TaskType.MAP);
    }

    /** Looking one up by its name would create it, in the ApplicationMaster's own counters. */
    private static long value(Counters counters, Enum<?> counter) {
      if (counters != null) {
        for (CounterGroup group : counters) {
          for (Counter each : group) {
            if (each.getName().equals(counter.name()) && group.getName().equals(counter.getDeclaringClass().getName())) {
              return each.getValue();
            }
          }
        }
      }
      return UNKNOWN;
    }
  }
}
