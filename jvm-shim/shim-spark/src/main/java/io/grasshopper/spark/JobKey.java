// Which job, in the user's sense, does a Spark job belong to, and what did its user ask for?
package io.grasshopper.spark;

import io.grasshopper.core.Fact;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Properties;
import java.util.regex.Pattern;
import org.apache.spark.network.util.JavaUtils;

/**
 * The SQL root execution, else the job group, else the Spark job; with the options set by local properties.
 *
 * <p>An option that cannot be read counts as the one that allows least, for it was meant to keep something back.
 */
final class JobKey {
  /** The local properties of a thread's jobs, under our prefix. */
  static final List<String> OPTIONS = Collections.unmodifiableList(
      Arrays.asList("weight", "copies.enabled", "mode", "deadline", "error.bound", "late.job", "speculator"));
  /** What the key of an SQL execution begins with, before its id. */
  static final String SQL = "sql-";

  /** What the wire says for a job without a deadline. */
  private static final long NO_DEADLINE = -1;
  private static final int MAX_WEIGHT = 1000;
  static final long MAX_DEADLINE_MS = 1_000_000_000_000L;
  static final Pattern NAME = Pattern.compile("[^\\s,+]{0,64}");

  final String key;
  final boolean isSql;
  final boolean isStreaming;
  final int weight;
  final boolean copiesEnabled;
  /** The most this job's user allows: {@code off}, {@code shadow} or {@code control}. */
  final String mode;
  /** Milliseconds from the job's submission; -1 for none. */
  final long deadlineMs;
  /** Parts per million of its input tasks that may stay undone; 0 for an exact job. */
  final int errorBound;
  /** What becomes of it once it cannot meet its deadline: {@code keep}, {@code kill}, or empty for what the application says. */
  final String lateJob;
  /** The speculator that is to decide about it; empty for its pool's. */
  final String speculator;
  final String description;
  /** Options that cannot be read, in words; empty for none. */
  final String misread;

  private JobKey(Properties properties, int sparkJob) {
    String sql = text(properties, "spark.sql.execution.root.id", text(properties, "spark.sql.execution.id", ""));
    String group = text(properties, "spark.jobGroup.id", "");
    isSql = !sql.isEmpty();
    isStreaming = !text(properties, "sql.streaming.queryId", "").isEmpty();
    key = Fact.key(isSql ? SQL + sql : group.isEmpty() ? "job-" + sparkJob : "group-" + group);
    String parts = text(properties, "spark.grasshopper.weight", "1");
    String copies = text(properties, "spark.grasshopper.copies.enabled", "true").toLowerCase(Locale.ROOT);
    String wish = text(properties, "spark.grasshopper.mode", "control").toLowerCase(Locale.ROOT);
    String within = text(properties, "spark.grasshopper.deadline", "");
    String share = text(properties, "spark.grasshopper.error.bound", "0");
    String late = text(properties, "spark.grasshopper.late.job", "").toLowerCase(Locale.ROOT);
    String name = text(properties, "spark.grasshopper.speculator", "");
    weight = weight(parts);
    copiesEnabled = copies.equals("true");
    mode = wish.equals("control") || wish.equals("shadow") ? wish : "off";
    deadlineMs = deadlineMs(within);
    int bound = errorBound(share);
    errorBound = Math.max(0, bound);
    lateJob = late.isEmpty() || late.equals("kill") ? late : "keep";
    speculator = NAME.matcher(name).matches() ? name : "";
    description = text(properties, "spark.job.description", "");
    misread = misread(parts.equals(Integer.toString(weight)), "weight", parts, Integer.toString(weight))
        + misread(copiesEnabled || copies.equals("false"), "copies.enabled", copies, "false")
        + misread(mode.equals(wish), "mode", wish, "off")
        + misread(deadlineMs != NO_DEADLINE || within.isEmpty(), "deadline", within, "none")
        + misread(bound >= 0, "error.bound", share, "0")
        + misread(lateJob.equals(late), "late.job", late, "keep")
        + misread(speculator.equals(name), "speculator", name, "none");
  }

  static JobKey of(Properties properties, int sparkJob) {
    return new JobKey(properties == null ? new Properties() : properties, sparkJob);
  }

  private static String text(Properties properties, String name, String otherwise) {
    String value = properties.getProperty(name);
    return value == null || value.isEmpty() ? otherwise : value;
  }

  private static String misread(boolean isRead, String option, String value, String counted) {
    return isRead ? "" : " spark.grasshopper." + option + "=" + value + " counts as " + counted + ";";
  }

  private static int weight(String text) {
    try {
      return Math.min(MAX_WEIGHT, Math.max(1, Integer.parseInt(text)));
    } catch (NumberFormatException error) {
      return 1;
    }
  }

  /** As Spark reads durations: {@code 90s}, {@code 5min}; a bare number is milliseconds. */
  private static long deadlineMs(String text) {
    try {
      long millis = text.isEmpty() ? NO_DEADLINE : JavaUtils.timeStringAsMs(text);
      return millis < 1 || millis > MAX_DEADLINE_MS ? NO_DEADLINE : millis;
    } catch (NumberFormatException error) {
      return NO_DEADLINE;
    }
  }

  /** Below 0 for what is no share, or would leave nothing to do. */
  private static int errorBound(String text) {
    try {
      double millionths = Double.parseDouble(text) * 1e6;
      return millionths >= 0 && Math.round(millionths) < 1_000_000 ? (int) Math.round(millionths) : -1;
    } catch (NumberFormatException error) {
      return -1;
    }
  }
}
