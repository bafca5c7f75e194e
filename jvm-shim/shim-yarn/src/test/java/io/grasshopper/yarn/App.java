// What does an application of a leaf queue look like to a test that moves its containers by hand?
package io.grasshopper.yarn;

import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ResourceUsage;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.policy.SchedulableEntity;

/** An entity of the scheduler in plain fields; arrivals are by number. */
final class App implements SchedulableEntity {
  final ApplicationId id;
  int containers;
  boolean awaitsMaster;
  boolean asks = true;

  App(int number) {
    this.id = ApplicationId.newInstance(1, number);
  }

  /** Reads these fields. */
  static class FieldHoldings implements Holdings<App> {
    @Override
    public ApplicationId id(App application) {
      return application.id;
    }

    @Override
    public int containers(App application) {
      return application.containers;
    }

    @Override
    public boolean awaitsMaster(App application) {
      return application.awaitsMaster;
    }

    @Override
    public boolean asks(App application) {
      return application.asks;
    }
  }

  @Override
  public String getId() {
    return id.toString();
  }

  @Override
  public int compareInputOrderTo(SchedulableEntity other) {
    return id.compareTo(((App) other).id);
  }

  @Override
  public ResourceUsage getSchedulingResourceUsage() {
    return new ResourceUsage();
  }

  @Override
  public Priority getPriority() {
    return Priority.newInstance(0);
  }

  @Override
  public boolean isRecovering() {
    return false;
  }

  @Override
  public String getPartition() {
    return "";
  }

  @Override
  public long getStartTime() {
    return id.getId();
  }

  @Override
  public String toString() {
    return Integer.toString(id.getId());
  }
}
