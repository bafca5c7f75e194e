// Who is offered the next container?
package io.grasshopper.yarn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.policy.IteratorSelector;
import org.junit.jupiter.api.Test;

class GrasshopperOrderingPolicyTest extends OrderingPolicyTest {
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
  void servesByPrecedenceBeforeHunger() {
    grant(2, 9, Grant.NO_CAP, 40.5, LONG_NANOS);
    grant(3, 2, Grant.NO_CAP, 7, LONG_NANOS);
    grant(4, 3, Grant.NO_CAP, 7, LONG_NANOS);
    assertEquals("[4, 3, 2, 1]", order());
    commit(propose());
    assertEquals("[3, 4, 2, 1]", order());
    grant(2, 9, Grant.NO_CAP, 1, LONG_NANOS);
    assertEquals("[2, 3, 4, 1]", order());
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
  void neverHoldsBackAMaster() {
    app(1).awaitsMaster = true;
    grant(1, 0, 0);
    assertEquals("[1, 2, 3, 4]", order());
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
}
