// How many containers are taken from those above their target?
package io.grasshopper.yarn;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import org.junit.jupiter.api.Test;

class EnforcementTest {
  private static int[] of(int... numbers) {
    return numbers;
  }

  @Test
  void takesWhatOthersBelowTheirTargetWaitFor() {
    assertArrayEquals(of(3, 0), Enforcement.takenBack(of(4, -3), of(0, 5), 0, 10));
  }

  @Test
  void takesNothingWhereNobodyWaits() {
    assertArrayEquals(of(0, 0), Enforcement.takenBack(of(4, -3), of(0, 0), 0, 10));
  }

  @Test
  void takesNothingWhereThereIsRoom() {
    assertArrayEquals(of(0, 0), Enforcement.takenBack(of(4, -3), of(0, 5), 3, 10));
    assertArrayEquals(of(1, 0), Enforcement.takenBack(of(4, -3), of(0, 5), 2, 10));
  }

  @Test
  void leavesEverybodyItsTarget() {
    assertArrayEquals(of(1, 1, 0), Enforcement.takenBack(of(1, 1, -6), of(9, 9, 9), 0, 10));
  }

  @Test
  void takesLittleAtATime() {
    assertArrayEquals(of(2, 0), Enforcement.takenBack(of(6, -6), of(0, 6), 0, 2));
  }
}
