// Which executors start nothing more, and when does each of them go?
package io.grasshopper.spark;

import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.spark.scheduler.dynalloc.ExecutorMonitor;

/** Keeps tasks off executors, and has Spark remove each of them once it is idle. For Spark's allocation thread. */
final class Drain {
  /** So long after tasks were kept off an executor, Spark's own listeners have heard what its last one left there. */
  private static final long SETTLED_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final AllocationMembers spark;
  private final Control control;
  /** Since when tasks are kept off an executor. */
  private final Map<String, Long> sinceNanos = new HashMap<>();

  Drain(AllocationMembers spark, Control control) {
    this.spark = spark;
    this.control = control;
  }

  /** Drains what is held beyond so many executors, but none that anything would go with. */
  void downTo(int executors) {
    int held = 0;
    Map<String, Boolean> idleOfBare = new HashMap<>();
    for (Map.Entry<String, ExecutorMonitor.Tracker> each : spark.trackers.entrySet()) {
      ExecutorMonitor.Tracker tracker = each.getValue();
      if (AllocationMembers.isHeld(tracker)) {
        held++;
        if (spark.isBare(tracker)) {
          idleOfBare.put(each.getKey(), tracker.isIdle());
        }
      }
    }
    set(DrainOrder.first(idleOfBare, sinceNanos.keySet(), held - executors));
    dismissIdle();
  }

  /** From here on tasks are kept off none. */
  void end() {
    set(Collections.emptySet());
  }

  /** The same where Spark's own members cannot be relied on: their idle times stay as they are. */
  void abandon() {
    sinceNanos.clear();
  }

  private void set(Set<String> executors) {
    if (executors.equals(sinceNanos.keySet())) {
      return;
    }
    for (String id : new HashSet<>(sinceNanos.keySet())) {
      ExecutorMonitor.Tracker tracker = spark.trackers.get(id);
      if (!executors.contains(id)) {
        sinceNanos.remove(id);
        if (tracker != null) {
          tracker.updateTimeout();
        }
      }
    }
    long now = System.nanoTime();
    executors.forEach(id -> sinceNanos.putIfAbsent(id, now));
    control.draining = Collections.unmodifiableSet(new HashSet<>(executors));
  }

  /** Their idle time is over at once; Spark looks at the same ten times a second. */
  private void dismissIdle() {
    boolean any = false;
    for (Map.Entry<String, Long> each : sinceNanos.entrySet()) {
      ExecutorMonitor.Tracker tracker = spark.trackers.get(each.getKey());
      if (tracker != null && tracker.isIdle() && System.nanoTime() - each.getValue() >= SETTLED_NANOS) {
        tracker.timeoutAt_$eq(Long.MIN_VALUE);
        any = true;
      }
    }
    if (any) {
      spark.nextTimeout().set(Long.MIN_VALUE);
    }
  }
}
