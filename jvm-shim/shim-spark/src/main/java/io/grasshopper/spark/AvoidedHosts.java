// Which hosts do originals stay off, and when do they take them all the same?
package io.grasshopper.spark;

import io.grasshopper.core.Order;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.IntSupplier;

/** What the control plane said last; it ends by itself. */
final class AvoidedHosts {
  static final AvoidedHosts NONE = new AvoidedHosts(Collections.emptyMap(), 0, 0);

  private final Map<String, Integer> waves;
  private final long patienceNanos;
  private final long endNanos;

  AvoidedHosts(Map<String, Integer> waves, long patienceNanos, long endNanos) {
    this.waves = waves;
    this.patienceNanos = patienceNanos;
    this.endNanos = endNanos;
  }

  /** @param order with a number of waves for each host */
  static AvoidedHosts of(Order order) {
    Map<String, Integer> waves = new HashMap<>();
    Iterator<?> each = order.list("waves").iterator();
    for (Object host : order.list("hosts")) {
      waves.put((String) host, ((Number) each.next()).intValue());
    }
    return new AvoidedHosts(waves, TimeUnit.MILLISECONDS.toNanos(order.number("patience_ms")), order.expiresNanos());
  }

  boolean isEmpty() {
    return waves.isEmpty();
  }

  /** Whether the list of hosts to avoid has expired. */
  boolean isOver(long nowNanos) {
    return !isEmpty() && nowNanos - endNanos >= 0;
  }

  long nanosToEnd(long nowNanos) {
    return isEmpty() ? Long.MAX_VALUE : endNanos - nowNanos;
  }

  /** Whether a launch on this host is no sign that waiting for another one helps. */
  boolean names(String host) {
    return waves.containsKey(host);
  }

  /**
   * Whether an original had better wait than start on this host.
   *
   * @param idleNanos since its task set launched anything on another: once it has waited in vain, it takes every slot
   */
  boolean has(String host, JobShare share, IntSupplier waiting, long idleNanos, long nowNanos) {
    Integer enough = waves.get(host);
    return enough != null && nowNanos - endNanos < 0 && idleNanos < patienceNanos && share.isShortOf(enough, waiting);
  }
}
