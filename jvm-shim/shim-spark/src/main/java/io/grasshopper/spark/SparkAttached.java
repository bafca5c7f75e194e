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

  /** @param ordersPending false where the user asked for FIFO, which targets would overrule */
  static Fact fact(SparkContext context, String mode, int maxCopies, boolean ordersPending) {
    Map<String, Object> capabilities = new LinkedHashMap<>();
    capabilities.put("max_copies", maxCopies);
    capabilities.put("named_host", true);
    capabilities.put("kill_copy", true);
    capabilities.put("order_pending", ordersPending);
    capabilities.put("hold_slots", ordersPending);
    capabilities.put("avoid_hosts", true);
    capabilities.put("partial_result", false);
    capabilities.put("byte_offset", false);
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
        .withText("ui_url", uiUrl);
  }
}
