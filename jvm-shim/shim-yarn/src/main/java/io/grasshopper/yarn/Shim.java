// What do all parts of the plug-in share? One guard, which keeps our errors from the ResourceManager.
package io.grasshopper.yarn;

import io.grasshopper.core.Guard;
import java.util.function.Supplier;

/** An exception in a scheduler plug-in ends the ResourceManager, so every method of ours goes through here. */
final class Shim {
  /** As the jar's manifest has it. */
  static final String VERSION = Shim.class.getPackage().getImplementationVersion();

  private static final Guard GUARD = new Guard(Plan::withdrawAll);

  private Shim() {}

  static Guard guard() {
    return GUARD;
  }

  static boolean isOn() {
    return GUARD.isOn();
  }

  static void run(String hook, Runnable body) {
    GUARD.run(hook, body);
  }

  static <T> T get(String hook, T fallback, Supplier<T> body) {
    return GUARD.get(hook, fallback, body);
  }

  static void caught(String hook, Throwable error) {
    GUARD.caught(hook, error);
  }
}
