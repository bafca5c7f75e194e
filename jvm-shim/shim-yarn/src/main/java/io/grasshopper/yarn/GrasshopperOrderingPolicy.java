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
 * lock that is held for longer than it takes to move one application. What fails is left to the stock policy.
 */
public final class GrasshopperOrderingPolicy<S extends SchedulableEntity> implements OrderingPolicy<S> {
  private static final Logger LOG = LoggerFactory.getLogger(GrasshopperOrderingPolicy.class);

  private final Holdings<S> holdings;
  private final InFlight inFlight;
  private volatile OrderingPolicy<S> stock = new FifoOrderingPolicy<>();
  private volatile TargetOrder<S> order;
  private volatile boolean isEnabled = true;

  /** For the scheduler, which knows the class by its name. */
  public GrasshopperOrderingPolicy() {
    this(Holdings.ofAttempts(), InFlight.SHARED);
  }

  GrasshopperOrderingPolicy(Holdings<S> holdings, InFlight inFlight) {
    this.holdings = holdings;
    this.inFlight = inFlight;
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
    Plan plan = Plan.current();
    if (isEnabled() && plan.isLive(System.nanoTime())) {
      try {
        return new AssignmentTurns<>(orderFor(plan), holdings, inFlight, () -> stock.getAssignmentIterator(selector));
      } catch (Throwable error) {
        order = null;
        Shim.caught("assignment", error);
      }
    }
    return stock.getAssignmentIterator(selector);
  }

  /** A new order is published before it is filled, so that no callback is lost in between. */
  private TargetOrder<S> orderFor(Plan plan) {
    TargetOrder<S> latest = order;
    if (latest == null || latest.plan != plan) {
      latest = new TargetOrder<>(plan, holdings);
      order = latest;
      stock.getSchedulableEntities().forEach(latest::update);
    }
    return latest;
  }

  private void changed(S application) {
    TargetOrder<S> latest = order;
    if (latest != null) {
      latest.update(application);
    }
  }

  @Override
  public void containerAllocated(S application, RMContainer container) {
    stock.containerAllocated(application, container);
    Shim.run("container allocated", () -> {
      inFlight.committed(holdings.id(application));
      changed(application);
    });
  }

  @Override
  public void containerReleased(S application, RMContainer container) {
    stock.containerReleased(application, container);
    Shim.run("container released", () -> changed(application));
  }

  @Override
  public void addSchedulableEntity(S application) {
    stock.addSchedulableEntity(application);
    Shim.run("application added", () -> changed(application));
  }

  @Override
  public void addAllSchedulableEntities(Collection<S> applications) {
    stock.addAllSchedulableEntities(applications);
    Shim.run("applications added", () -> applications.forEach(this::changed));
  }

  @Override
  public boolean removeSchedulableEntity(S application) {
    Shim.run("application removed", () -> {
      inFlight.forget(holdings.id(application));
      TargetOrder<S> latest = order;
      if (latest != null) {
        latest.remove(application);
      }
    });
    return stock.removeSchedulableEntity(application);
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
