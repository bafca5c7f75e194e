// How many containers are taken from those above their target?
package io.grasshopper.yarn;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
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

  /** They have done the least work. */
  @Test
  void endsTheNewestContainersFirst() {
    List<RMContainer> containers = Stream.of(20L, 40L, 10L, 30L).map(EnforcementTest::created).collect(Collectors.toList());
    assertEquals(Arrays.asList(40L, 30L), Enforcement.newest(containers, 2).stream()
        .map(RMContainer::getCreationTime).collect(Collectors.toList()));
    assertEquals(4, Enforcement.newest(containers, 9).size());
  }

  private static RMContainer created(long unixMs) {
    return (RMContainer) Proxy.newProxyInstance(RMContainer.class.getClassLoader(), new Class<?>[] {RMContainer.class},
        (proxy, method, arguments) -> method.getName().equals("getCreationTime") ? unixMs : null);
  }
}
