// When exactly does control begin and end?
package io.grasshopper.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class LeasesTest {
  private final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 500_000_000L);
  private final Leases leases = new Leases(nanos::get);

  private void claim(long planeEpoch, long cycle, String mode) throws IOException {
    String reply = "{\"protocol\": 1, \"plane_epoch\": " + planeEpoch + ", \"acknowledged\": 1, \"cycle\": " + cycle
        + ", \"next_interval_ms\": 100, \"mode\": \"" + mode + "\", \"claims\": [{\"job\": \"sql-1\", \"lease_ms\": 1000}]}";
    leases.renew(Reply.decode(reply.getBytes(StandardCharsets.UTF_8), nanos.get()));
  }

  private void advanceMs(long millis) {
    nanos.addAndGet(millis * 1_000_000);
  }

  @Test
  void holdsAClaimedJobUntilItsLeaseEndsEvenWhereTheClockOverflows() throws IOException {
    claim(7, 1, "control");
    advanceMs(999);
    assertTrue(leases.holds("sql-1"));
    assertEquals(1_000_000, leases.nanosToNextEnd());
    advanceMs(1);
    assertFalse(leases.holds("sql-1"));
    assertEquals(Collections.singletonList("sql-1"), leases.takeEnded());
    assertTrue(leases.takeEnded().isEmpty(), "an ended lease is told once");
  }

  @Test
  void doesNotRenewForAControlPlaneThatDecidesNothing() throws IOException {
    claim(7, 5, "control");
    advanceMs(600);
    claim(7, 5, "control");
    advanceMs(600);
    assertFalse(leases.holds("sql-1"));
  }

  @Test
  void doesNotRenewForCyclesThatGoToAndFro() throws IOException {
    claim(7, 5, "control");
    advanceMs(600);
    claim(7, 4, "control");
    claim(7, 5, "control");
    advanceMs(600);
    assertFalse(leases.holds("sql-1"));
  }

  @Test
  void renewsForARestartedControlPlaneThatCountsFromZero() throws IOException {
    claim(7, 500, "control");
    claim(8, 1, "control");
    advanceMs(999);
    assertTrue(leases.holds("sql-1"));
  }

  @Test
  void endsAtOnceWhenTheModeIsLowered() throws IOException {
    claim(7, 1, "control");
    claim(7, 2, "shadow");
    assertFalse(leases.holds("sql-1"));
    assertEquals(Collections.singletonList("sql-1"), leases.takeEnded());
  }

  @Test
  void claimsNothingInShadowMode() throws IOException {
    claim(7, 1, "shadow");
    assertFalse(leases.holds("sql-1"));
  }
}
