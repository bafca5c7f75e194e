// Which of a stage's waiting originals goes first, as far as that was ordered?
package io.grasshopper.spark;

import io.grasshopper.core.Order;
import java.util.function.IntPredicate;

/** One {@code run_next}: task indices, the first first. It changes the order of what would start anyway. */
final class RunOrder {
  static final RunOrder NONE = new RunOrder(0, new int[0], 0);
  /** Waiting tasks that are looked at in one offer, which is made under the scheduler's lock. */
  private static final int MOST_LOOKED_AT = 100;

  final long order;
  final long expiresNanos;
  private final int[] indices;
  private int first;

  private RunOrder(long order, int[] indices, long expiresNanos) {
    this.order = order;
    this.indices = indices;
    this.expiresNanos = expiresNanos;
  }

  static RunOrder of(Order order) {
    int[] indices = order.list("indices").stream().mapToInt(each -> (int) Math.min((Long) each, Integer.MAX_VALUE)).toArray();
    return new RunOrder(order.id(), indices, order.expiresNanos());
  }

  boolean isWithin(int numTasks) {
    for (int index : indices) {
      if (index >= numTasks) {
        return false;
      }
    }
    return true;
  }

  boolean isOver(long nowNanos) {
    return first == indices.length || nowNanos - expiresNanos >= 0;
  }

  /** The first that waits and may start here; -1 for none. Those at the head that wait no more are forgotten. */
  int next(IntPredicate isWaiting, IntPredicate mayStart) {
    while (first < indices.length && !isWaiting.test(indices[first])) {
      first++;
    }
    int end = (int) Math.min(indices.length, (long) first + MOST_LOOKED_AT);
    for (int at = first; at < end; at++) {
      if (isWaiting.test(indices[at]) && mayStart.test(indices[at])) {
        return indices[at];
      }
    }
    return -1;
  }
}
