// How does an executor tell how far its tasks are?
package io.grasshopper.spark;

import io.grasshopper.core.Guard;
import java.io.IOException;
import java.util.Arrays;
import java.util.LinkedHashMap;
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
  private final Map<Long, WatchedTask> running = new ConcurrentHashMap<>();
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
      running.put(task.taskAttemptId(), new WatchedTask(task));
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
    Map<WatchedTask, long[]> rows = new LinkedHashMap<>();
    for (WatchedTask task : running.values()) {
      long[] row = task.moved();
      if (row != null) {
        rows.put(task, row);
      }
    }
    if (rows.isEmpty()) {
      return;
    }
    long[] message = rows.values().stream().flatMapToLong(Arrays::stream).toArray();
    try {
      context.send(message);
    } catch (IOException error) {
      throw new IllegalStateException(error);
    }
    rows.forEach(WatchedTask::sent);
  }
}
