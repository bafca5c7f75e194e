// How does an executor tell how far its tasks are?
package io.grasshopper.spark;

import io.grasshopper.core.Guard;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.TaskContext;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.util.TaskCompletionListener;

/** The executor half of the plug-in: one daemon thread reads the metrics of running tasks and sends those that changed. */
final class ProgressReporter implements ExecutorPlugin {
  static final String INTERVAL = "intervalMs";

  private final Guard guard = new Guard(() -> { });
  private final Map<Long, Watched> running = new ConcurrentHashMap<>();
  private volatile boolean stopped;

  @Override
  public void init(PluginContext context, Map<String, String> settings) {
    String interval = settings.get(INTERVAL);
    if (interval != null) {
      Thread thread = new Thread(() -> report(context, Long.parseLong(interval)), "grasshopper-progress");
      thread.setDaemon(true);
      thread.start();
    }
  }

  @Override
  public void onTaskStart() {
    guard.run("task start", () -> {
      TaskContext task = TaskContext.get();
      running.put(task.taskAttemptId(), new Watched(task));
      task.addTaskCompletionListener((TaskCompletionListener) ended -> running.remove(ended.taskAttemptId()));
    });
  }

  @Override
  public void shutdown() {
    stopped = true;
  }

  private void report(PluginContext context, long intervalMs) {
    while (!stopped && guard.isOn()) {
      try {
        Thread.sleep(intervalMs);
      } catch (InterruptedException error) {
        return;
      }
      guard.run("progress", () -> sendChanged(context));
    }
  }

  private void sendChanged(PluginContext context) {
    List<long[]> rows = new ArrayList<>();
    for (Watched task : running.values()) {
      long[] row = task.read();
      if (!Arrays.equals(row, task.lastSent)) {
        task.lastSent = row;
        rows.add(row);
      }
    }
    if (rows.isEmpty()) {
      return;
    }
    long[] message = new long[rows.size() * ProgressTable.ROW];
    for (int i = 0; i < rows.size(); i++) {
      System.arraycopy(rows.get(i), 0, message, i * ProgressTable.ROW, ProgressTable.ROW);
    }
    try {
      context.send(message);
    } catch (IOException error) {
      throw new IllegalStateException(error);
    }
  }

  private static final class Watched {
    private final TaskContext task;
    private long[] lastSent;

    Watched(TaskContext task) {
      this.task = task;
      this.lastSent = new long[] {task.taskAttemptId(), 0, 0, 0, 0};
    }

    long[] read() {
      task.taskMetrics().mergeShuffleReadMetrics();
      Volumes volumes = new Volumes(task.taskMetrics());
      return new long[] {
        task.taskAttemptId(), volumes.bytesRead, volumes.bytesWritten, volumes.recordsRead, volumes.recordsWritten
      };
    }
  }
}
