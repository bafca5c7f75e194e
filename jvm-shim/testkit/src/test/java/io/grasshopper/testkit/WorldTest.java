// Is slowness a pure function of what is read, with the stated distribution?
package io.grasshopper.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class WorldTest {
  private static final double TAIL_INDEX = 1.4;
  private static final double MAX_SLOWDOWN = 15;

  private static World world(long seed, String kind, double tailShare) {
    return new World(seed, kind, 1 << 20, TAIL_INDEX, tailShare, MAX_SLOWDOWN);
  }

  /** Two contestants must meet the same slowness. */
  @Test
  void sameInputsGiveTheSameSlowdown() {
    double slowdown = world(7, "independent", 1).slowdown("job-1", 1 << 20, 1);
    assertEquals(slowdown, world(7, "independent", 1).slowdown("job-1", 1 << 20, 1));
  }

  @Test
  void everyInputMattersWhenSlownessIsIndependent() {
    double slowdown = world(7, "independent", 1).slowdown("job-1", 0, 0);
    assertNotEquals(slowdown, world(8, "independent", 1).slowdown("job-1", 0, 0));
    assertNotEquals(slowdown, world(7, "independent", 1).slowdown("job-2", 0, 0));
    assertNotEquals(slowdown, world(7, "independent", 1).slowdown("job-1", 1 << 20, 0));
    assertNotEquals(slowdown, world(7, "independent", 1).slowdown("job-1", 0, 1));
  }

  /** A copy cannot escape slowness that lies in the data. */
  @Test
  void attemptsShareTheSlownessOfTheirData() {
    World world = world(7, "data", 1);
    assertEquals(world.slowdown("job-1", 0, 0), world.slowdown("job-1", 0, 1));
    assertNotEquals(world.slowdown("job-1", 0, 0), world.slowdown("job-1", 1 << 20, 0));
  }

  /** P(slowdown > x) = tailShare * x^-tailIndex below the cut, within five standard errors. */
  @Test
  void slowdownsHaveAParetoTail() {
    int draws = 100_000;
    for (double tailShare : new double[] {1.0, 0.4}) {
      World world = world(3, "independent", tailShare);
      for (double bound : new double[] {1.5, 3, 10}) {
        double expected = tailShare * Math.pow(bound, -TAIL_INDEX);
        int above = 0;
        for (int split = 0; split < draws; split++) {
          double slowdown = world.slowdown("file", split, 0);
          assertTrue(slowdown >= 1 && slowdown <= MAX_SLOWDOWN);
          above += slowdown > bound ? 1 : 0;
        }
        double standardError = Math.sqrt(expected * (1 - expected) / draws);
        assertEquals(expected, above / (double) draws, 5 * standardError);
      }
    }
  }

  @Test
  void anUnknownWorldIsRefused() {
    assertThrows(IllegalArgumentException.class, () -> world(1, "elsewhere", 1));
  }
}
