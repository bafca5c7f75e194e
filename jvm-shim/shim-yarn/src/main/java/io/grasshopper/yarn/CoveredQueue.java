// Which leaf queues are ours, what runs in them, and how many containers have room there?
package io.grasshopper.yarn;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.function.Predicate;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.nodelabels.RMNodeLabelsManager;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AbstractYarnScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ResourceScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ResourceUsage;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplicationAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CSQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FSLeafQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler;
import org.apache.hadoop.yarn.util.resource.ResourceCalculator;
import org.apache.hadoop.yarn.util.resource.Resources;

/** One reading of a leaf queue that one of our policies orders. */
final class CoveredQueue {
  final String path;
  final List<QueuedApplication> applications = new ArrayList<>();
  private final AbstractYarnScheduler<?, ?> scheduler;
  private final ResourceCalculator calculator;
  /** What the queue may still take of the cluster; a reservation takes nothing. */
  private final Resource headroom;
  /** What is reserved, which the scheduler counts against the queue's limit. */
  private final Resource reserved;

  private CoveredQueue(String path, AbstractYarnScheduler<?, ?> scheduler, ResourceCalculator calculator, Resource headroom,
      Resource reserved) {
    this.path = path;
    this.scheduler = scheduler;
    this.calculator = calculator;
    this.headroom = headroom;
    this.reserved = reserved;
    for (ApplicationAttemptId id : scheduler.getAppsInQueue(path)) {
      SchedulerApplicationAttempt attempt = scheduler.getApplicationAttempt(id);
      if (attempt != null && !attempt.isStopped()) {
        applications.add(QueuedApplication.read(attempt));
      }
    }
  }

  /** All covered queues under either scheduler; none under another one. */
  static List<CoveredQueue> of(ResourceScheduler scheduler) {
    List<CoveredQueue> covered = new ArrayList<>();
    if (scheduler instanceof CapacityScheduler) {
      CapacityScheduler capacity = (CapacityScheduler) scheduler;
      addLeaves(capacity.getQueue("root"), capacity, covered);
    } else if (scheduler instanceof FairScheduler) {
      FairScheduler fair = (FairScheduler) scheduler;
      for (FSLeafQueue leaf : fair.getQueueManager().getLeafQueues()) {
        if (leaf.getPolicy() instanceof GrasshopperFairPolicy) {
          Resource left = Resources.subtractNonNegative(leaf.getMaxShare(), leaf.getResourceUsage());
          covered.add(
              new CoveredQueue(leaf.getName(), fair, leaf.getPolicy().getResourceCalculator(), left, Resources.none()));
        }
      }
    }
    return covered;
  }

  /** Leaf queues, covered or not. */
  static int leaves(ResourceScheduler scheduler) {
    if (scheduler instanceof CapacityScheduler) {
      return leaves(((CapacityScheduler) scheduler).getQueue("root"));
    }
    return scheduler instanceof FairScheduler ? ((FairScheduler) scheduler).getQueueManager().getLeafQueues().size() : 0;
  }

  private static int leaves(CSQueue queue) {
    List<CSQueue> children = queue.getChildQueues();
    return children == null || children.isEmpty() ? 1 : children.stream().mapToInt(CoveredQueue::leaves).sum();
  }

  private static void addLeaves(CSQueue queue, CapacityScheduler scheduler, List<CoveredQueue> covered) {
    List<CSQueue> children = queue.getChildQueues();
    if (children != null && !children.isEmpty()) {
      for (CSQueue child : children) {
        addLeaves(child, scheduler, covered);
      }
    } else if (isOurs(queue)) {
      ResourceUsage usage = queue.getQueueResourceUsage();
      Resource reserved = Resources.clone(usage.getReserved());
      Resource left = Resources.subtractNonNegative(
          queue.getEffectiveMaxCapacity(RMNodeLabelsManager.NO_LABEL), Resources.subtract(usage.getUsed(), reserved));
      covered.add(
          new CoveredQueue(queue.getQueuePath(), scheduler, scheduler.getResourceCalculator(), left, reserved));
    }
  }

  /** By reflection, because the class that has the method is another one in 3.3 than in 3.4. */
  private static boolean isOurs(CSQueue queue) {
    try {
      Object policy = queue.getClass().getMethod("getOrderingPolicy").invoke(queue);
      return policy instanceof GrasshopperOrderingPolicy && ((GrasshopperOrderingPolicy<?>) policy).isEnabled();
    } catch (ReflectiveOperationException error) {
      return false;
    }
  }

  /** Whether an application may be left out although it asks: only under the CapacityScheduler. */
  boolean canHold() {
    return scheduler instanceof CapacityScheduler;
  }

  /** Containers that the queue holds or has room for. */
  long slots() {
    return room() + applications.stream().mapToLong(application -> application.running).sum();
  }

  /** Containers like the largest ask that both the queue and the nodes have room for; where nobody asks, like those that run. */
  long room() {
    Resource ask = largest(application -> application.ask);
    if (ask.getMemorySize() <= 0) {
      ask = largest(application -> calculator.divideAndCeil(application.held, Math.max(1, application.running)));
    }
    return ask.getMemorySize() <= 0 ? 0 : Math.min(fitting(calculator, headroom, ask), fittingOnNodes(ask, node -> true));
  }

  private Resource largest(Function<QueuedApplication, Resource> of) {
    return applications.stream().map(of).reduce(Resources.none(), QueuedApplication::largest);
  }

  /** Containers like this ask that nodes without a reservation have room for, where reservations leave the queue's limit none. */
  long barred(Resource ask) {
    if (fitting(calculator, Resources.subtractNonNegative(headroom, reserved), ask) > 0) {
      return 0;
    }
    return Math.min(fitting(calculator, headroom, ask), fittingOnNodes(ask, node -> node.getReservedContainer() == null));
  }

  /** Live containers of one of its applications, its master's not among them. */
  List<RMContainer> containers(QueuedApplication application) {
    SchedulerApplicationAttempt attempt = scheduler.getApplicationAttempt(application.attempt);
    List<RMContainer> containers = attempt == null ? new ArrayList<>() : new ArrayList<>(attempt.getLiveContainers());
    containers.removeIf(RMContainer::isAMContainer);
    return containers;
  }

  private long fittingOnNodes(Resource ask, Predicate<SchedulerNode> counts) {
    long fitting = 0;
    for (SchedulerNode node : scheduler.getNodeTracker().getAllNodes()) {
      if (node.getPartition().isEmpty() && counts.test(node)) {
        fitting += fitting(calculator, node.getUnallocatedResource(), ask);
      }
    }
    return fitting;
  }

  static long fitting(ResourceCalculator calculator, Resource room, Resource ask) {
    return Math.max(0, calculator.computeAvailableContainers(room, ask));
  }
}
