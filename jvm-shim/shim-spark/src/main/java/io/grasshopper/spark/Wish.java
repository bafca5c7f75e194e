// What does an ordered copy that waits for a slot still want?
package io.grasshopper.spark;

import io.grasshopper.core.Order;
import java.util.HashSet;
import java.util.Set;

/** One accepted {@code launch_copy} that has not been served. */
final class Wish {
  final long order;
  final int index;
  /** The host to use, or empty. */
  final String host;
  final long expiresNanos;
  private final Set<Object> avoidHosts;
  private final boolean beforeWaiting;

  Wish(Order order) {
    this.order = order.id();
    this.index = order.integer("index");
    this.expiresNanos = order.expiresNanos();
    this.host = order.text("host");
    this.avoidHosts = new HashSet<>(order.list("avoid_hosts"));
    this.beforeWaiting = order.flag("before_waiting");
  }

  /** Whether it may be served in Spark's call for originals, or in the one for copies. */
  boolean isDue(boolean speculativeCall) {
    return speculativeCall || beforeWaiting;
  }

  boolean wants(String offeredHost) {
    return host.isEmpty() ? !avoidHosts.contains(offeredHost) : host.equals(offeredHost);
  }
}
