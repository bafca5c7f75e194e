// How does the sync loop's thread come to Spark's scheduler lock?
package io.grasshopper.spark;

import java.util.function.Supplier;
import org.apache.spark.scheduler.TaskSchedulerImpl;

/** The only way to it from there, and on the meter. */
final class SchedulerLock {
  private final TaskSchedulerImpl scheduler;
  private final LockMeter meter;

  SchedulerLock(TaskSchedulerImpl scheduler, LockMeter meter) {
    this.scheduler = scheduler;
    this.meter = meter;
  }

  <T> T get(Supplier<T> body) {
    synchronized (scheduler) {
      long start = System.nanoTime();
      try {
        return body.get();
      } finally {
        meter.leave(start);
      }
    }
  }

  void run(Runnable body) {
    get(() -> {
      body.run();
      return null;
    });
  }
}
