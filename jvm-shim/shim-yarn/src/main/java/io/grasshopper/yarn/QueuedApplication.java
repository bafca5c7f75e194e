// What does one application hold and ask for at this moment?
package io.grasshopper.yarn;

import java.util.Collection;
import java.util.Collections;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplicationAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.PendingAsk;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FSAppAttempt;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.apache.hadoop.yarn.util.resource.Resources;

/** One reading of an application attempt; the master's container counts in none of its numbers. */
final class QueuedApplication {
  final ApplicationAttemptId attempt;
  final int weight;
  /** Live containers. */
  final int running;
  /** What they take together. */
  final Resource held;
  final Collection<RMContainer> reserved;
  /** Containers asked for besides. */
  final int pending;
  /** The largest container it asks for, or nothing. */
  final Resource ask;

  QueuedApplication(
      ApplicationAttemptId attempt, int weight, int running, Resource held, Collection<RMContainer> reserved, int pending,
      Resource ask) {
    this.attempt = attempt;
    this.weight = weight;
    this.running = running;
    this.held = held;
    this.reserved = reserved;
    this.pending = pending;
    this.ask = ask;
  }

  static QueuedApplication read(SchedulerApplicationAttempt attempt) {
    int pending = 0;
    Resource largest = Resources.none();
    boolean awaitsMaster = attempt.isWaitingForAMContainer();
    if (!awaitsMaster) {
      for (SchedulerRequestKey key : attempt.getSchedulerKeys()) {
        PendingAsk ask = attempt.getAppSchedulingInfo().getPendingAsk(key);
        if (ask.getCount() > 0) {
          pending += ask.getCount();
          largest = largest(largest, ask.getPerAllocationResource());
        }
      }
    }
    return new QueuedApplication(attempt.getApplicationAttemptId(), weight(attempt), Holdings.executors(attempt),
        Holdings.resources(attempt), awaitsMaster ? Collections.emptyList() : attempt.getReservedContainers(), pending, largest);
  }

  /** The FairScheduler's weight, or one more than the priority; the queue's rules bound both. */
  private static int weight(SchedulerApplicationAttempt attempt) {
    if (attempt instanceof FSAppAttempt) {
      return Math.round(((FSAppAttempt) attempt).getWeight());
    }
    return attempt.getPriority() == null ? 1 : 1 + attempt.getPriority().getPriority();
  }

  ApplicationId id() {
    return attempt.getApplicationId();
  }

  /** The least resource that has room for both; most often it is one of them. */
  static Resource largest(Resource one, Resource other) {
    if (Resources.fitsIn(other, one)) {
      return one;
    }
    return Resources.fitsIn(one, other) ? other : Resources.componentwiseMax(one, other);
  }
}
