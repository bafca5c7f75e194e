// Does the pace let bursts pass and hold back what goes on and on?
package io.grasshopper.core;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PaceTest {
  private static final long GAP = 40;
  private static final int BURST = 5;

  private final Pace pace = new Pace(GAP, BURST);

  /** Nanosecond clocks start anywhere, and may pass the largest number. */
  @ParameterizedTest
  @ValueSource(longs = {0, 12_345, -12_345, Long.MAX_VALUE - 100})
  void aBurstMayHappenAtOnceAndThenOneAGap(long start) {
    long now = start;
    for (int i = 0; i < BURST; i++) {
      assertEquals(start, pace.earliestNanos(start));
      pace.happened(start);
    }
    for (int i = 1; i < 20; i++) {
      now = pace.earliestNanos(now);
      pace.happened(now);
    }
    assertEquals(19 * GAP, now - start);
  }

  @Test
  void whatHasRestedMayBurstAgainButNotLongerThanEver() {
    pace.happened(0);
    long later = 1000 * GAP;
    for (int i = 0; i < BURST; i++) {
      assertEquals(later, pace.earliestNanos(later));
      pace.happened(later);
    }
    assertEquals(later + GAP, pace.earliestNanos(later));
  }
}
