// How do our threads never keep a host process alive?
package io.grasshopper.core;

import java.util.concurrent.ThreadFactory;

/** Makes daemon threads with a name. */
public final class Daemons {
  private Daemons() {}

  /** A factory of daemon threads, all of this name. */
  public static ThreadFactory named(String name) {
    return body -> {
      Thread thread = new Thread(body, name);
      thread.setDaemon(true);
      return thread;
    };
  }
}
