// Which application of a leaf queue gets the next container under the CapacityScheduler?
package io.grasshopper.yarn;

import java.util.Collection;
import java.util.Iterator;
import java.util.Map;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.policy.FairOrderingPolicy;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.policy.FifoOrderingPolicy;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.policy.IteratorSelector;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.policy.OrderingPolicy;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.policy.SchedulableEntity;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A stock ordering policy whose order gives way to the plan while that lives.
 *
 * <p>Set by {@code yarn.scheduler.capacity.<queue>.ordering-policy}; its own sub-keys are {@code .base} ({@code fifo} or {@code fair})
 * and {@code .enabled}, the other ones go to the stock policy. The scheduler's threads find everything in memory here: no I/O, and no
 * lock that is held for longer than it takes to move one application; the thread that meets a new plan first moves them all, one by
 * one. What fails is left to the stock policy.
 */
public final class GrasshopperOrderingPolicy<S extends SchedulableEntity> implements OrderingPolicy<S> {
  private static final Logger LOG = LoggerFactory.getLogger(GrasshopperOrderingPolicy.class);

  private final Holdings<S> holdings;
  private final InFlight inFlight;
  private final TargetOrder<S> order;
  private volatile OrderingPolicy<S> stock = new FifoOrderingPolicy<>();
  private volatile boolean isEnabled = true;

  /** For the scheduler, which knows the class by its name. */
  public GrasshopperOrderingPolicy() {
    this(Holdings.ofAttempts(), InFlight.SHARED);
  }

  GrasshopperOrderingPolicy(Holdings<S> holdings, InFlight inFlight) {
    this.holdings = holdings;
    this.inFlight = inFlight;
    this.order = new TargetOrder<>(holdings);
  }

  /** False where the queue's operator has switched us off. */
  boolean isEnabled() {
    return isEnabled && Shim.isOn();
  }

  @Override
  public void configure(Map<String, String> settings) {
    if ("fair".equalsIgnoreCase(settings.get("base"))) {
      stock = new FairOrderingPolicy<>();
    }
    isEnabled = !"false".equalsIgnoreCase(settings.get("enabled"));
    stock.configure(settings);
    LOG.info("A queue is ordered by {}", getInfo());
  }

  @Override
  public Iterator<S> getAssignmentIterator(IteratorSelector selector) {
    try {
      Plan plan = Plan.current();
      if (isEnabled() && plan.isLive(System.nanoTime())) {
        order.follow(plan);
        return new AssignmentTurns<>(order, holdings, inFlight, () -> stock.getAssignmentIterator(selector));
      }
    } catch (Throwable error) {
      Shim.caught("assignment", error);
    }
    return stock.getAssignmentIterator(selector);
  }

  @Override
  public void containerAllocated(S application, RMContainer container) {
    stock.containerAllocated(application, container);
    Shim.run("container allocated", () -> {
      inFlight.committed(holdings.id(application));
      order.update(application);
    });
  }

  @Override
  public void containerReleased(S application, RMContainer container) {
    stock.containerReleased(application, container);
    Shim.run("container released", () -> order.update(application));
  }

  @Override
  public void addSchedulableEntity(S application) {
    stock.addSchedulableEntity(application);
    Shim.run("application added", () -> order.add(application));
  }

  @Override
  public void addAllSchedulableEntities(Collection<S> applications) {
    stock.addAllSchedulableEntities(applications);
    Shim.run("applications added", () -> applications.forEach(order::add));
  }

  @Override
  public boolean removeSchedulableEntity(S application) {
    boolean isRemoved = stock.removeSchedulableEntity(application);
    Shim.run("application removed", () -> {
      inFlight.forget(holdings.id(application));
      order.remove(application);
    });
    return isRemoved;
  }

  @Override
  public Collection<S> getSchedulableEntities() {
    return stock.getSchedulableEntities();
  }

  @Override
  public Iterator<S> getPreemptionIterator() {
    return stock.getPreemptionIterator();
  }

  @Override
  public int getNumSchedulableEntities() {
    return stock.getNumSchedulableEntities();
  }

  @Override
  public void demandUpdated(S application) {
    stock.demandUpdated(application);
  }

  @Override
  public String getInfo() {
    return "GrasshopperOrderingPolicy" + (isEnabled() ? "" : " (off)") + " over " + stock.getInfo();
  }

  @Override
  public String getConfigName() {
    return getClass().getName();
  }
}
