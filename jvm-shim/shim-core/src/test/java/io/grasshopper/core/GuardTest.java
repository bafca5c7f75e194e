// Does our own failure ever become the host's?
package io.grasshopper.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class GuardTest {
  private final AtomicInteger switchedOff = new AtomicInteger();
  private final Guard guard = new Guard(switchedOff::incrementAndGet);

  @Test
  void catchesAndCountsWhatHooksThrow() {
    guard.run("hook", () -> {
      throw new IllegalStateException();
    });
    assertEquals("stock", guard.get("hook", "stock", () -> {
      throw new AssertionError();
    }));
    assertEquals(2, guard.errors());
    assertTrue(guard.isOn());
  }

  @Test
  void letsTheHostSeeAnErrorOfTheVirtualMachine() {
    assertThrows(OutOfMemoryError.class, () -> guard.run("hook", () -> {
      throw new OutOfMemoryError("as the test wants");
    }));
  }

  @Test
  void catchesAStackThatWasTooDeep() {
    guard.run("hook", () -> {
      throw new StackOverflowError();
    });
    assertEquals(1, guard.errors());
  }

  @Test
  void switchesOffOnceWhereTheHostVersionDoesNotFit() {
    for (int i = 0; i < 2; i++) {
      guard.run("hook", () -> {
        throw new NoSuchMethodError("gone");
      });
    }
    assertFalse(guard.isOn());
    assertEquals(1, switchedOff.get());
    guard.run("hook", () -> switchedOff.set(99));
    assertEquals(1, switchedOff.get(), "a hook body ran although the shim is off");
  }
}
