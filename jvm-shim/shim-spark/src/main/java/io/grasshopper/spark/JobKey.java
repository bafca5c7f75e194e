// Which job, in the user's sense, does a Spark job belong to, and what did its user ask for?
package io.grasshopper.spark;

import io.grasshopper.core.Fact;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Properties;

/**
 * The SQL root execution, else the job group, else the Spark job; with the options set by local properties.
 *
 * <p>An option that cannot be read counts as the one that allows least, for it was meant to keep something back.
 */
final class JobKey {
  /** The local properties of a thread's jobs, under our prefix. */
  static final List<String> OPTIONS = Collections.unmodifiableList(Arrays.asList("weight", "copies.enabled", "mode"));
  private static final int MAX_WEIGHT = 1000;

  final String key;
  final boolean isSql;
  final boolean isStreaming;
  final int weight;
  final boolean copiesEnabled;
  /** The most this job's user allows: {@code off}, {@code shadow} or {@code control}. */
  final String mode;
  final String description;
  /** Options that cannot be read, in words; empty for none. */
  final String misread;

  private JobKey(Properties properties, int sparkJob) {
    String sql = text(properties, "spark.sql.execution.root.id", text(properties, "spark.sql.execution.id", ""));
    String group = text(properties, "spark.jobGroup.id", "");
    isSql = !sql.isEmpty();
    isStreaming = !text(properties, "sql.streaming.queryId", "").isEmpty();
    key = Fact.key(isSql ? "sql-" + sql : group.isEmpty() ? "job-" + sparkJob : "group-" + group);
    String parts = text(properties, "spark.grasshopper.weight", "1");
    String copies = text(properties, "spark.grasshopper.copies.enabled", "true").toLowerCase(Locale.ROOT);
    String wish = text(properties, "spark.grasshopper.mode", "control").toLowerCase(Locale.ROOT);
    weight = weight(parts);
    copiesEnabled = copies.equals("true");
    mode = wish.equals("control") || wish.equals("shadow") ? wish : "off";
    description = text(properties, "spark.job.description", "");
    misread = (parts.equals(Integer.toString(weight)) ? "" : " spark.grasshopper.weight=" + parts + " counts as " + weight + ";")
        + (copiesEnabled || copies.equals("false") ? "" : " spark.grasshopper.copies.enabled=" + copies + " counts as false;")
        + (mode.equals(wish) || wish.equals("off") ? "" : " spark.grasshopper.mode=" + wish + " counts as off;");
  }

  static JobKey of(Properties properties, int sparkJob) {
    return new JobKey(properties == null ? new Properties() : properties, sparkJob);
  }

  private static String text(Properties properties, String name, String otherwise) {
    String value = properties.getProperty(name);
    return value == null || value.isEmpty() ? otherwise : value;
  }

  private static int weight(String text) {
    try {
      return Math.min(MAX_WEIGHT, Math.max(1, Integer.parseInt(text)));
    } catch (NumberFormatException error) {
      return 1;
    }
  }
}
