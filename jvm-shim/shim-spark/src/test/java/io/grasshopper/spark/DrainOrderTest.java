// Which executors go first, and does a choice stay as it was made?
package io.grasshopper.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class DrainOrderTest {
  private static final Set<String> NONE = Collections.emptySet();

  /** Executors 1, 2, 9 and 10, of which these are idle. */
  private static Map<String, Boolean> fourOf(String... idle) {
    Map<String, Boolean> executors = new HashMap<>();
    for (String id : Arrays.asList("1", "2", "9", "10")) {
      executors.put(id, Arrays.asList(idle).contains(id));
    }
    return executors;
  }

  private static Set<String> set(String... ids) {
    return new HashSet<>(Arrays.asList(ids));
  }

  @Test
  void idleOnesGoBeforeTheNewest() {
    assertEquals(set("2", "10"), DrainOrder.first(fourOf("2"), NONE, 2));
  }

  /** Else every look would drain another one, and none would ever fall idle. */
  @Test
  void whoDrainsGoesOn() {
    assertEquals(set("1"), DrainOrder.first(fourOf("2"), set("1"), 1));
  }

  @Test
  void nobodyGoesWhereNothingIsTooMuch() {
    assertEquals(NONE, DrainOrder.first(fourOf("2"), set("1"), -1));
  }
}
