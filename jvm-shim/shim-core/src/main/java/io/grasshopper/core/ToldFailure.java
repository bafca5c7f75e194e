// Which failure of an exchange is worth a line in the host's log, and what does the line say?
package io.grasshopper.core;

import java.io.IOException;

/** The first of failures in a row is told, and the first that is about the token: somebody has to do something about that. */
final class ToldFailure {
  private final String address;
  private boolean isAway;
  private boolean isRefused;

  /** @param address of the control plane */
  ToldFailure(String address) {
    this.address = address;
  }

  /** A sentence about this failure, empty where it is no news. */
  String news(IOException error) {
    boolean isKnown = error instanceof Transport.Refused ? isRefused : isAway || isRefused;
    isAway = true;
    isRefused |= error instanceof Transport.Refused;
    if (isKnown) {
      return "";
    }
    return error instanceof Transport.Refused
        ? "token refused by " + address + " (" + error.getMessage() + ")"
        : "the control plane is away (" + address + ": " + error.getMessage() + ")";
  }

  /** An exchange has succeeded: the next failure is news. */
  void over() {
    isAway = false;
    isRefused = false;
  }
}
