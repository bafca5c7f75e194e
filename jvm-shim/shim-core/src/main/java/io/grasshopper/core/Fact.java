// How is one fact held between the moment it happens and the moment it is sent?
package io.grasshopper.core;

import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * One fact of the protocol: a type, its fields by wire name, and when it happened on this process's monotonic clock.
 *
 * <p>The age is worked out at the moment of sending, so a fact that waited or is sent again tells the truth.
 */
public final class Fact {
  /** The most tasks of a stage that the wire takes. */
  public static final int MAX_TASKS = 1_000_000;
  /** The most stages of a job that the wire takes, and the most pairs of them. */
  public static final int MAX_STAGES = 100_000;
  /** The longest age or duration that the wire takes. */
  public static final long MAX_AGE_MS = 1_000_000_000_000L;

  private static final long TIMELESS = Long.MIN_VALUE;
  private static final int MAX_TEXT = 1024;
  private static final int MAX_KEY = 256;
  private static final long MAX_AMOUNT = 1L << 53;
  private static final int MAX_COUNT = 1_000_000_000;

  private final String type;
  private final long atNanos;
  private final Map<String, Object> fields = new LinkedHashMap<>();
  private boolean isTold;

  private Fact(String type, long atNanos) {
    this.type = type;
    this.atNanos = atNanos;
  }

  /** A fact that happened at {@code atNanos} of {@link System#nanoTime}. */
  public static Fact at(String type, long atNanos) {
    return new Fact(type, atNanos);
  }

  /** A fact without an age. */
  public static Fact timeless(String type) {
    return new Fact(type, TIMELESS);
  }

  /** Adds a field: a number, boolean, string, map, collection or long array. */
  public Fact with(String name, Object value) {
    fields.put(name, value);
    return this;
  }

  /** Adds a name that identifies something: never empty, at most 256 characters. */
  public Fact withKey(String name, String value) {
    return with(name, key(value));
  }

  /** Adds free text: at most 1024 characters. */
  public Fact withText(String name, String value) {
    return with(name, text(value));
  }

  /** Adds an amount of bytes, records or milliseconds; one that cannot be is not known. */
  public Fact withAmount(String name, long value) {
    return with(name, amount(value));
  }

  /** The same with one more field, or with another value in it. */
  public Fact plus(String name, Object value) {
    Fact more = new Fact(type, atNanos);
    more.fields.putAll(fields);
    return more.with(name, value);
  }

  /** When it happened, by {@link System#nanoTime}. */
  public long atNanos() {
    return atNanos;
  }

  /** The wire's name for this kind of fact. */
  public String type() {
    return type;
  }

  /** One field's value, or null. */
  public Object get(String name) {
    return fields.get(name);
  }

  /** One integer field. */
  public long number(String name) {
    return ((Number) fields.get(name)).longValue();
  }

  /** The control plane has taken it in; of an end, a full report that repeats it says so. */
  void told() {
    isTold = true;
  }

  Map<String, Object> toWire(long nowNanos) {
    Map<String, Object> wire = new LinkedHashMap<>();
    wire.put("type", type);
    wire.putAll(fields);
    if (isTold && type.equals("attempt_ended")) {
      wire.put("told", true);
    }
    if (atNanos != TIMELESS) {
      wire.put("age_ms", Math.max(0, (nowNanos - atNanos) / 1_000_000));
    }
    return wire;
  }

  /** A name as the wire takes it. */
  public static String key(String value) {
    return value == null || value.isEmpty() ? "?" : cut(value, MAX_KEY);
  }

  /** Free text as the wire takes it. */
  public static String text(String value) {
    return value == null ? "" : cut(value, MAX_TEXT);
  }

  /** An amount as the wire takes it: -1 where others, such as a user's input split, have told one that cannot be. */
  public static long amount(long value) {
    return value < 0 || value > MAX_AMOUNT ? -1 : value;
  }

  /** A count as the wire takes it: what is beyond its most is not counted any more. */
  public static int count(long value) {
    return (int) Math.min(value, MAX_COUNT);
  }

  /** Cuts to length, never through a character of two halves, and replaces lone halves, which JSON cannot carry. */
  private static String cut(String text, int max) {
    String shorter = text.length() <= max ? text : text.substring(0, Character.isHighSurrogate(text.charAt(max - 1)) ? max - 1 : max);
    for (int i = 0; i < shorter.length(); i++) {
      if (Character.isSurrogate(shorter.charAt(i))) {
        return new String(shorter.getBytes(StandardCharsets.UTF_8), StandardCharsets.UTF_8);
      }
    }
    return shorter;
  }
}
