// What does the control plane ask for, and until when is it worth doing?
package io.grasshopper.core;

import java.util.Collections;
import java.util.List;
import java.util.Map;

/** One order as received: its id, its kind, its fields by wire name, and its end on this process's monotonic clock. */
public final class Order {
  private final Map<?, ?> fields;
  private final long id;
  private final String type;
  private final String badField;
  private final long expiresNanos;

  /** @param fields with an id that the protocol allows; of the others anything may be wrong */
  Order(Map<?, ?> fields, long receivedNanos) {
    this.fields = fields;
    this.id = (Long) fields.get("order");
    this.type = fields.get("type") instanceof String ? (String) fields.get("type") : "";
    this.badField = Shape.ofOrder(type).badField(fields);
    this.expiresNanos = receivedNanos + (badField == null ? Reply.millisAsNanos(number("ttl_ms")) : 0);
  }

  /** Its id, used once by one control plane. */
  public long id() {
    return id;
  }

  /** The wire's name for this kind of order. */
  public String type() {
    return type;
  }

  /** The first field that is missing or not what the protocol allows, or null. A host sees no order that has one. */
  String badField() {
    return badField;
  }

  /** When it ends, by {@link System#nanoTime}; a minute after it came at the latest. */
  public long expiresNanos() {
    return expiresNanos;
  }

  /** Whether its time is over. */
  public boolean isOverdue(long nowNanos) {
    return nowNanos - expiresNanos >= 0;
  }

  /** A field that every order of this kind has. */
  public long number(String name) {
    return (Long) fields.get(name);
  }

  /** A field that may be left out. */
  public long number(String name, long otherwise) {
    return fields.get(name) == null ? otherwise : number(name);
  }

  /** A number for hosts that count in 32 bits; {@link Integer#MAX_VALUE} is something that none of them has. */
  public int integer(String name) {
    return (int) Math.min(number(name), Integer.MAX_VALUE);
  }

  /** The same for a field that may be left out. */
  public int integer(String name, int otherwise) {
    return fields.get(name) == null ? otherwise : integer(name);
  }

  /** A number of any kind, 0 where it is left out. */
  public double real(String name) {
    return fields.get(name) == null ? 0 : ((Number) fields.get(name)).doubleValue();
  }

  /** A text field, empty where it is left out. */
  public String text(String name) {
    return fields.get(name) == null ? "" : (String) fields.get(name);
  }

  /** A flag, false where it is left out. */
  public boolean flag(String name) {
    return Boolean.TRUE.equals(fields.get(name));
  }

  /** A list of names or numbers, empty where it is left out. */
  public List<?> list(String name) {
    return fields.get(name) == null ? Collections.emptyList() : (List<?>) fields.get(name);
  }
}
