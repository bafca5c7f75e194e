// How does a Spark driver introduce itself?
package io.grasshopper.spark;

import io.grasshopper.core.Fact;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.SparkContext;

/** Builds {@code driver_attached}. */
final class SparkAttached {
  /** As the jar's manifest has it. */
  static final String SHIM_VERSION = SparkAttached.class.getPackage().getImplementationVersion();

  private SparkAttached() {}

  /**
   * @param ordersPending false where the user asked for FIFO, which targets would overrule
   * @param capsExecutors false where executors are allocated statically, or this Spark cannot let them go
   */
  static Fact fact(SparkContext context, String mode, int maxCopies, boolean ordersPending, boolean capsExecutors) {
    Map<String, Object> capabilities = new LinkedHashMap<>();
    capabilities.put("max_copies", maxCopies);
    capabilities.put("named_host", true);
    capabilities.put("kill_copy", true);
    capabilities.put("order_pending", ordersPending);
    capabilities.put("hold_slots", ordersPending);
    capabilities.put("avoid_hosts", true);
    capabilities.put("cap_executors", capsExecutors);
    capabilities.put("stop_job", true);
    capabilities.put("byte_offset", false);
    int most = context.conf().getInt("spark.dynamicAllocation.maxExecutors", Integer.MAX_VALUE);
    String uiUrl = Scala.orNull(context.uiWebUrl());
    return Fact.timeless("driver_attached")
        .withKey("application", context.applicationId())
        .withText("name", context.appName())
        .withText("user", context.sparkUser())
        .withText("host_version", "spark " + context.version())
        .withText("shim_version", SHIM_VERSION)
        .with("mode", mode)
        .with("capabilities", capabilities)
        .with("stock_speculation", context.conf().getBoolean("spark.speculation", false))
        .with("executor_slots", executorSlots(context))
        .with("executor_limit", executorLimit(context.executorAllocationManager().isDefined(), most))
        .withText("ui_url", uiUrl);
  }

  /** As configured; 0 where executors take all cores of a worker. */
  private static long executorSlots(SparkContext context) {
    int cores = context.conf().getInt("spark.executor.cores", context.master().startsWith("yarn") ? 1 : 0);
    return (long) (cores / Double.parseDouble(context.conf().get("spark.task.cpus", "1")));
  }

  /** The most that dynamic allocation asks for, as far as the wire holds it; 0 where executors are allocated statically. */
  static int executorLimit(boolean isDynamic, int most) {
    return isDynamic ? Fact.count(most) : 0;
  }
}
