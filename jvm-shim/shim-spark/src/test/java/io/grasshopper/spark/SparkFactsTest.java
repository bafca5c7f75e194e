// Do facts tell what Spark's events mean, whatever the driver's clock does?
package io.grasshopper.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.grasshopper.core.Fact;
import org.junit.jupiter.api.Test;

class SparkFactsTest {
  private static final long SECOND = 1_000_000_000L;

  /** Durations taught of attempts that ran for hours, or for no time. */
  @Test
  void aClockThatIsSetWhileATaskRunsHardlyChangesItsDuration() {
    Fact start = Fact.at("attempt_started", 100 * SECOND);
    long end = 130 * SECOND;
    assertEquals(29_400, SparkFacts.durationMs(29_400, start, end));
    assertEquals(40_000, SparkFacts.durationMs(3_600_000, start, end));
    assertEquals(20_000, SparkFacts.durationMs(-3_600_000, start, end));
  }

  @Test
  void noDurationIsBelowZero() {
    assertEquals(0, SparkFacts.durationMs(-3_600_000, Fact.at("attempt_started", 0), SECOND));
    assertEquals(0, SparkFacts.durationMs(-3_600_000, null, SECOND));
    assertEquals(3_600_000, SparkFacts.durationMs(3_600_000, null, SECOND));
  }
}
