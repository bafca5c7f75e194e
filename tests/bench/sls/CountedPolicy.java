// How much did a policy have to do in one node update, and for whom?
package io.grasshopper.yarn;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerApp;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.policy.IteratorSelector;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.policy.OrderingPolicy;

/** Stands before the policy that is being measured, in every arm alike. */
final class CountedPolicy implements OrderingPolicy<FiCaSchedulerApp> {
  final List<FiCaSchedulerApp> changed = new ArrayList<>();
  int placed;
  int visited;
  private OrderingPolicy<FiCaSchedulerApp> policy;

  /** Counts anew, before this policy. */
  void begin(OrderingPolicy<FiCaSchedulerApp> measured) {
    policy = measured;
    changed.clear();
    placed = 0;
    visited = 0;
  }

  @Override
  public Iterator<FiCaSchedulerApp> getAssignmentIterator(IteratorSelector selector) {
    Iterator<FiCaSchedulerApp> turns = policy.getAssignmentIterator(selector);
    return new Iterator<FiCaSchedulerApp>() {
      @Override
      public boolean hasNext() {
        return turns.hasNext();
      }

      @Override
      public FiCaSchedulerApp next() {
        visited++;
        return turns.next();
      }
    };
  }

  @Override
  public void containerAllocated(FiCaSchedulerApp application, RMContainer container) {
    placed++;
    changed.add(application);
    policy.containerAllocated(application, container);
  }

  @Override
  public void containerReleased(FiCaSchedulerApp application, RMContainer container) {
    changed.add(application);
    policy.containerReleased(application, container);
  }

  @Override
  public Collection<FiCaSchedulerApp> getSchedulableEntities() {
    return policy.getSchedulableEntities();
  }

  @Override
  public Iterator<FiCaSchedulerApp> getPreemptionIterator() {
    return policy.getPreemptionIterator();
  }

  @Override
  public void addSchedulableEntity(FiCaSchedulerApp application) {
    policy.addSchedulableEntity(application);
  }

  @Override
  public boolean removeSchedulableEntity(FiCaSchedulerApp application) {
    return policy.removeSchedulableEntity(application);
  }

  @Override
  public void addAllSchedulableEntities(Collection<FiCaSchedulerApp> applications) {
    policy.addAllSchedulableEntities(applications);
  }

  @Override
  public int getNumSchedulableEntities() {
    return policy.getNumSchedulableEntities();
  }

  @Override
  public void configure(Map<String, String> settings) {
    policy.configure(settings);
  }

  @Override
  public void demandUpdated(FiCaSchedulerApp application) {
    policy.demandUpdated(application);
  }

  @Override
  public String getInfo() {
    return policy.getInfo();
  }

  @Override
  public String getConfigName() {
    return policy.getConfigName();
  }
}
