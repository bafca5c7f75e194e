// What does Spark's dynamic allocation look like to a test that has no cluster?
package io.grasshopper.spark;

import io.grasshopper.core.Guard;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.ExecutorAllocationClient;
import org.apache.spark.ExecutorAllocationManager;
import org.apache.spark.scheduler.SchedulerBackend;
import org.apache.spark.scheduler.dynalloc.ExecutorMonitor;

/** Spark's own objects, of which only these fields are filled: the user's bounds are 0 and 8, shuffles are tracked. */
final class Allocation implements AutoCloseable {
  final Control control = new Control(new Guard(() -> { }), null, null, 4);
  final ScheduledExecutorService thread = Executors.newSingleThreadScheduledExecutor();
  final ConcurrentHashMap<String, ExecutorMonitor.Tracker> executors = new ConcurrentHashMap<>();
  final scala.collection.mutable.HashMap<Object, Object> targets = new scala.collection.mutable.HashMap<>();
  final ExecutorMonitor monitor = bare(ExecutorMonitor.class);
  final ExecutorAllocationManager manager = bare(ExecutorAllocationManager.class);
  final ExecutorCap cap;
  /** Thrown where Spark is asked for other executors. */
  volatile Error fault;

  Allocation() {
    String prefix = "org$apache$spark$scheduler$dynalloc$ExecutorMonitor$$";
    set(monitor, prefix + "shuffleTrackingEnabled", true);
    set(monitor, prefix + "nextTimeout", new AtomicLong(Long.MAX_VALUE));
    set(monitor, "executors", executors);
    set(manager, "executorMonitor", monitor);
    set(manager, "executor", thread);
    set(manager, "maxNumExecutors", 8);
    set(manager, "numExecutorsTargetPerResourceProfileId", targets);
    set(manager, "org$apache$spark$ExecutorAllocationManager$$numLocalityAwareTasksPerResourceProfileId",
        new scala.collection.mutable.HashMap<>());
    targets.update(0, 8);
    Class<?>[] types = {SchedulerBackend.class, ExecutorAllocationClient.class};
    Object backend = Proxy.newProxyInstance(getClass().getClassLoader(), types, (proxy, method, arguments) -> asked());
    cap = ExecutorCap.orNull(() -> ExecutorCap.bounding(manager, (SchedulerBackend) backend, false, control));
  }

  /** For a test that knows this class by its name only. */
  static boolean isBounded() {
    try (Allocation allocation = new Allocation()) {
      return allocation.cap != null;
    }
  }

  private Object asked() {
    if (fault != null) {
      throw fault;
    }
    return true;
  }

  /** The user's own bound, or ours. */
  int most() {
    return (Integer) Scala.get(Scala.field(ExecutorAllocationManager.class, "maxNumExecutors"), manager);
  }

  void addBusyExecutor(String id) {
    executors.put(id, monitor.new Tracker(0));
  }

  @Override
  public void close() {
    thread.shutdownNow();
  }

  private static void set(Object target, String name, Object value) {
    Scala.set(Scala.field(target.getClass(), name), target, value);
  }

  /** An object whose constructor has not run: it would want a cluster. */
  @SuppressWarnings("unchecked")
  static <T> T bare(Class<T> type) {
    try {
      Class<?> unsafe = Class.forName("sun.misc.Unsafe");
      Field instance = unsafe.getDeclaredField("theUnsafe");
      instance.setAccessible(true);
      Method allocate = unsafe.getMethod("allocateInstance", Class.class);
      return (T) allocate.invoke(instance.get(null), type);
    } catch (ReflectiveOperationException error) {
      throw new IllegalStateException(error);
    }
  }
}
