// Is it the stock order whenever it should be?
package io.grasshopper.yarn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Collections;
import java.util.Iterator;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.policy.IteratorSelector;
import org.junit.jupiter.api.Test;

class StockOrderTest extends OrderingPolicyTest {
  private static final long SHORT_NANOS = 2_000_000_000L;

  @Test
  void isTheStockOrderWithoutAPlan() {
    assertEquals("[1, 2, 3, 4]", order());
  }

  @Test
  void isTheStockOrderOnceTheGrantsAreOver() throws InterruptedException {
    app(1).containers = 3;
    grant(4, 3, Grant.NO_CAP, 0, SHORT_NANOS);
    grant(1, 3, 3, 0, SHORT_NANOS);
    assertEquals("[4, 2, 3]", order());
    Thread.sleep(SHORT_NANOS / 1_000_000 + 1);
    assertEquals("[1, 2, 3, 4]", order());
  }

  @Test
  void oneGrantEndsWhileAnotherLives() throws InterruptedException {
    grant(4, 3, Grant.NO_CAP, 0, SHORT_NANOS);
    grant(3, 1);
    assertEquals("[4, 3, 1, 2]", order());
    Thread.sleep(SHORT_NANOS / 1_000_000 + 1);
    assertEquals("[3, 1, 2, 4]", order());
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
    Plan.grant(Collections.singletonMap(ApplicationId.newInstance(1, 99), new Grant(1, 1, 0, System.nanoTime() + LONG_NANOS)));
    assertEquals("[1, 2, 3, 4]", order());
  }
}
