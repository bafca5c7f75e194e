// What of Spark's dynamic allocation is read and set, and does this Spark have it?
package io.grasshopper.spark;

import java.lang.reflect.Field;
import java.util.Map;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.ExecutorAllocationClient;
import org.apache.spark.ExecutorAllocationManager;
import org.apache.spark.scheduler.dynalloc.ExecutorMonitor;
import scala.collection.mutable.HashMap;

/**
 * Members of an {@link ExecutorAllocationManager} and of its monitor.
 *
 * <p>Bounds and targets are touched under the manager's lock.
 */
final class AllocationMembers {
  private static final Integer DEFAULT_PROFILE = 0;

  final ExecutorAllocationManager manager;
  /** Executors by id. */
  final Map<String, ExecutorMonitor.Tracker> trackers;
  /** The one on which Spark looks at them. */
  final ScheduledExecutorService thread;
  final Integer usersMost;
  final Integer usersLeast;
  private final ExecutorAllocationClient client;
  private final Field most;
  private final Field shuffles;

  @SuppressWarnings("unchecked")
  AllocationMembers(ExecutorAllocationManager manager, ExecutorAllocationClient client) {
    this.manager = manager;
    this.client = client;
    most = Scala.field(ExecutorAllocationManager.class, "maxNumExecutors");
    shuffles = Scala.field(ExecutorMonitor.Tracker.class, "shuffleIds");
    trackers = (Map<String, ExecutorMonitor.Tracker>) Scala.get(
        Scala.field(ExecutorMonitor.class, "executors"), manager.executorMonitor());
    thread = (ScheduledExecutorService) Scala.get(Scala.field(ExecutorAllocationManager.class, "executor"), manager);
    usersMost = (Integer) Scala.get(most, manager);
    usersLeast = (Integer) Scala.get(Scala.field(ExecutorAllocationManager.class, "minNumExecutors"), manager);
    touch();
  }

  /** A member that this Spark has not is missed here. An executor that nobody knows of has no effect. */
  private void touch() {
    ExecutorMonitor.Tracker nobody = manager.executorMonitor().new Tracker(DEFAULT_PROFILE);
    isHeld(nobody);
    isBare(nobody);
    nobody.isIdle();
    nobody.timeoutAt_$eq(Long.MAX_VALUE);
    nobody.updateTimeout();
    nextTimeout();
    targets();
    localTasks();
    manager.org$apache$spark$ExecutorAllocationManager$$rpIdToHostToLocalTaskCount();
  }

  static boolean isTracked(ExecutorMonitor monitor) {
    return monitor.org$apache$spark$scheduler$dynalloc$ExecutorMonitor$$shuffleTrackingEnabled();
  }

  boolean hasOneProfile() {
    return targets().size() == 1;
  }

  /** Spark asks for no more than these from here on. */
  void bound(Integer executors) {
    Scala.set(most, manager, executors);
  }

  /** What Spark has asked for beyond these, it asks for no longer. */
  void lowerTarget(int executors) {
    HashMap<Object, Object> targets = targets();
    if ((Integer) targets.apply(DEFAULT_PROFILE) > executors) {
      targets.update(DEFAULT_PROFILE, executors);
      client.requestTotalExecutors(
          Scala.immutable(targets),
          Scala.immutable(localTasks()),
          manager.org$apache$spark$ExecutorAllocationManager$$rpIdToHostToLocalTaskCount());
    }
  }

  private HashMap<Object, Object> targets() {
    return manager.numExecutorsTargetPerResourceProfileId();
  }

  private HashMap<Object, Object> localTasks() {
    return manager.org$apache$spark$ExecutorAllocationManager$$numLocalityAwareTasksPerResourceProfileId();
  }

  /** When Spark next looks for executors that have been idle for long enough. */
  AtomicLong nextTimeout() {
    return manager.executorMonitor().org$apache$spark$scheduler$dynalloc$ExecutorMonitor$$nextTimeout();
  }

  static boolean isHeld(ExecutorMonitor.Tracker tracker) {
    return !tracker.pendingRemoval() && !tracker.decommissioning();
  }

  /** Whether nothing that anybody may still read would go with the executor. */
  boolean isBare(ExecutorMonitor.Tracker tracker) {
    scala.collection.mutable.HashSet<?> tracked = (scala.collection.mutable.HashSet<?>) Scala.get(shuffles, tracker);
    return tracker.cachedBlocks().isEmpty() && (tracked == null || tracked.isEmpty());
  }
}
