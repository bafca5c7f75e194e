// Which mode has the control plane told last, and is that news?
package io.grasshopper.core;

/** The first answer that takes a report in, and each one that brings another mode, is worth a line in the log. */
final class ToldMode {
  private String mode = "";

  /** Whether this answer says something new; one that asks for everything again has taken nothing in. */
  boolean isNews(Reply reply) {
    if (reply.wantFull || reply.mode.equals(mode)) {
      return false;
    }
    mode = reply.mode;
    return true;
  }
}
