// How far is one running task? What its executor can tell of it at any moment.
package io.grasshopper.spark;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.TaskContext;
import org.apache.spark.util.AccumulatorV2;
import scala.collection.Seq;

/** Made on the task's own thread; read by another. */
final class WatchedTask {
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
  private static final long UNKNOWN = -1;
  private static final long CPU_STEP_MS = 100;
  private static final long NANOS_PER_MS = 1_000_000;

  private final TaskContext task;
  private final long thread = Thread.currentThread().getId();
  private final long cpuBefore = cpuNanos(thread);
  private final List<RowsOut.Metric> metrics = new ArrayList<>();
  private final List<AccumulatorV2<?, ?>> counters = new ArrayList<>();
  private int registered;
  private long[] lastRow;

  WatchedTask(TaskContext task) {
    this.task = task;
    this.lastRow = new long[] {task.taskAttemptId(), 0, 0, 0, 0, RowsOut.UNKNOWN, cpuBefore < 0 ? UNKNOWN : 0};
  }

  /** A row of {@link ExecutorProgress}, or null where nothing has moved since the last one that was sent. */
  long[] moved() {
    task.taskMetrics().mergeShuffleReadMetrics();
    Volumes volumes = new Volumes(task.taskMetrics());
    long[] row = {
      task.taskAttemptId(), volumes.bytesRead, volumes.bytesWritten, volumes.recordsRead, volumes.recordsWritten,
      rowsOut(volumes.recordsWritten), cpuMs()
    };
    return Arrays.equals(row, lastRow) ? null : row;
  }

  /** A row has been sent. */
  void sent(long[] row) {
    lastRow = row;
  }

  private long rowsOut(long recordsWritten) {
    findCounters();
    RowsOut rows = new RowsOut();
    for (int i = 0; i < counters.size(); i++) {
      Object value = counters.get(i).value();
      rows.next(metrics.get(i), value instanceof Long ? (Long) value : 0);
    }
    return rows.count() == RowsOut.UNKNOWN && recordsWritten > 0 ? recordsWritten : rows.count();
  }

  /** A task's counters arrive with its closure, some time after its start, and all but users' own at once. */
  private void findCounters() {
    Seq<?> all = (Seq<?>) Scala.call(task.taskMetrics(), "accumulators");
    if (all.size() == registered) {
      return;
    }
    registered = all.size();
    metrics.clear();
    counters.clear();
    for (Object each : Scala.list(all)) {
      AccumulatorV2<?, ?> counter = (AccumulatorV2<?, ?>) each;
      RowsOut.Metric metric = RowsOut.metric(Scala.orNull(counter.name()));
      if (metric != null) {
        metrics.add(metric);
        counters.add(counter);
      }
    }
  }

  /** In steps, so that a task that only waits has nothing to send. */
  private long cpuMs() {
    long now = cpuNanos(thread);
    return now < 0 || cpuBefore < 0 ? UNKNOWN : (now - cpuBefore) / NANOS_PER_MS / CPU_STEP_MS * CPU_STEP_MS;
  }

  private static long cpuNanos(long thread) {
    return THREADS.isThreadCpuTimeSupported() ? THREADS.getThreadCpuTime(thread) : UNKNOWN;
  }
}
