// How far is each running attempt, by what its executor last said?
package io.grasshopper.spark;

import io.grasshopper.core.Fact;
import io.grasshopper.core.LiveState;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.scheduler.AccumulableInfo;
import org.apache.spark.scheduler.SparkListenerExecutorMetricsUpdate;
import scala.Tuple4;

/**
 * The newest totals of each attempt, and whether they have arrived.
 *
 * <p>An executor tells nothing of a task that stands still, so what an exchange lost has to be told again from here.
 *
 * <p>They come from our executor half; where only the listener is attached, from Spark's heartbeats.
 */
final class ProgressTable {
  /** A row of the executors' message: attempt, bytes read and written, records read and written, rows out, CPU time in ms. */
  static final int ROW = 7;

  private static final String[] COLUMNS = {
    "bytes_read", "bytes_written", "records_read", "records_written", "rows_out", "cpu_ms"
  };
  private static final long UNKNOWN = -1;
  private static final long STRAY_NANOS = 10_000_000_000L;
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

  private final Map<Long, Row> newest = new ConcurrentHashMap<>();
  private final List<Row> told = new ArrayList<>();
  private volatile boolean hasExecutorHalf;

  /** A message of our executor half. */
  void report(long[] rows) {
    hasExecutorHalf = true;
    long now = System.nanoTime();
    for (int at = 0; at + ROW <= rows.length; at += ROW) {
      newest.put(rows[at], new Row(Arrays.copyOfRange(rows, at + 1, at + ROW), now));
    }
  }

  void heartbeat(SparkListenerExecutorMetricsUpdate event) {
    if (hasExecutorHalf) {
      return;
    }
    long now = System.nanoTime();
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
      newest.put((Long) (Object) task._1(), new Row(totals, now));
    }
  }

  /** The columns of attempts that still run: of those whose totals have not arrived, or of all. For the sync loop's thread. */
  Map<String, Object> columns(LiveState live, long nowNanos, boolean all) {
    told.clear();
    Map<Long, Row> rows = new LinkedHashMap<>();
    for (Map.Entry<Long, Row> each : newest.entrySet()) {
      Row row = each.getValue();
      if (live.runningAttempt(each.getKey()) == null) {
        // A start may still be on its way through the queue.
        if (nowNanos - row.atNanos > STRAY_NANOS) {
          newest.remove(each.getKey(), row);
        }
      } else if (all || !row.hasArrived) {
        rows.put(each.getKey(), row);
        told.add(row);
      }
    }
    Map<String, Object> columns = new LinkedHashMap<>();
    if (rows.isEmpty()) {
      return columns;
    }
    columns.put("attempt", rows.keySet());
    columns.put("age_ms", rows.values().stream().mapToLong(row -> Math.max(0, nowNanos - row.atNanos) / 1_000_000).toArray());
    for (int i = 0; i < COLUMNS.length; i++) {
      int column = i;
      columns.put(COLUMNS[i], rows.values().stream().mapToLong(row -> Fact.amount(row.totals[column])).toArray());
    }
    return columns;
  }

  /** What {@link #columns} last answered has arrived. For the sync loop's thread. */
  void arrived() {
    told.forEach(row -> row.hasArrived = true);
    told.clear();
  }

  private static final class Row {
    final long[] totals;
    final long atNanos;
    boolean hasArrived;

    Row(long[] totals, long atNanos) {
      this.totals = totals;
      this.atNanos = atNanos;
    }
  }
}
