// How does one exchange at a time come to its end, answered or not?
package io.grasshopper.core;

import java.io.IOException;
import java.util.Map;

/** Keeps one exchange under way at most, and walks away from it at its deadline. For the sync loop's thread. */
final class Courier<R> {
  /** Makes of an answer's bytes what they say. */
  interface Decoder<R> {
    R decode(byte[] bytes, long receivedNanos) throws IOException;
  }

  private final Transport transport;
  private final long timeoutNanos;
  private final Runnable whenDone;
  private final Decoder<R> decoder;
  private Transport.Exchange underWay;
  private long sentNanos;

  /** @param whenDone runs on another thread once an answer or a failure can be polled */
  Courier(Transport transport, long timeoutNanos, Runnable whenDone, Decoder<R> decoder) {
    this.transport = transport;
    this.timeoutNanos = timeoutNanos;
    this.whenDone = whenDone;
    this.decoder = decoder;
  }

  void send(Map<String, Object> request) throws IOException {
    byte[] body = Json.write(request);
    sentNanos = System.nanoTime();
    underWay = transport.start(body, whenDone);
  }

  boolean isUnderWay() {
    return underWay != null;
  }

  long sentNanos() {
    return sentNanos;
  }

  long deadlineNanos() {
    return sentNanos + timeoutNanos;
  }

  /** The reply; null while there is none yet. Its failure, or that of its deadline, is thrown once. */
  R poll() throws IOException {
    Transport.Exchange exchange = underWay;
    if (exchange == null) {
      return null;
    }
    if (exchange.isDone()) {
      underWay = null;
      return decoder.decode(exchange.answer(), System.nanoTime());
    }
    if (System.nanoTime() - deadlineNanos() >= 0) {
      underWay = null;
      throw new IOException("no answer within " + timeoutNanos / 1_000_000 + " ms");
    }
    return null;
  }
}
