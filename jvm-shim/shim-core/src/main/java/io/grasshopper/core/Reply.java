// What makes an answer of the control plane valid?
package io.grasshopper.core;

import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** One decoded reply. Whatever is not exactly a reply of our protocol version is an {@link IOException}. */
final class Reply {
  static final long PROTOCOL = 1;
  private static final long LONGEST_MS = 24L * 3600 * 1000;

  final long planeEpoch;
  final long acknowledged;
  final long cycle;
  final long nextIntervalMs;
  final String mode;
  final boolean wantFull;
  final List<Order> orders = new ArrayList<>();
  /** Lease in nanoseconds by job. */
  final Map<String, Long> claims = new LinkedHashMap<>();

  private Reply(Map<?, ?> fields, long receivedNanos) {
    planeEpoch = number(fields, "plane_epoch");
    acknowledged = number(fields, "acknowledged");
    cycle = number(fields, "cycle");
    nextIntervalMs = number(fields, "next_interval_ms");
    mode = text(fields, "mode");
    wantFull = Boolean.TRUE.equals(fields.get("want_full"));
    for (Map<?, ?> order : objects(fields, "orders")) {
      orders.add(new Order(order, receivedNanos));
    }
    for (Map<?, ?> claim : objects(fields, "claims")) {
      claims.put(text(claim, "job"), millisAsNanos(number(claim, "lease_ms")));
    }
  }

  static Reply decode(byte[] bytes, long receivedNanos) throws IOException {
    Object value = Json.read(bytes);
    if (!(value instanceof Map)) {
      throw new IOException("the reply is not an object");
    }
    Map<?, ?> fields = (Map<?, ?>) value;
    try {
      long protocol = number(fields, "protocol");
      if (protocol != PROTOCOL) {
        throw new IOException("the control plane speaks protocol " + protocol + ", this shim " + PROTOCOL);
      }
      return new Reply(fields, receivedNanos);
    } catch (IllegalArgumentException error) {
      throw new IOException("malformed reply: " + error.getMessage());
    }
  }

  boolean isControl() {
    return "control".equals(mode);
  }

  static long number(Map<?, ?> fields, String name) {
    Object value = fields.get(name);
    if (value instanceof Long && (Long) value >= 0) {
      return (Long) value;
    }
    throw new IllegalArgumentException(name + " is not a natural number");
  }

  static String text(Map<?, ?> fields, String name) {
    Object value = fields.get(name);
    if (value instanceof String) {
      return (String) value;
    }
    throw new IllegalArgumentException(name + " is not text");
  }

  static long millisAsNanos(long millis) {
    return Math.min(millis, LONGEST_MS) * 1_000_000;
  }

  private static List<Map<?, ?>> objects(Map<?, ?> fields, String name) {
    List<Map<?, ?>> objects = new ArrayList<>();
    Object value = fields.get(name);
    if (value == null) {
      return objects;
    }
    if (!(value instanceof List)) {
      throw new IllegalArgumentException(name + " is not a list");
    }
    for (Object item : (List<?>) value) {
      if (!(item instanceof Map)) {
        throw new IllegalArgumentException(name + " holds something that is not an object");
      }
      objects.add((Map<?, ?>) item);
    }
    return objects;
  }
}
