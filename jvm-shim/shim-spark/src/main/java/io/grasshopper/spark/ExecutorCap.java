// How does a driver do with fewer executors than Spark's dynamic allocation would hold?
package io.grasshopper.spark;

import java.lang.reflect.Field;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.apache.spark.ExecutorAllocationClient;
import org.apache.spark.ExecutorAllocationManager;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SchedulerBackend;
import org.apache.spark.scheduler.dynalloc.ExecutorMonitor;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lowers what Spark's {@link ExecutorAllocationManager} asks for, keeps tasks off the executors beyond it, and has Spark
 * remove each of them as idle as soon as it is.
 *
 * <p>Spark itself removes them, by its own checks and on its own thread, where all of this runs. Never one with a running
 * task, with cached blocks or with shuffle output that is still tracked: such an executor stays in use. The user's least
 * number of executors stays, too. Where Spark has not what this needs, executors are left alone, and the rest of the shim goes on.
 */
final class ExecutorCap {
  private static final Logger LOG = LoggerFactory.getLogger(ExecutorCap.class);
  private static final long LOOK_MS = 100;
  /** So long after tasks were kept off an executor, Spark's own listeners have heard what its last one left there. */
  private static final long SETTLED_NANOS = TimeUnit.SECONDS.toNanos(1);
  private static final Integer DEFAULT_PROFILE = 0;

  private final ExecutorAllocationManager manager;
  private final ExecutorAllocationClient client;
  private final Control control;
  private final Field most;
  private final Field shuffles;
  private final Map<String, ExecutorMonitor.Tracker> trackers;
  private final ScheduledExecutorService thread;
  private final Integer usersMost;
  private final Integer usersLeast;
  /** Since when tasks are kept off an executor; for Spark's thread. */
  private final Map<String, Long> drainingSince = new HashMap<>();
  private volatile Limit limit;
  private ScheduledFuture<?> looking;
  private boolean isMisfit;

  private static final class Limit {
    final int executors;
    final long endNanos;

    Limit(int executors, long endNanos) {
      this.executors = executors;
      this.endNanos = endNanos;
    }
  }

  @SuppressWarnings("unchecked")
  private ExecutorCap(ExecutorAllocationManager manager, ExecutorAllocationClient client, Control control) {
    this.manager = manager;
    this.client = client;
    this.control = control;
    most = Scala.field(ExecutorAllocationManager.class, "maxNumExecutors");
    shuffles = Scala.field(ExecutorMonitor.Tracker.class, "shuffleIds");
    trackers = (Map<String, ExecutorMonitor.Tracker>) Scala.get(
        Scala.field(ExecutorMonitor.class, "executors"), manager.executorMonitor());
    thread = (ScheduledExecutorService) Scala.get(Scala.field(ExecutorAllocationManager.class, "executor"), manager);
    usersMost = (Integer) Scala.get(most, manager);
    usersLeast = (Integer) Scala.get(Scala.field(ExecutorAllocationManager.class, "minNumExecutors"), manager);
    touchMembers();
  }

  /** A member that this Spark has not is missed here. An executor that nobody knows of has no effect. */
  private void touchMembers() {
    ExecutorMonitor.Tracker nobody = manager.executorMonitor().new Tracker(DEFAULT_PROFILE);
    isHeld(nobody);
    isBare(nobody);
    nobody.isIdle();
    nobody.timeoutAt_$eq(Long.MAX_VALUE);
    nobody.updateTimeout();
    nextTimeout();
    manager.numExecutorsTargetPerResourceProfileId();
    localTasks();
    manager.org$apache$spark$ExecutorAllocationManager$$rpIdToHostToLocalTaskCount();
  }

  /** Null where executors are allocated statically, where Spark does not track what would be lost with them, or does not fit. */
  static ExecutorCap of(SparkContext context, Control control) {
    return orNull(() -> bounding(
        Scala.orNull(context.executorAllocationManager()),
        context.schedulerBackend(),
        context.conf().getBoolean("spark.shuffle.service.enabled", false),
        control));
  }

  static ExecutorCap orNull(Supplier<ExecutorCap> cap) {
    try {
      return cap.get();
    } catch (RuntimeException | LinkageError error) {
      LOG.warn("Grasshopper leaves executors to this Spark alone", error);
      return null;
    }
  }

  static ExecutorCap bounding(ExecutorAllocationManager manager, SchedulerBackend client, boolean isServed, Control control) {
    return manager != null && (isServed || isTracked(manager.executorMonitor()))
        ? new ExecutorCap(manager, (ExecutorAllocationClient) client, control)
        : null;
  }

  private static boolean isTracked(ExecutorMonitor monitor) {
    return monitor.org$apache$spark$scheduler$dynalloc$ExecutorMonitor$$shuffleTrackingEnabled();
  }

  /** Holds from Spark's next look on, until that moment; false where this Spark has turned out not to fit. From any thread. */
  synchronized boolean lower(int executors, long endNanos) {
    if (isMisfit) {
      return false;
    }
    limit = new Limit(executors, endNanos);
    if (looking == null) {
      looking = thread.scheduleWithFixedDelay(this::look, 0, LOOK_MS, TimeUnit.MILLISECONDS);
    }
    return true;
  }

  /** Gives the user's own bounds back with Spark's next look. From any thread. */
  void lift() {
    limit = null;
  }

  private void look() {
    Limit held = limit;
    boolean isLive = held != null && control.guard.isOn() && System.nanoTime() - held.endNanos < 0;
    try {
      synchronized (manager) {
        if (isLive && manager.numExecutorsTargetPerResourceProfileId().size() == 1) {
          shrinkTo(Math.max(usersLeast, Math.min(usersMost, held.executors)));
        } else {
          giveBack();
          drain(Collections.emptySet());
        }
      }
    } catch (VirtualMachineError error) {
      end(false);
      control.guard.caught("executors", error);
      return;
    } catch (LinkageError error) {
      end(true);
      LOG.warn("Grasshopper leaves executors to this Spark alone from here on", error);
      return;
    } catch (Throwable error) {
      control.guard.caught("executors", error);
    }
    if (!isLive) {
      rest(held);
    }
  }

  private void giveBack() {
    control.draining = Collections.emptySet();
    Scala.set(most, manager, usersMost);
  }

  /** Nobody would look again: the executor service drops what has thrown. */
  private synchronized void end(boolean forGood) {
    giveBack();
    drainingSince.clear();
    isMisfit = forGood;
    rest(limit);
  }

  private synchronized void rest(Limit ended) {
    if (limit == ended) {
      limit = null;
      looking.cancel(false);
      looking = null;
    }
  }

  private void shrinkTo(int executors) {
    Scala.set(most, manager, executors);
    scala.collection.mutable.HashMap<Object, Object> targets = manager.numExecutorsTargetPerResourceProfileId();
    if ((Integer) targets.apply(DEFAULT_PROFILE) > executors) {
      targets.update(DEFAULT_PROFILE, executors);
      client.requestTotalExecutors(
          Scala.immutable(targets),
          Scala.immutable(localTasks()),
          manager.org$apache$spark$ExecutorAllocationManager$$rpIdToHostToLocalTaskCount());
    }
    int held = 0;
    Map<String, Boolean> idleOfBare = new HashMap<>();
    for (Map.Entry<String, ExecutorMonitor.Tracker> each : trackers.entrySet()) {
      ExecutorMonitor.Tracker tracker = each.getValue();
      if (isHeld(tracker)) {
        held++;
        if (isBare(tracker)) {
          idleOfBare.put(each.getKey(), tracker.isIdle());
        }
      }
    }
    drain(DrainOrder.first(idleOfBare, drainingSince.keySet(), held - executors));
    dismissIdle();
  }

  private scala.collection.mutable.HashMap<Object, Object> localTasks() {
    return manager.org$apache$spark$ExecutorAllocationManager$$numLocalityAwareTasksPerResourceProfileId();
  }

  private AtomicLong nextTimeout() {
    return manager.executorMonitor().org$apache$spark$scheduler$dynalloc$ExecutorMonitor$$nextTimeout();
  }

  private static boolean isHeld(ExecutorMonitor.Tracker tracker) {
    return !tracker.pendingRemoval() && !tracker.decommissioning();
  }

  /** Whether nothing that anybody may still read would go with the executor. */
  private boolean isBare(ExecutorMonitor.Tracker tracker) {
    scala.collection.mutable.HashSet<?> tracked = (scala.collection.mutable.HashSet<?>) Scala.get(shuffles, tracker);
    return tracker.cachedBlocks().isEmpty() && (tracked == null || tracked.isEmpty());
  }

  private void drain(Set<String> executors) {
    if (executors.equals(drainingSince.keySet())) {
      return;
    }
    for (String id : new HashSet<>(drainingSince.keySet())) {
      ExecutorMonitor.Tracker tracker = trackers.get(id);
      if (!executors.contains(id)) {
        drainingSince.remove(id);
        if (tracker != null) {
          tracker.updateTimeout();
        }
      }
    }
    long now = System.nanoTime();
    executors.forEach(id -> drainingSince.putIfAbsent(id, now));
    control.draining = Collections.unmodifiableSet(new HashSet<>(executors));
  }

  /** Their idle time is over at once; Spark looks at the same ten times a second. */
  private void dismissIdle() {
    boolean any = false;
    for (Map.Entry<String, Long> each : drainingSince.entrySet()) {
      ExecutorMonitor.Tracker tracker = trackers.get(each.getKey());
      if (tracker != null && tracker.isIdle() && System.nanoTime() - each.getValue() >= SETTLED_NANOS) {
        tracker.timeoutAt_$eq(Long.MIN_VALUE);
        any = true;
      }
    }
    if (any) {
      nextTimeout().set(Long.MIN_VALUE);
    }
  }
}
