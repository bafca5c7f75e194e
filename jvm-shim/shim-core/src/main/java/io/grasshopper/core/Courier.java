// How does one exchange at a time come to its end, answered or not?
package io.grasshopper.core;

import java.io.IOException;
import java.util.Map;
import java.util.function.LongSupplier;

/** Keeps one exchange under way at most, and hangs up at its deadline. For the sync loop's thread. */
final class Courier<R> {
  /** Makes of an answer's bytes what they say. */
  interface Decoder<R> {
    R decode(byte[] bytes, long receivedNanos) throws IOException;
  }

  private final Transport transport;
  private final long timeoutNanos;
  private final Runnable whenDone;
  private final Decoder<R> decoder;
  private final LongSupplier nanoClock;
  private Transport.Exchange underWay;
  private long sentNanos;

  /** @param whenDone runs on another thread once an answer or a failure can be polled */
  Courier(Transport transport, long timeoutNanos, Runnable whenDone, Decoder<R> decoder, LongSupplier nanoClock) {
    this.transport = transport;
    this.timeoutNanos = timeoutNanos;
    this.whenDone = whenDone;
    this.decoder = decoder;
    this.nanoClock = nanoClock;
  }

  void send(Map<String, Object> request) throws IOException {
    byte[] body = Json.write(request);
    sentNanos = nanoClock.getAsLong();
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
      return decoder.decode(exchange.answer(), nanoClock.getAsLong());
    }
    if (nanoClock.getAsLong() - deadlineNanos() >= 0) {
      hangUp();
      throw new IOException("no answer within " + timeoutNanos / 1_000_000 + " ms");
    }
    return null;
  }

  /** Whatever is under way comes to nothing. */
  void hangUp() {
    if (underWay != null) {
      underWay.abandon();
      underWay = null;
    }
  }
}
