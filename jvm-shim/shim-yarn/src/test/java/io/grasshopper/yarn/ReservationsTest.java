// Do reservations keep slots idle that somebody waits for? Asked of a real CapacityScheduler with six slots on three nodes.
package io.grasshopper.yarn;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerApp;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ReservationsTest {
  private static final int SLOT_MB = 768;
  private static final int NODE_MB = 1900;

  private LocalScheduler yarn;
  private FiCaSchedulerApp early;
  private FiCaSchedulerApp late;

  /** The one that came late fills two nodes and has reserved both; there is room on the third, and the early one asks, too. */
  @BeforeEach
  void reserve() throws Exception {
    yarn = new LocalScheduler(3, NODE_MB);
    early = yarn.submit(1);
    late = yarn.submit(2);
    yarn.ask(early, 1, SLOT_MB);
    yarn.report(2);
    yarn.ask(late, 6, SLOT_MB);
    yarn.report(0, 0, 1, 1, 0, 1);
    yarn.ask(early, 5, SLOT_MB);
    assertState(1, 4, 2);
  }

  @AfterEach
  void endPlan() {
    Plan.withdrawAll();
  }

  private void assertState(int heldByEarly, int heldByLate, int reservedByLate) {
    assertEquals(heldByEarly, early.getLiveContainers().size(), "held by the early one");
    assertEquals(heldByLate, late.getLiveContainers().size(), "held by the late one");
    assertEquals(reservedByLate, late.getReservedContainers().size(), "reserved by the late one");
  }

  private void aim(int targetOfEarly, int targetOfLate) {
    long endNanos = System.nanoTime() + TimeUnit.HOURS.toNanos(1);
    Map<ApplicationId, Grant> grants = new HashMap<>();
    grants.put(early.getApplicationId(), new Grant(targetOfEarly, Grant.NO_CAP, 0, endNanos));
    grants.put(late.getApplicationId(), new Grant(targetOfLate, Grant.NO_CAP, 0, endNanos));
    Plan.grant(grants);
  }

  /** Else targets add up to less than the slots, nobody is below his own, and the slot stays free for good. */
  @Test
  void aSlotIsThereAlthoughReservationsFillTheQueuesLimit() {
    assertEquals(6, yarn.queue().slots());
  }

  /** The scheduler's round ends with the first application that the limit refuses, here the early one. */
  @Test
  void whoIsBelowItsTargetGetsTheRoomThatReservationsOfOthersBarredItFrom() {
    aim(3, 3);
    yarn.report(0, 1, 2);
    assertState(1, 4, 2);
    yarn.tick();
    assertState(1, 4, 1);
    yarn.report(2);
    assertState(2, 4, 1);
  }

  /** The late one is asked first, and gives a reservation back for the room by itself. */
  @Test
  void whoHasReservationsAndIsBelowItsTargetKeepsThem() {
    aim(1, 5);
    yarn.tick();
    assertState(1, 4, 2);
    yarn.report(2);
    assertState(1, 5, 1);
  }

  /** Dropped reservations would come again at once, and go again at each tick. */
  @Test
  void reservationsStayWhereNoNodeHasRoom() {
    aim(1, 5);
    yarn.report(2);
    assertState(1, 5, 1);
    aim(3, 3);
    yarn.tick();
    assertState(1, 5, 1);
  }

  /** It would never start if the room that is kept for it went to smaller ones. */
  @Test
  void aNodeThatIsReservedForALargerContainerIsLeftToIt() {
    yarn.ask(early, 0, SLOT_MB);
    yarn.ask(late, 0, SLOT_MB);
    yarn.report(0, 1);
    yarn.ask(late, 1, 2 * SLOT_MB);
    yarn.report(2);
    yarn.ask(early, 5, SLOT_MB);
    aim(3, 3);
    yarn.tick();
    assertState(1, 4, 1);
  }

  /** The control plane's silence leaves stock order behind, and stock reservations. */
  @Test
  void withoutAPlanReservationsAreTheSchedulers() {
    yarn.tick();
    yarn.report(0, 1, 2);
    assertState(1, 4, 2);
  }
}
