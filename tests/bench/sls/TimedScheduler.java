// What does one node update cost with the plug-in, and what without it?
package io.grasshopper.yarn;

import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.Field;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.AbstractLeafQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerApp;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEventType;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.policy.IteratorSelector;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.policy.OrderingPolicy;
import org.apache.hadoop.yarn.sls.scheduler.SLSCapacityScheduler;

/**
 * The simulator's CapacityScheduler; each node update draws one of four arms: the queue is ordered by the stock policy (0 and 1)
 * or by the plug-in over it (2 and 3). Two arms of each kind tell how far chance alone goes.
 *
 * <p>Only processor time of the thread that handles the update counts. What the plug-in misses while it is out it hears
 * afterwards, the stock policy sorts what has changed while it was not asked, and neither is timed.
 */
public final class TimedScheduler extends SLSCapacityScheduler {
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
  private static final int ARMS = 4;
  /** Held while the queue's policy is not the plug-in's own object; whoever reads the queue waits so long. */
  static final ReentrantLock IN_HAND = new ReentrantLock(true);

  private final Random chance = new Random(Long.getLong("bench.seed"));
  private final PrintStream rows = Rows.to("updates.csv");
  private final CountedPolicy counted = new CountedPolicy();
  private AbstractLeafQueue leaf;
  private Field place;
  private OrderingPolicy<FiCaSchedulerApp> plugin;
  private OrderingPolicy<FiCaSchedulerApp> stock;

  @Override
  public void propagatedHandle(SchedulerEvent event) {
    if (event.getType() != SchedulerEventType.NODE_UPDATE) {
      super.propagatedHandle(event);
      return;
    }
    IN_HAND.lock();
    try {
      find();
      measure(event, chance.nextInt(ARMS));
    } catch (ReflectiveOperationException error) {
      throw new IllegalStateException(error);
    } finally {
      IN_HAND.unlock();
    }
  }

  private void measure(SchedulerEvent event, int arm) throws ReflectiveOperationException {
    boolean isStock = arm < ARMS / 2;
    counted.begin(isStock ? stock : plugin);
    place.set(leaf, counted);
    long began = THREADS.getCurrentThreadCpuTime();
    super.propagatedHandle(event);
    long spent = THREADS.getCurrentThreadCpuTime() - began;
    place.set(leaf, plugin);
    rows.printf("%d,%d,%d,%d,%d%n", TimeUnit.NANOSECONDS.toMillis(System.nanoTime()), arm, counted.placed, counted.visited, spent);
    if (isStock) {
      counted.changed.forEach(application -> plugin.containerReleased(application, null));
    } else {
      stock.getAssignmentIterator(IteratorSelector.EMPTY_ITERATOR_SELECTOR);
    }
  }

  /** The queue's policy at the first update is the plug-in, and the stock policy is inside it. */
  @SuppressWarnings("unchecked")
  private void find() throws ReflectiveOperationException {
    if (leaf == null) {
      leaf = (AbstractLeafQueue) getQueue("default");
      place = field(AbstractLeafQueue.class, "orderingPolicy");
      plugin = (OrderingPolicy<FiCaSchedulerApp>) place.get(leaf);
      stock = (OrderingPolicy<FiCaSchedulerApp>) field(GrasshopperOrderingPolicy.class, "stock").get(plugin);
    }
  }

  private static Field field(Class<?> owner, String name) throws NoSuchFieldException {
    Field field = owner.getDeclaredField(name);
    field.setAccessible(true);
    return field;
  }
}
