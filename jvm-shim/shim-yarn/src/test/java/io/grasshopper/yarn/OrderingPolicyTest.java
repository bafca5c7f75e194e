// What do tests of the ordering policy begin with? Four applications, a plan to grant, passes over the queue.
package io.grasshopper.yarn;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.policy.IteratorSelector;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

abstract class OrderingPolicyTest {
  static final long LONG_NANOS = 60_000_000_000L;

  final List<App> apps = new ArrayList<>();
  final InFlight inFlight = new InFlight(System::nanoTime);
  Error fault;
  final Holdings<App> holdings = new App.FieldHoldings() {
    @Override
    public int containers(App application) {
      if (fault != null) {
        throw fault;
      }
      return super.containers(application);
    }
  };
  final GrasshopperOrderingPolicy<App> policy = new GrasshopperOrderingPolicy<>(holdings, inFlight);

  @BeforeEach
  void fourApplications() {
    for (int number = 1; number <= 4; number++) {
      apps.add(new App(number));
      policy.addSchedulableEntity(apps.get(number - 1));
    }
  }

  @AfterEach
  void noPlan() {
    Plan.withdrawAll();
  }

  App app(int number) {
    return apps.get(number - 1);
  }

  void grant(int number, int target, int cap) {
    grant(number, target, cap, 0, LONG_NANOS);
  }

  void grant(int number, int target, int cap, double precedence, long lifeNanos) {
    Plan.grant(Collections.singletonMap(app(number).id, new Grant(target, cap, precedence, System.nanoTime() + lifeNanos)));
  }

  void grant(int number, int target) {
    grant(number, target, Grant.NO_CAP);
  }

  /** The scheduler's pass over a queue in which nobody fits. */
  String order() {
    List<App> order = new ArrayList<>();
    for (Iterator<App> turns = turns(); turns.hasNext();) {
      order.add(turns.next());
    }
    return order.toString();
  }

  Iterator<App> turns() {
    return policy.getAssignmentIterator(IteratorSelector.EMPTY_ITERATOR_SELECTOR);
  }

  /** A pass whose first application is proposed a container. */
  App propose() {
    Iterator<App> turns = turns();
    return turns.hasNext() ? turns.next() : null;
  }

  void commit(App application) {
    application.containers++;
    policy.containerAllocated(application, null);
  }
}
