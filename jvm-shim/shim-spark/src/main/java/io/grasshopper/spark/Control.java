// What do all hooks under the scheduler's lock share?
package io.grasshopper.spark;

import io.grasshopper.core.Guard;
import io.grasshopper.core.SyncLoop;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;

/** The shim's state beside Spark's scheduler. Mutable; all but {@link #draining} is touched under the scheduler's lock only. */
final class Control {
  final Guard guard;
  final SyncLoop loop;
  final SparkFacts facts;
  final int maxCopies;
  final LockMeter meter = new LockMeter();
  /** Task sets with an order that waits for a slot. */
  final Set<OrderedTaskSet> wishing = new LinkedHashSet<>();
  AvoidedHosts avoided = AvoidedHosts.NONE;
  /**
   * Executors that are to start nothing, because they will go; barrier stages do not ask. Spark's allocation thread replaces it
   * as a whole, without that lock.
   */
  volatile Set<String> draining = Collections.emptySet();
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

  /** The job has ended; its share goes with the last of its attempts. */
  void jobEnded(String job) {
    JobShare share = shares.get(job);
    if (share != null) {
      clear(share);
      share.end();
      forgetIfOver(job, share);
    }
  }

  /** An attempt of the job has ended. */
  void attemptEnded(String job, JobShare share, boolean isCopy) {
    share.ended(isCopy);
    forgetIfOver(job, share);
  }

  private void forgetIfOver(String job, JobShare share) {
    if (share.isOver()) {
      clear(share);
      shares.remove(job, share);
    }
  }

  void grant(JobShare share, int target, int cap, int originals, double precedence, long endNanos) {
    grants += share.hasGrant() ? 0 : 1;
    share.grant(target, cap, originals, precedence, endNanos);
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
