// What does the control plane hear of a leaf queue?
package io.grasshopper.yarn;

import io.grasshopper.core.Fact;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;

/** Builds {@code queue_demand}, and remembers which application each name in it means. */
final class QueueDemand {
  private static final int MOST_WEIGHT = 1000;
  private static final int MOST_TAGS = 20;
  private static final long MEGABYTE = 1 << 20;

  final Fact fact;
  final Map<String, ApplicationId> applications = new LinkedHashMap<>();

  /**
   * @param slots containers that the queue holds or has room for
   * @param apps what the ResourceManager knows of applications besides their scheduling
   * @param clusterUnixMs the ResourceManager's start, as in its applications' ids; 0 where some leaf queue is not covered
   */
  QueueDemand(long slots, List<QueuedApplication> readings, Map<ApplicationId, RMApp> apps, long clusterUnixMs) {
    List<Object> queued = new ArrayList<>();
    for (QueuedApplication application : readings) {
      RMApp app = apps.get(application.id());
      if (app != null) {
        String job = application.id().toString();
        queued.add(wire(job, application, app));
        applications.put(job, application.id());
      }
    }
    fact = Fact.timeless("queue_demand").with("slots", slots).with("applications", queued)
        .with("cluster_unix_ms", clusterUnixMs);
  }

  private static Map<String, Object> wire(String job, QueuedApplication application, RMApp app) {
    Map<String, Object> wire = new LinkedHashMap<>();
    wire.put("job", job);
    wire.put("name", Fact.text(app.getName()));
    wire.put("user", Fact.text(app.getUser()));
    wire.put("kind", Fact.text(app.getApplicationType()));
    wire.put("tags", tags(app));
    wire.put("weight", Math.max(1, Math.min(MOST_WEIGHT, application.weight)));
    wire.put("running", application.running);
    wire.put("pending", application.pending);
    wire.put("reserved", application.reserved.size());
    if (application.pending > 0) {
      wire.put("memory_bytes", application.ask.getMemorySize() * MEGABYTE);
      wire.put("cores", application.ask.getVirtualCores());
    }
    wire.put("attempt", application.attempt.getAttemptId());
    wire.put("age_ms", age(app));
    return wire;
  }

  private static List<Object> tags(RMApp app) {
    List<Object> tags = new ArrayList<>();
    app.getApplicationTags().stream().sorted().limit(MOST_TAGS).forEach(tag -> tags.add(Fact.text(tag)));
    return tags;
  }

  /** By the wall clock, because the ResourceManager keeps nothing else over its own restart; it only orders arrivals. */
  private static long age(RMApp app) {
    return Math.max(0, System.currentTimeMillis() - app.getSubmitTime());
  }
}
