// How does a user attach? spark.plugins=io.grasshopper.spark.GrasshopperPlugin and spark.grasshopper.server.
package io.grasshopper.spark;

import java.util.Collections;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;
import org.slf4j.LoggerFactory;

/** The preferred way in: control from the first job on, progress straight from the executors, a clean end. */
public final class GrasshopperPlugin implements SparkPlugin {
  private static final String QUEUE = "grasshopper";

  @Override
  public DriverPlugin driverPlugin() {
    return new DriverHalf();
  }

  @Override
  public ExecutorPlugin executorPlugin() {
    return new ProgressReporter();
  }

  /** What the shim has cost and caught so far in this driver, as JSON: for benchmarks and the curious. */
  public static String status() {
    return Attachment.latestStatus();
  }

  private static final class DriverHalf implements DriverPlugin {
    private Attachment attachment;
    private SparkContext context;

    /** Here the listener bus exists and the scheduler does not; what is set now is read by what comes later. */
    @Override
    public Map<String, String> init(SparkContext sparkContext, PluginContext plugin) {
      context = sparkContext;
      try {
        attachment = Attachment.forPlugin(context.conf());
        if (attachment != null) {
          context.conf().setIfMissing("spark.python.task.killTimeout", "100ms");
          context.listenerBus().addToQueue(new Events(attachment), QUEUE);
          return Collections.singletonMap(ProgressReporter.INTERVAL, Integer.toString(attachment.progressIntervalMs()));
        }
      } catch (Exception | LinkageError error) {
        attachment = null;
        LoggerFactory.getLogger(GrasshopperPlugin.class).warn("Grasshopper stays out of this application", error);
      }
      return Collections.emptyMap();
    }

    /** Here everything exists, and no job can have been submitted. */
    @Override
    public void registerMetrics(String application, PluginContext plugin) {
      if (attachment != null) {
        attachment.install(context);
      }
    }

    @Override
    public Object receive(Object message) {
      if (attachment != null) {
        attachment.guard().run("progress", () -> attachment.host().progress().report((long[]) message));
      }
      return null;
    }

    @Override
    public void shutdown() {
      if (attachment != null) {
        attachment.stop();
      }
    }
  }
}
