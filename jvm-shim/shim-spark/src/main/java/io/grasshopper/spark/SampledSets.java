// What does the shim cost? For the benchmark only: half of the task sets, drawn by a seed, stay stock.
package io.grasshopper.spark;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.scheduler.TaskSet;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Draws a coin per task set, and logs the CPU time the driver's scheduling threads and ours spent while it ran. */
final class SampledSets {
  private static final Logger LOG = LoggerFactory.getLogger(SampledSets.class);
  private static final String[] WATCHED = {"dag-scheduler-event-loop", "dispatcher-CoarseGrainedScheduler", "grasshopper"};

  private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
  private final long seed;
  private final Map<String, long[]> begun = new ConcurrentHashMap<>();

  SampledSets(long seed) {
    this.seed = seed;
  }

  boolean takes(TaskSet set) {
    boolean takes = new SplittableRandom(seed * 1_000_003 + set.stageId()).nextBoolean();
    begun.put(set.stageId() + "." + set.stageAttemptId(), new long[] {takes ? 1 : 0, System.nanoTime(), cpuNanos()});
    return takes;
  }

  void ended(String stage) {
    long[] start = begun.remove(stage);
    if (start != null) {
      LOG.info("grasshopper sample: stage={} swapped={} wall_us={} cpu_us={}",
          stage, start[0], (System.nanoTime() - start[1]) / 1000, (cpuNanos() - start[2]) / 1000);
    }
  }

  private long cpuNanos() {
    long total = 0;
    for (ThreadInfo thread : threads.getThreadInfo(threads.getAllThreadIds())) {
      for (String watched : WATCHED) {
        if (thread != null && thread.getThreadName().startsWith(watched)) {
          total += Math.max(0, threads.getThreadCpuTime(thread.getThreadId()));
        }
      }
    }
    return total;
  }
}
