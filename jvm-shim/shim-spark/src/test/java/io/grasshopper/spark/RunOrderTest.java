// Does the ordered original go first, and does an order end?
package io.grasshopper.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grasshopper.core.Orders;
import java.util.HashSet;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class RunOrderTest {
  private final Set<Integer> started = new HashSet<>();

  private static RunOrder of(int... indices) {
    return RunOrder.of(Orders.runNext(IntStream.of(indices).mapToObj(Integer::toString).collect(Collectors.joining(", "))));
  }

  private int start(RunOrder order, int... kept) {
    int index = order.next(each -> !started.contains(each), each -> IntStream.of(kept).noneMatch(other -> other == each));
    started.add(index);
    return index;
  }

  @Test
  void tasksGoInTheOrderThatWasGivenAndWhoRunsIsPassedOver() {
    RunOrder order = of(7, 2, 9, 4);
    started.add(2);
    assertEquals("7 9 4 -1", start(order) + " " + start(order) + " " + start(order) + " " + start(order));
    assertTrue(order.isOver(System.nanoTime()));
  }

  @Test
  void aTaskThatMayNotStartHereKeepsItsPlace() {
    RunOrder order = of(7, 2, 9);
    assertEquals("2 7 9", start(order, 7) + " " + start(order) + " " + start(order));
  }

  @Test
  void noMoreThanAHundredAreLookedAtInOneOffer() {
    RunOrder order = of(IntStream.range(0, 1000).toArray());
    int[] head = IntStream.range(0, 100).toArray();
    assertEquals(-1, start(order, head));
    assertEquals(0, start(order));
    assertEquals(100, start(order, head));
  }

  @Test
  void anOrderEndsWithItsTime() {
    RunOrder order = of(1);
    assertFalse(order.isOver(order.expiresNanos - 1));
    assertTrue(order.isOver(order.expiresNanos));
    assertTrue(of().isOver(System.nanoTime()));
    assertTrue(RunOrder.NONE.isOver(System.nanoTime()));
  }

  @Test
  void aTaskThatTheStageHasNotIsSeen() {
    assertTrue(of(0, 9).isWithin(10));
    assertFalse(of(0, 10).isWithin(10));
    assertFalse(RunOrder.of(Orders.runNext("9007199254740992")).isWithin(Integer.MAX_VALUE));
  }
}
