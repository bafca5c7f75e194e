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
  private final long expiresNanos;

  Order(Map<?, ?> fields, long receivedNanos) {
    this.fields = fields;
    this.id = Reply.number(fields, "order");
    this.type = Reply.text(fields, "type");
    this.expiresNanos = receivedNanos + Reply.millisAsNanos(Reply.number(fields, "ttl_ms"));
  }

  /** Its id, used once by one control plane. */
  public long id() {
    return id;
  }

  /** The wire's name for this kind of order. */
  public String type() {
    return type;
  }

  /** When it ends, by {@link System#nanoTime}. */
  public long expiresNanos() {
    return expiresNanos;
  }

  /** Whether its time is over. */
  public boolean isOverdue(long nowNanos) {
    return nowNanos - expiresNanos >= 0;
  }

  /** A field that every order of this kind has. */
  public long number(String name) {
    return Reply.number(fields, name);
  }

  /** A field that may be left out. */
  public long number(String name, long otherwise) {
    return fields.get(name) == null ? otherwise : number(name);
  }

  /** A text field, empty where it is left out. */
  public String text(String name) {
    return fields.get(name) == null ? "" : Reply.text(fields, name);
  }

  /** A flag, false where it is left out. */
  public boolean flag(String name) {
    return Boolean.TRUE.equals(fields.get(name));
  }

  /** A list of names, empty where it is left out. */
  public List<?> list(String name) {
    Object value = fields.get(name);
    return value instanceof List ? (List<?>) value : Collections.emptyList();
  }
}
