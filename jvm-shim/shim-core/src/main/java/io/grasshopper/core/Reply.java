// What makes an answer of the control plane valid?
package io.grasshopper.core;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * One decoded reply. Whatever is not exactly a reply of our protocol version is an {@link IOException}.
 *
 * <p>So is one with a claim or an order's id that the protocol forbids, since nobody could be told of that. Any other field of an
 * order is the order's own affair: {@link Order#badField}.
 */
final class Reply {
  static final long PROTOCOL = 1;
  /** Nothing that a reply brings lasts longer, whatever it says. */
  static final long LONGEST_MS = 60_000;

  final long planeEpoch;
  final long acknowledged;
  final long cycle;
  final long nextIntervalMs;
  final String mode;
  final boolean wantFull;
  final List<Order> orders = new ArrayList<>();
  /** Lease in nanoseconds by job. */
  final Map<String, Long> claims = new LinkedHashMap<>();

  private Reply(Map<?, ?> fields, long receivedNanos) throws IOException {
    require(fields, Shape.REPLY, "");
    planeEpoch = (Long) fields.get("plane_epoch");
    acknowledged = (Long) fields.get("acknowledged");
    cycle = (Long) fields.get("cycle");
    nextIntervalMs = (Long) fields.get("next_interval_ms");
    mode = (String) fields.get("mode");
    wantFull = Boolean.TRUE.equals(fields.get("want_full"));
    for (Map<?, ?> order : objects(fields, "orders")) {
      if ("order".equals(Shape.ofOrder("").badField(order))) {
        throw malformed("orders.order");
      }
      orders.add(new Order(order, receivedNanos));
    }
    for (Map<?, ?> claim : objects(fields, "claims")) {
      require(claim, Shape.CLAIM, "claims.");
      claims.put((String) claim.get("job"), millisAsNanos((Long) claim.get("lease_ms")));
    }
  }

  static Reply decode(byte[] bytes, long receivedNanos) throws IOException {
    Object value = Json.read(bytes);
    if (!(value instanceof Map)) {
      throw new IOException("the reply is not an object");
    }
    Map<?, ?> fields = (Map<?, ?>) value;
    Object protocol = fields.get("protocol");
    if (protocol instanceof Long && (Long) protocol != PROTOCOL) {
      throw new IOException("the control plane speaks protocol " + protocol + ", this shim " + PROTOCOL);
    }
    return new Reply(fields, receivedNanos);
  }

  boolean isControl() {
    return "control".equals(mode);
  }

  static long millisAsNanos(long millis) {
    return Math.min(millis, LONGEST_MS) * 1_000_000;
  }

  static void require(Map<?, ?> fields, Shape shape, String prefix) throws IOException {
    String badField = shape.badField(fields);
    if (badField != null) {
      throw malformed(prefix + badField);
    }
  }

  private static IOException malformed(String field) {
    return new IOException("malformed answer: " + field + " is missing, or not what the protocol allows");
  }

  @SuppressWarnings("unchecked")
  private static List<Map<?, ?>> objects(Map<?, ?> fields, String name) {
    Object value = fields.get(name);
    return value == null ? Collections.emptyList() : (List<Map<?, ?>>) value;
  }
}
