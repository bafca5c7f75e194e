// What would this driver cost without the shim? Takes it out between two jobs, and puts it in again.
import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Field;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.AsyncEventQueue;
import org.apache.spark.scheduler.LiveListenerBus;
import org.apache.spark.scheduler.SparkListenerInterface;
import org.apache.spark.scheduler.TaskSchedulerImpl;

/** Out means: its listener hears nothing, and task sets stay Spark's own. For a driver with the plug-in, while no job runs. */
public final class ShimSwitch {
  private static final String QUEUE = "grasshopper";

  private final TaskSchedulerImpl scheduler;
  private final LiveListenerBus bus;
  private final Field builder;
  private final Object shims;
  private final Object stock;
  private final SparkListenerInterface listener;

  /** Of a driver in which the shim is attached. */
  public ShimSwitch(SparkContext context) throws ReflectiveOperationException {
    scheduler = (TaskSchedulerImpl) context.taskScheduler();
    bus = context.listenerBus();
    builder = field(TaskSchedulerImpl.class, "schedulableBuilder");
    shims = builder.get(scheduler);
    stock = field(shims.getClass(), "stock").get(shims);
    listener = listener();
  }

  private SparkListenerInterface listener() throws ReflectiveOperationException {
    for (Object queue : (Iterable<?>) field(LiveListenerBus.class, "queues").get(bus)) {
      if (((AsyncEventQueue) queue).name().equals(QUEUE)) {
        return ((AsyncEventQueue) queue).listeners().get(0);
      }
    }
    throw new IllegalStateException("the shim is not attached");
  }

  private static Field field(Class<?> owner, String name) throws NoSuchFieldException {
    Field field = owner.getDeclaredField(name);
    field.setAccessible(true);
    return field;
  }

  /** Puts the shim in, where it was taken out. */
  public void putIn() throws IllegalAccessException {
    bus.addToQueue(listener, QUEUE);
    put(shims);
  }

  /** Takes the shim out. */
  public void takeOut() throws IllegalAccessException {
    bus.removeListener(listener);
    put(stock);
  }

  private void put(Object chosen) throws IllegalAccessException {
    synchronized (scheduler) {
      builder.set(scheduler, chosen);
    }
  }

  /** Processor time of all threads of this process so far, collectors and compilers included. */
  public long cpuNanos() {
    return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
  }
}
