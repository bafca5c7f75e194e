// How do the control plane's targets reorder task sets without touching the user's pools?
package io.grasshopper.spark;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.scheduler.Pool;
import org.apache.spark.scheduler.Schedulable;
import org.apache.spark.scheduler.TaskSetManager;
import scala.collection.mutable.ArrayBuffer;

/**
 * The one child of Spark's root pool; everything that was in the root is in here.
 *
 * <p>It has the root's own scheduling mode, so the order it hands out is the stock one, FIFO, FAIR and user-named pools included,
 * until a grant is live. Then the stock order is rearranged by {@link Turns}.
 */
final class TargetPool extends Pool {
  private final Pool root;
  private final Control control;

  TargetPool(Pool root, Control control) {
    super("grasshopper", root.schedulingMode(), 0, 1);
    this.root = root;
    this.control = control;
  }

  /** Takes over the root's children, and becomes its only one. Under the scheduler's lock. */
  void install() {
    runningTasks_$eq(root.runningTasks());
    adoptNewPools();
    root.addSchedulable(this);
  }

  /** Moves pools that Spark has added to the root meanwhile; by name they can still be found there, as the UI does. */
  void adoptNewPools() {
    for (Schedulable child : new ArrayList<>(root.schedulableQueue())) {
      if (child != this) {
        root.removeSchedulable(child);
        addSchedulable(child);
        if (child instanceof Pool) {
          root.schedulableNameToSchedulable().put(child.name(), child);
        }
      }
    }
  }

  @Override
  public ArrayBuffer<TaskSetManager> getSortedTaskSetQueue() {
    ArrayBuffer<TaskSetManager> sets = super.getSortedTaskSetQueue();
    if (!control.hasGrants()) {
      return sets;
    }
    long start = System.nanoTime();
    try {
      List<TaskSetManager> stock = new ArrayList<>();
      List<JobShare> shares = new ArrayList<>();
      for (int i = 0; i < sets.length(); i++) {
        TaskSetManager set = sets.apply(i);
        stock.add(set);
        shares.add(set instanceof OrderedTaskSet ? ((OrderedTaskSet) set).share() : null);
      }
      int[] order = Turns.arrange(shares, start);
      for (int i = 0; i < order.length; i++) {
        sets.update(i, stock.get(order[i]));
      }
    } catch (Throwable error) {
      control.guard.caught("targets", error);
    } finally {
      control.meter.leave(start);
    }
    return sets;
  }
}
