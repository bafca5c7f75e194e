// In which order are the jobs' task sets offered free slots while grants are live?
package io.grasshopper.spark;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/**
 * Jobs below their target first, then the others, both by precedence. Equal ones go by running / target, or by running / weight;
 * what is left of ties stays as stock has it.
 *
 * <p>The sets of one job stay together and in stock order. A job that stands before a hungry one stops at its target, so that
 * one round over many free slots cannot overshoot; what a hungry job then leaves is free for all, so no slot idles for it.
 */
final class Turns {
  private Turns() {}

  /**
   * @param shares the job share of each task set in stock order, null for a set that is not ours
   * @return indices into {@code shares}, in the new order
   */
  static int[] arrange(List<JobShare> shares, long nowNanos) {
    if (shares.size() == 1) {
      return only(shares.get(0));
    }
    Map<JobShare, Job> byShare = new IdentityHashMap<>();
    List<Job> jobs = new ArrayList<>();
    for (int i = 0; i < shares.size(); i++) {
      JobShare share = shares.get(i);
      Job job = share == null ? null : byShare.get(share);
      if (job == null) {
        job = new Job(share, nowNanos);
        jobs.add(job);
        if (share != null) {
          byShare.put(share, job);
        }
      }
      job.sets.add(i);
    }
    jobs.sort(Comparator.comparing((Job job) -> !job.hungry).thenComparingDouble(job -> job.precedence)
        .thenComparingDouble(job -> job.need));
    markYielding(jobs);
    int[] order = new int[shares.size()];
    int at = 0;
    for (Job job : jobs) {
      for (int set : job.sets) {
        order[at++] = set;
      }
    }
    return order;
  }

  /** Nobody else is there, as in most rounds, which come with every end of a task. */
  private static int[] only(JobShare share) {
    if (share != null) {
      share.setYieldsAtTarget(false);
    }
    return new int[1];
  }

  private static void markYielding(List<Job> jobs) {
    boolean hungryAfter = false;
    List<Job> lastFirst = new ArrayList<>(jobs);
    Collections.reverse(lastFirst);
    for (Job job : lastFirst) {
      if (job.share != null) {
        job.share.setYieldsAtTarget(hungryAfter);
      }
      hungryAfter |= job.hungry;
    }
  }

  private static final class Job {
    final JobShare share;
    final boolean hungry;
    final double precedence;
    final double need;
    final List<Integer> sets = new ArrayList<>();

    Job(JobShare share, long nowNanos) {
      this.share = share;
      this.hungry = share != null && share.isHungry(nowNanos);
      this.precedence = share == null ? 0 : share.precedence(nowNanos);
      this.need = share == null ? 0 : share.need(hungry);
    }
  }
}
