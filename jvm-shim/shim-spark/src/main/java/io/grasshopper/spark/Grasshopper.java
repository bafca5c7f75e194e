// How does a user of Scala or Java bound jobs, and name their speculator? For what this thread starts from now on.
package io.grasshopper.spark;

import java.util.Collections;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.SparkContext;

/**
 * Sets the local properties of the calling thread that the shim reads, as {@code spark_listener} does from Python.
 *
 * <p>What is malformed or impossible is refused here, with an {@link IllegalArgumentException} that names the property.
 * A property that is set without this class, and cannot be read, counts as none.
 */
public final class Grasshopper {
  static final String DEADLINE = "spark.grasshopper.deadline";
  static final String ERROR_BOUND = "spark.grasshopper.error.bound";
  static final String SPECULATOR = "spark.grasshopper.speculator";
  private static final Pattern DURATION = Pattern.compile("([0-9]{1,18})([a-z]+)");
  private static final Map<String, Double> UNITS_MS = unitsMs();
  /** Shares are reported in parts per million. */
  private static final double MOST_UNDONE = 0.999999;

  private Grasshopper() {}

  /**
   * Jobs of this thread should end within this time, each from its own submission on.
   *
   * @param within a duration as Spark writes it, with a unit: ms, s, m or min, h, d, as in "90s"; at most 11574 days
   */
  public static void deadline(SparkContext context, String within) {
    context.setLocalProperty(DEADLINE, deadlineText(within));
  }

  /**
   * Jobs of this thread may leave this share of their input tasks to the last; none is left undone.
   *
   * @param share from 0, an exact job, to 0.999999
   */
  public static void errorBound(SparkContext context, double share) {
    context.setLocalProperty(ERROR_BOUND, shareText(share));
  }

  /** This speculator decides about copies of this thread's jobs, if the operator allows it. */
  public static void speculator(SparkContext context, String name) {
    context.setLocalProperty(SPECULATOR, nameText(name));
  }

  /** Jobs of this thread have no bound, and their pool's speculator. */
  public static void clear(SparkContext context) {
    context.setLocalProperty(DEADLINE, null);
    context.setLocalProperty(ERROR_BOUND, null);
    context.setLocalProperty(SPECULATOR, null);
  }

  static String deadlineText(String within) {
    Matcher parts = DURATION.matcher(within == null ? "" : within.trim().toLowerCase(Locale.ROOT));
    double millis = parts.matches() ? Long.parseLong(parts.group(1)) * UNITS_MS.getOrDefault(parts.group(2), 0.0) : 0;
    if (millis < 1 || millis > JobKey.MAX_DEADLINE_MS) {
      throw refused(DEADLINE, within, "a number with a unit (ms, s, m or min, h, d), as in \"90s\"; at most 11574d");
    }
    return (long) millis + "ms";
  }

  static String shareText(double share) {
    if (!(share >= 0 && share <= MOST_UNDONE)) {
      throw refused(ERROR_BOUND, Double.toString(share), "a share from 0 to " + MOST_UNDONE);
    }
    return String.format(Locale.ROOT, "%.6f", share);
  }

  static String nameText(String name) {
    if (name == null || name.isEmpty() || !JobKey.NAME.matcher(name).matches()) {
      throw refused(SPECULATOR, name, "one name of at most 64 characters, as in \"grass\"");
    }
    return name;
  }

  private static IllegalArgumentException refused(String property, String got, String want) {
    return new IllegalArgumentException(property + ": got " + got + ", want " + want);
  }

  private static Map<String, Double> unitsMs() {
    Map<String, Double> units = new HashMap<>();
    units.put("us", 0.001);
    units.put("ms", 1.0);
    units.put("s", 1e3);
    units.put("m", 60e3);
    units.put("min", 60e3);
    units.put("h", 3600e3);
    units.put("d", 86400e3);
    return Collections.unmodifiableMap(units);
  }
}
