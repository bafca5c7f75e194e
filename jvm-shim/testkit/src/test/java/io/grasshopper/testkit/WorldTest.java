// Is slowness a pure function of what is read, with the stated distribution?
package io.grasshopper.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.List;
import org.junit.jupiter.api.Test;

class WorldTest {
  private static final double TAIL_INDEX = 1.4;
  private static final double MAX_SLOWDOWN = 15;

  private static World world(long seed, String kind, double tailShare) {
    return world(seed, kind, tailShare, MAX_SLOWDOWN);
  }

  private static World world(long seed, String kind, double tailShare, double maxSlowdown) {
    return new World(seed, kind, 1 << 20, TAIL_INDEX, tailShare, maxSlowdown);
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

  /** Half of the splits, within five standard errors. Nothing is cut: two draws that are cut would be equal, too. */
  @Test
  void inAHalfWorldHalfOfTheSplitsShareTheirSlowness() {
    int splits = 10_000;
    double uncut = Double.MAX_VALUE;
    World world = world(5, "half", 1, uncut);
    int shared = 0;
    for (int split = 0; split < splits; split++) {
      double slowdown = world.slowdown("file", split, 0);
      boolean again = slowdown == world.slowdown("file", split, 1);
      assertEquals(again, slowdown == world.slowdown("file", split, 2));
      assertEquals(slowdown, world(5, again ? "data" : "independent", 1, uncut).slowdown("file", split, 0));
      shared += again ? 1 : 0;
    }
    assertEquals(0.5, shared / (double) splits, 5 * Math.sqrt(0.25 / splits));
  }

  /** {@code tests/test_bench.py} reads the same file. */
  @Test
  void drawsTheGoldenSlowdowns() throws IOException {
    Path file = Paths.get("tests/golden/paced_slowdowns.tsv");
    for (Path folder = Paths.get("").toAbsolutePath(); !Files.exists(file); folder = folder.getParent()) {
      file = folder.resolve("tests/golden/paced_slowdowns.tsv");
    }
    List<String> lines = Files.readAllLines(file);
    for (String line : lines.subList(1, lines.size())) {
      String[] cells = line.split("\t");
      World world = world(Long.parseLong(cells[1]), cells[0], 1);
      double slowdown = world.slowdown(cells[2], Long.parseLong(cells[3]), Integer.parseInt(cells[4]));
      assertEquals(Double.parseDouble(cells[5]), slowdown, 1e-12 * slowdown, line);
    }
  }

  /** P(slowdown > x) = tailShare * x^-tailIndex below the cut, within five standard errors. */
  @Test
  void slowdownsHaveAParetoTail() {
    int draws = 100_000;
    for (double tailShare : new double[] {1.0, 0.4}) {
      World world = world(3, "half", tailShare);
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
