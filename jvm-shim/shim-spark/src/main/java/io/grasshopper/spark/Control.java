// What do all hooks under the scheduler's lock share?
package io.grasshopper.spark;

import io.grasshopper.core.Guard;
import io.grasshopper.core.SyncLoop;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;

/** The shim's state beside Spark's scheduler. Everything mutable in here is touched under the scheduler's lock only. */
final class Control {
  final Guard guard;
  final SyncLoop loop;
  final SparkFacts facts;
  final int maxCopies;
  final LockMeter meter = new LockMeter();
  /** Task sets with an order that waits for a slot. */
  final Set<OrderedTaskSet> wishing = new LinkedHashSet<>();
  AvoidedHosts avoided = AvoidedHosts.NONE;
  private final Map<String, JobShare> shares = new HashMap<>();
  private int grants;

  Control(Guard guard, SyncLoop loop, SparkFacts facts, int maxCopies) {
    this.guard = guard;
    this.loop = loop;
    this.facts = facts;
    this.maxCopies = maxCopies;
  }

  JobShare share(JobKey job) {
    return shares.computeIfAbsent(job.key, key -> new JobShare(job.weight));
  }

  /** The share of a job that has submitted a task set, or null. */
  JobShare share(String job) {
    return shares.get(job);
  }

  void forget(String job) {
    JobShare share = shares.get(job);
    if (share != null) {
      clear(share);
      if (share.isOver()) {
        shares.remove(job);
      }
    }
  }

  void grant(JobShare share, int target, int cap, int originals, long endNanos) {
    grants += share.hasGrant() ? 0 : 1;
    share.grant(target, cap, originals, endNanos);
  }

  void clear(JobShare share) {
    grants -= share.hasGrant() ? 1 : 0;
    share.clear();
  }

  Collection<JobShare> shares() {
    return shares.values();
  }

  /** Without a grant anywhere, the stock order of task sets stands. */
  boolean hasGrants() {
    return grants > 0 && guard.isOn();
  }
}
