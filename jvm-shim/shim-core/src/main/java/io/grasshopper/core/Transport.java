// How does one message get to the control plane and its answer back?
package io.grasshopper.core;

import java.io.IOException;

/** Starts exchanges that run elsewhere; nothing here ever blocks the caller. */
interface Transport {
  /** Sends {@code body} and calls {@code whenDone} from another thread once there is an answer or a failure. */
  Exchange start(byte[] body, Runnable whenDone) throws IOException;

  /** One exchange under way. */
  interface Exchange {
    boolean isDone();

    /** The answer of an exchange that is done. */
    byte[] answer() throws IOException;

    /** Nobody waits for the answer any more: its connection is closed, whatever it is at. */
    void abandon();
  }

  /** Nobody answers at this address, or not to us: an older control plane, or a token that is not for this. */
  class Absent extends IOException {
    Absent(String message) {
      super(message);
    }
  }

  /** Somebody answers, but not to whoever has this token. */
  final class Refused extends Absent {
    Refused(int status) {
      super("status " + status);
    }
  }

  /** The control plane understood us and wants no repetition of this message. */
  final class Rejected extends IOException {
    final boolean isTooLong;

    Rejected(int status) {
      super("the control plane rejects this message with status " + status);
      isTooLong = status == 413;
    }
  }
}
