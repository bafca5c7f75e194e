// Does every attempt read for as long as its list says?
package io.grasshopper.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

class ListedTest {
  private static final long SPLIT = 1000;

  private static Listed listed() {
    return new Listed(file -> file.equals("a") ? new String[] {"10", "30"} : new String[0], 10, 2, SPLIT);
  }

  private static double seconds(long splitStart, int attempt) {
    return (listed().nanosToFirstByte() + SPLIT * listed().nanosPerByte("a", splitStart, attempt)) / 1e9;
  }

  @Test
  void aWholeSplitTakesWhatIsListedFirstByteIncluded() {
    assertEquals(10, seconds(0, 0), 1e-9);
    assertEquals(30, seconds(SPLIT, 0), 1e-9);
  }

  @Test
  void everyCopyTakesTheSame() {
    assertEquals(10, seconds(SPLIT, 1), 1e-9);
    assertEquals(10, seconds(SPLIT, 2), 1e-9);
  }

  @Test
  void aSplitThatIsNotListedIsSaidByName() {
    assertThrows(IllegalArgumentException.class, () -> seconds(2 * SPLIT, 0));
    assertThrows(IllegalArgumentException.class, () -> listed().nanosPerByte("b", 0, 0));
  }
}
