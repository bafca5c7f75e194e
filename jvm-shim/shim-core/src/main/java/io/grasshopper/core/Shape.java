// What may a reply, a claim and each kind of order say? The bounds of the wire schema, field by field.
package io.grasshopper.core;

import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/**
 * The fields of one kind of object, with what each may hold; a field without a row is ignored.
 *
 * <p>docs/shim-protocol.schema.json says the same, and a test holds the two together.
 */
final class Shape {
  private static final Predicate<Object> COUNT = natural(1_000_000_000L);
  private static final Predicate<Object> AGE = natural(1_000_000_000_000L);
  private static final Predicate<Object> ID = natural(1L << 53);
  private static final Predicate<Object> KEY = text(1, 256);
  private static final Predicate<Object> TEXT = text(0, 1024);
  private static final Predicate<Object> NUMBER = Number.class::isInstance;
  private static final Predicate<Object> FLAG = Boolean.class::isInstance;
  private static final Predicate<Object> MODE = Arrays.asList("off", "shadow", "control")::contains;
  private static final Predicate<Object> OBJECTS = listOf(Map.class::isInstance);

  static final Shape REPLY = new Shape()
      .needs(COUNT, "protocol", "next_interval_ms").needs(ID, "plane_epoch", "acknowledged", "cycle").needs(MODE, "mode")
      .may(FLAG, "want_full").may(OBJECTS, "orders", "claims");
  static final Shape CLAIM = new Shape().needs(KEY, "job").needs(AGE, "lease_ms");
  static final Shape RING = new Shape().needs(COUNT, "protocol", "orders_waiting");

  private static final Map<String, Shape> ORDERS = new HashMap<>();

  static {
    ORDERS.put("launch_copy", order().needs(KEY, "job").needs(ID, "stage", "stage_attempt", "index")
        .may(TEXT, "host").may(listOf(KEY), "avoid_hosts").may(FLAG, "before_waiting").may(COUNT, "byte_offset"));
    ORDERS.put("run_next", order().needs(ID, "stage", "stage_attempt").needs(listOf(ID), "indices"));
    ORDERS.put("kill_attempt", order().needs(ID, "attempt", "stage", "stage_attempt", "index").may(TEXT, "reason"));
    ORDERS.put("stop_job", order().needs(KEY, "job").may(TEXT, "reason"));
    ORDERS.put("container_grant", order().needs(KEY, "job").needs(COUNT, "target").may(orNull(COUNT), "cap", "originals")
        .may(NUMBER, "precedence"));
    ORDERS.put("avoid_hosts", order().needs(AGE, "patience_ms").may(listOf(KEY), "hosts").may(listOf(COUNT), "waves"));
    ORDERS.put("cap_executors", order().may(orNull(COUNT), "executors"));
  }

  private static final class Row {
    final boolean isNeeded;
    final Predicate<Object> bounds;

    Row(boolean isNeeded, Predicate<Object> bounds) {
      this.isNeeded = isNeeded;
      this.bounds = bounds;
    }
  }

  private final Map<String, Row> rows = new LinkedHashMap<>();

  private Shape() {}

  /** Of an order; of a kind that a later protocol may have brought, what all orders have. */
  static Shape ofOrder(String type) {
    return ORDERS.getOrDefault(type, order());
  }

  private static Shape order() {
    return new Shape().needs(ID, "order").needs(AGE, "ttl_ms").needs(TEXT, "type");
  }

  private Shape needs(Predicate<Object> bounds, String... names) {
    return with(new Row(true, bounds), names);
  }

  private Shape may(Predicate<Object> bounds, String... names) {
    return with(new Row(false, bounds), names);
  }

  private Shape with(Row row, String... names) {
    for (String name : names) {
      rows.put(name, row);
    }
    return this;
  }

  /** The first field that is missing or out of its bounds; null where all is well. */
  String badField(Map<?, ?> fields) {
    for (Map.Entry<String, Row> each : rows.entrySet()) {
      Row row = each.getValue();
      boolean isThere = fields.containsKey(each.getKey());
      if (isThere ? !row.bounds.test(fields.get(each.getKey())) : row.isNeeded) {
        return each.getKey();
      }
    }
    return null;
  }

  private static Predicate<Object> natural(long most) {
    return value -> value instanceof Long && (Long) value >= 0 && (Long) value <= most;
  }

  private static Predicate<Object> text(int least, int most) {
    return value -> value instanceof String && isWithin(least, most, (String) value);
  }

  private static boolean isWithin(int least, int most, String text) {
    int characters = text.codePointCount(0, text.length());
    return characters >= least && characters <= most;
  }

  private static Predicate<Object> listOf(Predicate<Object> items) {
    return value -> value instanceof List && ((List<?>) value).stream().allMatch(items);
  }

  private static Predicate<Object> orNull(Predicate<Object> bounds) {
    return value -> value == null || bounds.test(value);
  }
}
