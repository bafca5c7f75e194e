// How does one leaf queue talk to the control plane, and how do its grants become the plan?
package io.grasshopper.yarn;

import io.grasshopper.core.Daemons;
import io.grasshopper.core.Fact;
import io.grasshopper.core.Host;
import io.grasshopper.core.Order;
import io.grasshopper.core.Settings;
import io.grasshopper.core.SyncLoop;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.yarn.api.records.ApplicationId;

/**
 * One source of the protocol: a queue, reported whole at each tick.
 *
 * <p>{@link #report} only leaves the latest reading behind; everything else runs on the sync loop's thread. A link that has had no
 * reading for a while ends by itself: its ResourceManager is on standby, or the queue is not covered any more.
 */
final class QueueLink implements Host {
  private static final long SILENCE_NANOS = TimeUnit.SECONDS.toNanos(10);

  private final SyncLoop loop;
  private final Fact attached;
  private final boolean canHold;
  private final long longestNanos;
  private final Map<ApplicationId, Grant> granted = new HashMap<>();
  private Map<String, ApplicationId> applications = Collections.emptyMap();
  private volatile long reportedNanos = System.nanoTime();
  private volatile boolean isEnded;

  /**
   * @param id the queue's name among all clusters
   * @param canHold whether a cap can be kept
   * @param longestNanos no grant lives longer, whatever the control plane says
   */
  QueueLink(String id, String path, String hostVersion, boolean canHold, long longestNanos, Settings settings) {
    this.loop = new SyncLoop("yarn", this, Shim.guard(), settings);
    this.canHold = canHold;
    this.longestNanos = longestNanos;
    Map<String, Object> capabilities = new LinkedHashMap<>();
    capabilities.put("max_copies", 0);
    capabilities.put("order_pending", true);
    capabilities.put("hold_slots", canHold);
    this.attached = Fact.timeless("driver_attached")
        .withKey("application", id)
        .withText("name", path)
        .withText("host_version", hostVersion)
        .withText("shim_version", Shim.VERSION)
        .with("mode", settings.mode())
        .with("capabilities", capabilities);
    loop.start(Fact.key(id), System.currentTimeMillis());
  }

  /** Leaves a reading for the next exchange, which begins now unless one is under way or failures ask for a pause. */
  void report(QueueDemand demand) {
    reportedNanos = System.nanoTime();
    loop.queue().offerUrgent(() -> {
      applications = demand.applications;
      loop.emit(demand.fact);
    });
  }

  boolean isEnded() {
    return isEnded;
  }

  @Override
  public Fact attached() {
    return attached;
  }

  @Override
  public void apply(Order order) {
    String refusal = grant(order);
    if (refusal == null) {
      loop.applied(order.id(), -1);
    } else {
      loop.refused(order.id(), refusal);
    }
  }

  private String grant(Order order) {
    if (!order.type().equals("container_grant")) {
      return "unknown_order";
    }
    ApplicationId application = applications.get(order.text("job"));
    if (application == null) {
      return "unknown_job";
    }
    int cap = order.integer("cap", Grant.NO_CAP);
    if (cap < Grant.NO_CAP && !canHold) {
      return "cap_unsupported";
    }
    long now = System.nanoTime();
    long endNanos = now + Math.min(order.expiresNanos() - now, longestNanos);
    granted.put(application, new Grant(order.integer("target"), cap, order.real("precedence"), endNanos));
    return null;
  }

  @Override
  public void settle() {
    if (!granted.isEmpty()) {
      Plan.grant(granted);
      granted.clear();
    }
  }

  /** Nobody speculates about containers, so there are no leases. */
  @Override
  public void leaseEnded(String job) {}

  @Override
  public void standDown(String reason) {
    granted.clear();
    Plan.withdraw(applications.values());
  }

  /** Grants end by themselves, where the scheduler reads them. */
  @Override
  public long endOverdue(long nowNanos) {
    return Long.MAX_VALUE;
  }

  @Override
  public Map<String, Object> progress(long nowNanos, boolean all) {
    if (!isEnded && nowNanos - reportedNanos > SILENCE_NANOS) {
      isEnded = true;
      Daemons.named("grasshopper-retire").newThread(() -> loop.stop("the queue is not reported any more")).start();
    }
    return Collections.emptyMap();
  }
}
