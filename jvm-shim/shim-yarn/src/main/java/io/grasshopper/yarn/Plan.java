// What does the control plane want of each application right now?
package io.grasshopper.yarn;

import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.yarn.api.records.ApplicationId;

/**
 * The grants of all covered queues, immutable; who changes something publishes a new plan.
 *
 * <p>The current one is static, because {@code refreshQueues} builds new ordering policies, sometimes two at once. Each grant ends
 * by itself, so a control plane that falls silent leaves stock order behind without anybody's help.
 */
final class Plan {
  static final Plan NONE = new Plan(Collections.emptyMap(), 0);

  private static volatile Plan current = NONE;

  private final Map<ApplicationId, Grant> grants;
  private final Grant longest;
  private final long number;

  private Plan(Map<ApplicationId, Grant> grants, long number) {
    this.grants = grants;
    this.number = number;
    this.longest = grants.values().stream().max(Grant::compareByEnd).orElse(null);
  }

  static Plan current() {
    return current;
  }

  /** Publishes grants; those of other applications stay for as long as they live. */
  static synchronized void grant(Map<ApplicationId, Grant> more) {
    Map<ApplicationId, Grant> all = current.living();
    all.putAll(more);
    publish(all);
  }

  /** Takes back the grants of these applications. */
  static synchronized void withdraw(Collection<ApplicationId> applications) {
    Map<ApplicationId, Grant> all = current.living();
    all.keySet().removeAll(applications);
    publish(all);
  }

  static synchronized void withdrawAll() {
    publish(Collections.emptyMap());
  }

  private static void publish(Map<ApplicationId, Grant> all) {
    current = new Plan(all, current.number + 1);
  }

  boolean isNewerThan(Plan other) {
    return number > other.number;
  }

  /** The application's grant if it lives, else null. */
  Grant of(ApplicationId application, long nowNanos) {
    Grant grant = grants.get(application);
    return grant != null && grant.isLive(nowNanos) ? grant : null;
  }

  boolean isLive(long nowNanos) {
    return longest != null && longest.isLive(nowNanos);
  }

  private Map<ApplicationId, Grant> living() {
    long now = System.nanoTime();
    Map<ApplicationId, Grant> living = new HashMap<>(grants);
    living.values().removeIf(grant -> !grant.isLive(now));
    return living;
  }
}
