// What do executors say of their running attempts?
package io.grasshopper.spark;

import io.grasshopper.core.ProgressTable;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.scheduler.AccumulableInfo;
import org.apache.spark.scheduler.SparkListenerExecutorMetricsUpdate;
import scala.Tuple4;

/** Totals come from our executor half; where only the listener is attached, from Spark's heartbeats. */
final class ExecutorProgress {
  /** A row of the executors' message: attempt, bytes read and written, records read and written, rows out, CPU time in ms. */
  static final int ROW = 7;

  private static final long UNKNOWN = -1;
  private static final Map<String, Integer> COLUMN_BY_ACCUMULATOR = new HashMap<>();

  static {
    COLUMN_BY_ACCUMULATOR.put("internal.metrics.input.bytesRead", 1);
    COLUMN_BY_ACCUMULATOR.put("internal.metrics.output.bytesWritten", 2);
    COLUMN_BY_ACCUMULATOR.put("internal.metrics.input.recordsRead", 3);
    COLUMN_BY_ACCUMULATOR.put("internal.metrics.output.recordsWritten", 4);
    COLUMN_BY_ACCUMULATOR.put("internal.metrics.shuffle.read.remoteBytesRead", 5);
    COLUMN_BY_ACCUMULATOR.put("internal.metrics.shuffle.read.localBytesRead", 5);
    COLUMN_BY_ACCUMULATOR.put("internal.metrics.shuffle.read.recordsRead", 6);
    COLUMN_BY_ACCUMULATOR.put("internal.metrics.shuffle.write.bytesWritten", 7);
    COLUMN_BY_ACCUMULATOR.put("internal.metrics.shuffle.write.recordsWritten", 8);
  }

  /** Its columns are a row's but for the attempt. */
  final ProgressTable table =
      new ProgressTable("bytes_read", "bytes_written", "records_read", "records_written", "rows_out", "cpu_ms");
  private volatile boolean hasExecutorHalf;

  /** A message of our executor half. */
  void report(long[] rows) {
    hasExecutorHalf = true;
    for (int at = 0; at + ROW <= rows.length; at += ROW) {
      table.report(rows[at], Arrays.copyOfRange(rows, at + 1, at + ROW));
    }
  }

  void heartbeat(SparkListenerExecutorMetricsUpdate event) {
    if (hasExecutorHalf) {
      return;
    }
    for (Object each : Scala.list(Scala.call(event, "accumUpdates"))) {
      Tuple4<?, ?, ?, ?> task = (Tuple4<?, ?, ?, ?>) each;
      long[] sums = new long[9];
      RowsOut rows = new RowsOut();
      for (Object accumulable : Scala.list(task._4())) {
        AccumulableInfo info = (AccumulableInfo) accumulable;
        String name = Scala.orNull(info.name());
        Object update = Scala.orNull(info.update());
        Integer column = COLUMN_BY_ACCUMULATOR.get(name);
        RowsOut.Metric metric = RowsOut.metric(name);
        if (column != null && update instanceof Long) {
          sums[column] += (Long) update;
        } else if (metric != null && update instanceof Long) {
          rows.next(metric, (Long) update);
        }
      }
      boolean hasInput = sums[1] > 0 || sums[3] > 0;
      boolean hasOutput = sums[2] > 0 || sums[4] > 0;
      long[] totals = {
        hasInput ? sums[1] : sums[5], hasOutput ? sums[2] : sums[7], hasInput ? sums[3] : sums[6], hasOutput ? sums[4] : sums[8],
        rows.fromWorkers(), UNKNOWN
      };
      table.report((Long) (Object) task._1(), totals);
    }
  }
}
