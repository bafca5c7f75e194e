// Do targets decide who is offered a slot, and nothing else?
package io.grasshopper.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import org.junit.jupiter.api.Test;

class TurnsTest {
  private static final long FOREVER = Long.MAX_VALUE / 2;

  private static JobShare share(int running, int target, int cap) {
    return share(running, target, cap, 0);
  }

  private static JobShare share(int running, int target, int cap, double precedence) {
    JobShare share = new JobShare(1);
    for (int i = 0; i < running; i++) {
      share.started(false);
    }
    share.grant(target, cap, -1, precedence, System.nanoTime() + FOREVER);
    return share;
  }

  private static String order(JobShare... shares) {
    return Arrays.toString(Turns.arrange(Arrays.asList(shares), System.nanoTime()));
  }

  @Test
  void hungriestJobGoesFirstAndItsSetsStayTogether() {
    JobShare full = share(2, 2, -1);
    JobShare hungry = share(1, 6, -1);
    assertEquals("[1, 3, 0, 2]", order(full, hungry, full, hungry));
  }

  @Test
  void belowTheTargetsPrecedenceDecidesBeforeWhatIsHeld() {
    assertEquals("[2, 1, 0]", order(share(0, 6, -1, 6.5), share(1, 6, -1, 2), share(0, 2, -1, 2)));
    assertEquals("[1, 0]", order(share(2, 2, -1, 1), share(1, 9, -1, 9)));
  }

  @Test
  void whatIsLentGoesByPrecedenceToo() {
    assertEquals("[1, 0]", order(share(1, 1, -1, 6.5), share(5, 2, -1, 2)));
  }

  @Test
  void tiesKeepTheStockOrder() {
    assertEquals("[0, 1, 2]", order(share(0, 2, -1), share(0, 6, -1), share(0, 1, -1)));
  }

  @Test
  void beyondTheTargetsWeightDecides() {
    JobShare heavy = new JobShare(4);
    heavy.grant(1, -1, -1, 0, System.nanoTime() + FOREVER);
    for (int i = 0; i < 4; i++) {
      heavy.started(false);
    }
    assertEquals("[1, 0]", order(share(2, 1, -1), heavy));
  }

  @Test
  void aSetThatIsNotOursHasItsTurnAfterTheHungry() {
    assertEquals("[2, 1, 0]", order(share(3, 2, -1), null, share(1, 2, -1)));
  }

  @Test
  void stopsAtItsTargetOnlyWhileAHungryJobComesAfter() {
    JobShare first = share(0, 1, -1);
    JobShare second = share(0, 1, -1);
    order(first, second);
    first.started(false);
    assertTrue(first.isGated(), "the rest of this round belongs to the second job");
    second.started(false);
    assertFalse(second.isGated(), "nobody hungry comes after it");
    order(first, second);
    assertFalse(first.isGated());
  }

  @Test
  void makesNoWayForAJobThatHasGone() {
    JobShare left = share(0, 1, -1);
    order(left, share(0, 1, -1));
    left.started(false);
    assertTrue(left.isGated());
    assertEquals("[0]", order(left));
    assertFalse(left.isGated());
  }

  @Test
  void aCapHoldsSlotsFreeUntilTheGrantEnds() {
    JobShare capped = share(3, 5, 3);
    assertTrue(capped.isGated());
    capped.grant(5, 3, -1, 0, System.nanoTime() - 1);
    assertFalse(capped.isGated());
  }

  @Test
  void aClearedGrantLeavesNothingBehind() {
    JobShare share = share(3, 1, 2);
    order(share, share(0, 5, -1));
    share.clear();
    assertFalse(share.isGated());
    assertFalse(share.hasGrant());
  }

  @Test
  void originalsHoldNoMoreThanTheirPartAndCopiesTheRest() {
    JobShare share = new JobShare(1);
    long now = System.nanoTime();
    share.grant(3, 3, 2, 0, now + FOREVER);
    share.started(false);
    share.started(true);
    assertFalse(share.isFullOfOriginals(now), "one of two originals");
    share.started(false);
    assertTrue(share.isFullOfOriginals(now));
    share.ended(false);
    assertFalse(share.isFullOfOriginals(now), "the copy that is left is no original");
    share.grant(3, 3, -1, 0, now + FOREVER);
    share.started(false);
    assertFalse(share.isFullOfOriginals(now), "no part of their own");
  }
}
