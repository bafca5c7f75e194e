// How do targets become fair shares under the FairScheduler?
package io.grasshopper.yarn;

import java.util.Collection;
import java.util.Comparator;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.function.Function;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FSAppAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.Schedulable;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.policies.FairSharePolicy;

/**
 * The stock fair policy, whose shares and order give way to the plan while that lives.
 *
 * <p>An application's share becomes what its master and its target of containers take, which the FairScheduler's own preemption then
 * enforces where it is switched on. There are no caps here: whoever asks is served once the others have their targets.
 */
public final class GrasshopperFairPolicy extends FairSharePolicy {
  @Override
  public String getName() {
    return "grasshopper";
  }

  @Override
  public void computeShares(Collection<? extends Schedulable> schedulables, Resource total) {
    super.computeShares(schedulables, total);
    Shim.run("shares", () -> {
      Plan plan = Plan.current();
      if (plan.isLive(System.nanoTime())) {
        follow(plan, schedulables, total);
      }
    });
  }

  private static void follow(Plan plan, Collection<? extends Schedulable> schedulables, Resource total) {
    long now = System.nanoTime();
    long sum = 0;
    for (Schedulable schedulable : schedulables) {
      Grant grant = schedulable instanceof FSAppAttempt ? plan.of(((FSAppAttempt) schedulable).getApplicationId(), now) : null;
      if (grant != null) {
        schedulable.setFairShare(Resource.newInstance(share((FSAppAttempt) schedulable, grant.target), 0));
      }
      sum += schedulable.getFairShare().getMemorySize();
    }
    if (sum > total.getMemorySize()) {
      double scale = (double) total.getMemorySize() / sum;
      for (Schedulable schedulable : schedulables) {
        long share = (long) (schedulable.getFairShare().getMemorySize() * scale);
        schedulable.setFairShare(Resource.newInstance(share, 0));
      }
    }
  }

  /** Megabytes of the master and of so many containers as it asks for, or else holds; the stock share where it has neither. */
  private static long share(FSAppAttempt attempt, int target) {
    QueuedApplication application = QueuedApplication.read(attempt);
    long master = attempt.getAMResource().getMemorySize();
    if (application.pending > 0) {
      return master + target * application.ask.getMemorySize();
    }
    if (application.running > 0) {
      return master + target * ((attempt.getResourceUsage().getMemorySize() - master) / application.running);
    }
    return attempt.getFairShare().getMemorySize();
  }

  @Override
  public Comparator<Schedulable> getComparator() {
    Comparator<Schedulable> stock = super.getComparator();
    return Shim.get("fair order", stock, () -> {
      Plan plan = Plan.current();
      return plan.isLive(System.nanoTime()) ? hungryFirst(plan, stock) : stock;
    });
  }

  /** Asked once for each pass over a queue, in which an application that was hungry stays so; one that cannot be read is not. */
  private static Comparator<Schedulable> hungryFirst(Plan plan, Comparator<Schedulable> stock) {
    Map<Schedulable, Boolean> hungry = new IdentityHashMap<>();
    Function<Schedulable, Boolean> read =
        schedulable -> Shim.get("fair order", false, () -> isHungry(plan, schedulable));
    return (one, other) -> {
      boolean first = hungry.computeIfAbsent(one, read);
      boolean second = hungry.computeIfAbsent(other, read);
      if (first != second) {
        return first ? -1 : 1;
      }
      return stock.compare(one, other);
    };
  }

  private static boolean isHungry(Plan plan, Schedulable schedulable) {
    if (!(schedulable instanceof FSAppAttempt)) {
      return false;
    }
    FSAppAttempt attempt = (FSAppAttempt) schedulable;
    Grant grant = plan.of(attempt.getApplicationId(), System.nanoTime());
    return grant != null && Holdings.executors(attempt) < grant.target;
  }
}
