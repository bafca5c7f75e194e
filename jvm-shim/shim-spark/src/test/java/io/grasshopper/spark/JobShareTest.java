// Does a grant end by itself, whatever it asked for?
package io.grasshopper.spark;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

class JobShareTest {
  private static final List<String> SICK = Collections.singletonList("sick");

  /** Originals stay off the hosts that the grant names, and off no other. */
  @Test
  void namedHostsAreAvoidedWhileTheGrantLives() {
    JobShare share = new JobShare(1);
    share.grant(1, -1, SICK, Long.MAX_VALUE / 2 + System.nanoTime());
    assertTrue(share.avoids("sick"));
    assertFalse(share.avoids("healthy"));
  }

  /** A control plane that has died must not keep slots idle. */
  @Test
  void nothingIsAvoidedAfterItsEnd() {
    JobShare share = new JobShare(1);
    share.grant(1, -1, SICK, System.nanoTime() - 1);
    assertFalse(share.avoids("sick"));
    share.grant(1, -1, SICK, Long.MAX_VALUE / 2 + System.nanoTime());
    share.clear();
    assertFalse(share.avoids("sick"));
  }
}
