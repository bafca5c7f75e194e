// What does a driver say of itself?
package io.grasshopper.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class SparkAttachedTest {
  /** Without a limit of the user's, Spark's is more than the wire holds. */
  @Test
  void tellsHowManyExecutorsDynamicAllocationMayAskFor() {
    assertEquals(16, SparkAttached.executorLimit(true, 16));
    assertEquals(1_000_000_000, SparkAttached.executorLimit(true, Integer.MAX_VALUE));
    assertEquals(0, SparkAttached.executorLimit(false, 16));
  }
}
