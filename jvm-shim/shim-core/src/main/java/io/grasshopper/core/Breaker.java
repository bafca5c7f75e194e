// How long does the shim leave a control plane alone that does not answer?
package io.grasshopper.core;

/** A circuit breaker: the pause doubles with every failure in a row, up to half a minute. */
final class Breaker {
  private static final long FIRST_PAUSE_MS = 250;
  private static final long LONGEST_PAUSE_MS = 30_000;

  private int failures;

  /** Accounts for a failure; answers how many milliseconds to pause. */
  long failed() {
    failures++;
    return Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS << Math.min(20, failures - 1));
  }

  void succeeded() {
    failures = 0;
  }

  /** Whether the last exchange failed. */
  boolean isOpen() {
    return failures > 0;
  }

  int failures() {
    return failures;
  }
}
