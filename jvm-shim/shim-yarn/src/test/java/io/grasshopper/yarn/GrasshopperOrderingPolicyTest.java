// Who is offered the next container, and is it the stock order whenever it should be?
package io.grasshopper.yarn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.policy.IteratorSelector;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class GrasshopperOrderingPolicyTest {
  private static final long LONG_NANOS = 60_000_000_000L;
  private static final long SHORT_NANOS = 2_000_000_000L;

  private final List<App> apps = new ArrayList<>();
  private final InFlight inFlight = new InFlight(System::nanoTime);
  private Error fault;
  private final Holdings<App> holdings = new App.FieldHoldings() {
    @Override
    public int containers(App application) {
      if (fault != null) {
        throw fault;
      }
      return super.containers(application);
    }
  };
  private final GrasshopperOrderingPolicy<App> policy = new GrasshopperOrderingPolicy<>(holdings, inFlight);

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

  private App app(int number) {
    return apps.get(number - 1);
  }

  private void grant(int number, int target, int cap) {
    grant(number, target, cap, LONG_NANOS);
  }

  private void grant(int number, int target, int cap, long lifeNanos) {
    Plan.grant(Collections.singletonMap(app(number).id, new Grant(target, cap, System.nanoTime() + lifeNanos)));
  }

  private void grant(int number, int target) {
    grant(number, target, Grant.NO_CAP);
  }

  /** The scheduler's pass over a queue in which nobody fits. */
  private String order() {
    List<App> order = new ArrayList<>();
    for (Iterator<App> turns = turns(); turns.hasNext();) {
      order.add(turns.next());
    }
    return order.toString();
  }

  private Iterator<App> turns() {
    return policy.getAssignmentIterator(IteratorSelector.EMPTY_ITERATOR_SELECTOR);
  }

  /** A pass whose first application is proposed a container. */
  private App propose() {
    Iterator<App> turns = turns();
    return turns.hasNext() ? turns.next() : null;
  }

  private void commit(App application) {
    application.containers++;
    policy.containerAllocated(application, null);
  }

  @Test
  void isTheStockOrderWithoutAPlan() {
    assertEquals("[1, 2, 3, 4]", order());
  }

  @Test
  void servesTheHungriestFirstAndTheOthersInStockOrder() {
    app(4).containers = 1;
    app(2).containers = 5;
    grant(4, 6);
    grant(3, 2);
    grant(2, 5);
    assertEquals("[4, 3, 1, 2]", order());
  }

  @Test
  void keepsStockOrderAmongEquallyHungryOnes() {
    grant(3, 2);
    grant(2, 2);
    assertEquals("[2, 3, 1, 4]", order());
  }

  @Test
  void countsWhatIsInFlightAsHeld() {
    grant(3, 2);
    grant(4, 1);
    assertEquals(app(3), propose());
    assertEquals("[3, 4, 1, 2]", order());
    assertEquals(app(3), propose());
    assertEquals("[4, 1, 2, 3]", order());
  }

  @Test
  void movesAnApplicationWithEachContainerThatComesOrGoes() {
    grant(3, 2);
    grant(4, 1);
    commit(propose());
    commit(propose());
    assertEquals("[4, 1, 2, 3]", order());
    app(3).containers = 0;
    policy.containerReleased(app(3), null);
    assertEquals("[3, 4, 1, 2]", order());
  }

  @Test
  void leavesOutWhoIsAtItsCap() {
    app(1).containers = 3;
    grant(1, 3, 3);
    assertEquals("[2, 3, 4]", order());
  }

  @Test
  void leavesOutWhoAsksForNothing() {
    app(1).asks = false;
    app(4).asks = false;
    grant(3, 2);
    grant(4, 2);
    assertEquals("[3, 2]", order());
    app(4).asks = true;
    assertEquals("[3, 4, 2]", order());
  }

  @Test
  void followsAPlanThatTakesTheOldOnesPlace() {
    grant(2, 2);
    grant(3, 1);
    assertEquals("[2, 3, 1, 4]", order());
    grant(3, 5);
    assertEquals("[3, 2, 1, 4]", order());
    Plan.withdraw(Collections.singleton(app(2).id));
    grant(4, 4);
    assertEquals("[3, 4, 1, 2]", order());
    grant(1, 5);
    assertEquals("[1, 3, 4, 2]", order());
  }

  @Test
  void keepsACapAgainstProposalsThatAreNotCommittedYet() {
    grant(1, 8, 2);
    assertEquals(app(1), propose());
    assertEquals(app(1), propose());
    assertEquals("[2, 3, 4]", order());
  }

  @Test
  void aPassThatPlacesNothingLeavesNothingInFlight() {
    grant(1, 8, 2);
    for (int i = 0; i < 5; i++) {
      assertEquals("[1, 2, 3, 4]", order());
    }
    assertEquals(0, inFlight.count(app(1).id));
  }

  @Test
  void neverHoldsBackAMaster() {
    app(1).awaitsMaster = true;
    grant(1, 0, 0);
    assertEquals("[1, 2, 3, 4]", order());
  }

  @Test
  void isTheStockOrderOnceTheGrantsAreOver() throws InterruptedException {
    app(1).containers = 3;
    grant(4, 3, Grant.NO_CAP, SHORT_NANOS);
    grant(1, 3, 3, SHORT_NANOS);
    assertEquals("[4, 2, 3]", order());
    Thread.sleep(SHORT_NANOS / 1_000_000 + 1);
    assertEquals("[1, 2, 3, 4]", order());
  }

  @Test
  void oneGrantEndsWhileAnotherLives() throws InterruptedException {
    grant(4, 3, Grant.NO_CAP, SHORT_NANOS);
    grant(3, 1);
    assertEquals("[4, 3, 1, 2]", order());
    Thread.sleep(SHORT_NANOS / 1_000_000 + 1);
    assertEquals("[3, 1, 2, 4]", order());
  }

  @Test
  void servesAnApplicationThatArrivesAfterThePlan() {
    apps.add(new App(5));
    grant(4, 3);
    grant(5, 2);
    assertEquals("[4, 1, 2, 3]", order());
    policy.addSchedulableEntity(app(5));
    assertEquals("[4, 5, 1, 2, 3]", order());
    policy.removeSchedulableEntity(app(4));
    assertEquals("[5, 1, 2, 3]", order());
  }

  /** The ends of its containers may be heard after its own. */
  @Test
  void anApplicationThatHasGoneStaysAway() {
    grant(4, 3);
    assertEquals("[4, 1, 2, 3]", order());
    policy.removeSchedulableEntity(app(4));
    policy.containerReleased(app(4), null);
    assertEquals("[1, 2, 3]", order());
    grant(4, 2);
    assertEquals("[1, 2, 3]", order());
  }

  @Test
  void anOperatorSwitchesItOff() {
    grant(4, 3);
    policy.configure(Collections.singletonMap("enabled", "false"));
    GrasshopperOrderingPolicy<App> refreshed = new GrasshopperOrderingPolicy<>(holdings, inFlight);
    refreshed.configure(Collections.singletonMap("enabled", "false"));
    refreshed.addAllSchedulableEntities(apps);
    assertEquals(app(1), refreshed.getAssignmentIterator(IteratorSelector.EMPTY_ITERATOR_SELECTOR).next());
    assertTrue(refreshed.getInfo().contains("(off)"));
  }

  @Test
  void aRefreshedPolicyKeepsThePlanWhileTheOldOneStillLives() {
    grant(4, 3);
    Map<String, String> settings = new HashMap<>();
    settings.put("base", "fair");
    GrasshopperOrderingPolicy<App> refreshed = new GrasshopperOrderingPolicy<>(holdings, inFlight);
    refreshed.configure(settings);
    refreshed.addAllSchedulableEntities(policy.getSchedulableEntities());
    assertTrue(refreshed.getInfo().contains("Fair"));
    assertEquals(app(4), refreshed.getAssignmentIterator(IteratorSelector.EMPTY_ITERATOR_SELECTOR).next());
    assertEquals("[4, 1, 2, 3]", order());
  }

  @Test
  void isTheStockOrderWhereItsOwnCodeFails() {
    grant(4, 3);
    fault = new StackOverflowError();
    assertEquals("[1, 2, 3, 4]", order());
    fault = null;
    Iterator<App> turns = turns();
    fault = new AssertionError("on purpose");
    assertEquals(app(1), turns.next());
    commit(app(1));
    fault = null;
    assertEquals("[4, 1, 2, 3]", order());
  }

  @Test
  void letsTheHostSeeThatItsMemoryIsOver() {
    grant(4, 3);
    fault = new OutOfMemoryError("as the test wants");
    assertThrows(OutOfMemoryError.class, this::order);
    fault = null;
  }

  @Test
  void plansNothingForApplicationsOfOtherQueues() {
    Plan.grant(Collections.singletonMap(ApplicationId.newInstance(1, 99), new Grant(1, 1, System.nanoTime() + LONG_NANOS)));
    assertEquals("[1, 2, 3, 4]", order());
  }
}
