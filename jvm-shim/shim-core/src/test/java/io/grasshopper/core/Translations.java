// What do a loop's events become where no loop runs?
package io.grasshopper.core;

/** For tests in other packages. */
public final class Translations {
  private Translations() {}

  /** Turns all that wait into facts. */
  public static void run(SyncLoop loop) {
    for (Runnable event = loop.queue().poll(); event != null; event = loop.queue().poll()) {
      event.run();
    }
  }
}
