// Does a short queue keep off a sick host, a long one use it, and the order end by itself?
package io.grasshopper.spark;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Collections;
import org.junit.jupiter.api.Test;

class AvoidedHostsTest {
  private static final AvoidedHosts SAID = new AvoidedHosts(Collections.singletonMap("sick", 2), 100, 1_000);

  private static JobShare granted(int target) {
    JobShare share = new JobShare(1);
    share.grant(target, -1, -1, 0, Long.MAX_VALUE);
    return share;
  }

  @Test
  void aShortQueueWaitsAndALongOneTakesEverySlot() {
    assertTrue(SAID.has("sick", granted(2), () -> 3, 0, 0));
    assertFalse(SAID.has("sick", granted(2), () -> 4, 0, 0));
    assertFalse(SAID.has("healthy", granted(2), () -> 1, 0, 0));
  }

  /** Its grant comes with the next exchange; until then nobody knows how many slots it will have. */
  @Test
  void aJobWithoutAGrantWaits() {
    assertTrue(SAID.has("sick", new JobShare(1), () -> 1000, 0, 0));
  }

  /** Exclusions or a lost host may leave only the sick one. */
  @Test
  void whatHasWaitedInVainGoesAnywhere() {
    assertTrue(SAID.has("sick", granted(2), () -> 1, 99, 0));
    assertFalse(SAID.has("sick", granted(2), () -> 1, 100, 0));
  }

  /** A control plane that has died must not keep slots idle. */
  @Test
  void nothingIsAvoidedAfterItsEnd() {
    assertTrue(SAID.has("sick", granted(2), () -> 1, 0, 999));
    assertFalse(SAID.has("sick", granted(2), () -> 1, 0, 1_000));
    assertFalse(SAID.isOver(999));
    assertTrue(SAID.isOver(1_000));
    assertFalse(AvoidedHosts.NONE.isOver(1_000));
    assertFalse(AvoidedHosts.NONE.has("sick", granted(2), () -> 1, 0, 0));
  }

  @Test
  void onlyALaunchElsewhereShowsThatWaitingHelps() {
    assertTrue(SAID.names("sick"));
    assertFalse(SAID.names("healthy"));
  }
}
