// When does the ResourceManager tell the control plane about its queues?
package io.grasshopper.yarn;

import io.grasshopper.core.Settings;
import io.grasshopper.core.UnknownKeys;
import java.io.IOException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager;
import org.apache.hadoop.yarn.server.resourcemanager.monitor.SchedulingEditPolicy;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ResourceScheduler;
import org.apache.hadoop.yarn.util.YarnVersionInfo;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads the covered queues at each tick, on the monitor's own thread, and leaves the reading to the queue's link.
 *
 * <p>The network never holds a tick up. The keys are under {@code yarn.scheduler.grasshopper.}; {@code token} may be in a credential
 * provider. A ResourceManager on standby builds this object too and never calls {@link #editSchedule}, so nothing starts before.
 */
public final class GrasshopperEditPolicy implements SchedulingEditPolicy {
  private static final Logger LOG = LoggerFactory.getLogger(GrasshopperEditPolicy.class);
  private static final String PREFIX = "yarn.scheduler.grasshopper.";
  private static final List<String> KEYS = Arrays.asList(
      "server", "token", "mode", "enabled", "tick-ms", "timeout-ms", "plan-ttl-ms", "preemption", "token.file", "queue.capacity");
  private static final long MINUTE_MS = 60_000;

  private final Map<String, QueueLink> links = new HashMap<>();
  private Configuration configuration;
  private RMContext context;
  private ResourceScheduler scheduler;
  private Enforcement enforcement;
  private final Settings settings = new Settings(this::lookup);
  private boolean isEnabled;
  private boolean preempts;
  private long tickMs = 500;
  private long longestPlanNanos;

  @Override
  public void init(Configuration conf, RMContext rmContext, ResourceScheduler resourceScheduler) {
    configuration = conf;
    context = rmContext;
    scheduler = resourceScheduler;
    enforcement = new Enforcement(rmContext);
    try {
      String unknown = UnknownKeys.told(PREFIX, conf.getPropsWithPrefix(PREFIX).keySet(), KEYS);
      if (!unknown.isEmpty()) {
        LOG.warn("Grasshopper: {}", unknown);
      }
      if (settings.isSwitchedOff()) {
        LOG.info("Grasshopper is switched off by {}enabled or mode", PREFIX);
        return;
      }
      verify();
      LOG.info("Grasshopper {} is loaded for {}, at most {} by this ResourceManager",
          Shim.VERSION, settings.address(), settings.mode());
      isEnabled = true;
    } catch (IllegalArgumentException error) {
      LOG.warn("Grasshopper stays out of this ResourceManager; under {}: {}", PREFIX, error.getMessage());
    } catch (Exception | LinkageError error) {
      LOG.warn("Grasshopper stays out of this ResourceManager: {}", error.toString());
    }
  }

  /** @throws IllegalArgumentException that names all settings that cannot be read */
  void verify() {
    settings.verify(this::readTick, this::readPlanTtl, this::readPreemption);
  }

  private void readTick() {
    tickMs = settings.number("tick-ms", tickMs, 50, MINUTE_MS);
  }

  private void readPlanTtl() {
    longestPlanNanos = TimeUnit.MILLISECONDS.toNanos(settings.number("plan-ttl-ms", 5000, 100, MINUTE_MS));
  }

  long longestPlanNanos() {
    return longestPlanNanos;
  }

  private void readPreemption() {
    preempts = settings.flag("preemption", false);
  }

  /** The shims' common keys by the names they have here. An exchange is over before the next tick. */
  String lookup(String key) {
    switch (key) {
      case "token":
        return token();
      case "timeout":
      case "connect.timeout":
        return Long.toString(settings.number("timeout-ms", 300, Long.MIN_VALUE, tickMs));
      default:
        return configuration.get(PREFIX + key);
    }
  }

  private String token() {
    try {
      char[] token = configuration.getPassword(PREFIX + "token");
      return token == null ? null : new String(token);
    } catch (IOException error) {
      throw new IllegalArgumentException(PREFIX + "token cannot be read: " + error);
    }
  }

  @Override
  public void editSchedule() {
    if (isEnabled) {
      Shim.run("tick", this::tick);
    }
  }

  private void tick() {
    List<CoveredQueue> queues = CoveredQueue.of(scheduler);
    links.values().removeIf(QueueLink::isEnded);
    long clusterUnixMs = queues.size() == CoveredQueue.leaves(scheduler) ? ResourceManager.getClusterTimeStamp() : 0;
    for (CoveredQueue queue : queues) {
      QueueDemand demand = new QueueDemand(queue.slots(), queue.applications, context.getRMApps(), clusterUnixMs);
      links.computeIfAbsent(queue.path, path -> link(queue)).report(demand);
      if (queue.canHold()) {
        enforcement.dropReservations(queue);
        if (preempts) {
          enforcement.preempt(queue);
        }
      }
    }
  }

  private QueueLink link(CoveredQueue queue) {
    String cluster = configuration.get(YarnConfiguration.RM_CLUSTER_ID, configuration.get(YarnConfiguration.RM_ADDRESS));
    String version = "yarn " + YarnVersionInfo.getVersion();
    return new QueueLink(cluster + ":" + queue.path, queue.path, version, queue.canHold(), longestPlanNanos, settings);
  }

  @Override
  public long getMonitoringInterval() {
    return tickMs;
  }

  @Override
  public String getPolicyName() {
    return getClass().getSimpleName();
  }
}
