// How does the shim hear of orders that no fact of its own has caused?
package io.grasshopper.core;

import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A question that the control plane leaves open until orders wait for this source. For the sync loop's thread.
 *
 * <p>The answer carries no orders, it is only a reason to exchange now. The question is asked again after the next valid reply in
 * mode control, so a control plane that does not answer exchanges is not asked, and one that rings all the time makes
 * exchanges 20 ms apart and nothing more. Where it fails, it rests; where there is no such question, it is not asked again until
 * another control plane answers. Orders then wait for the next exchange.
 */
final class Doorbell {
  private static final Logger LOG = LoggerFactory.getLogger(Doorbell.class);
  private static final int WAIT_MS = 10_000;
  private static final long MILLI = 1_000_000;

  private final Map<String, Object> question = new LinkedHashMap<>();
  private final Courier<Boolean> courier;
  private final Breaker breaker = new Breaker();
  private final LongSupplier nanoClock;
  private boolean isAbsent;
  private long earliestNanos;

  /** Its deadline: an answer takes as long as it may wait, and then as long as any other. */
  static int timeoutMs(Settings settings) {
    return WAIT_MS + settings.timeoutMs();
  }

  /**
   * @param source who asks, filled in by the time of the first question
   * @param whenDone runs on another thread when it may have rung
   */
  Doorbell(Transport transport, int timeoutMs, Map<String, Object> source, Runnable whenDone, LongSupplier nanoClock) {
    question.put("protocol", Reply.PROTOCOL);
    question.put("source", source);
    question.put("wait_ms", WAIT_MS);
    this.nanoClock = nanoClock;
    this.earliestNanos = nanoClock.getAsLong();
    this.courier = new Courier<>(transport, timeoutMs * MILLI, whenDone, Doorbell::decode, nanoClock);
  }

  /** Asks, unless the question is open already or nobody is to be asked now. */
  void listen() {
    if (isAbsent || courier.isUnderWay() || nanoClock.getAsLong() - earliestNanos < 0) {
      return;
    }
    try {
      courier.send(question);
    } catch (IOException error) {
      failed(error);
    }
  }

  /** Whether it has rung; true once for each ring. */
  boolean hasRung() {
    try {
      Boolean rings = courier.poll();
      if (rings != null) {
        breaker.succeeded();
      }
      return rings != null && rings;
    } catch (Transport.Absent error) {
      isAbsent = true;
      LOG.info("Grasshopper: the control plane has no doorbell for us ({}); orders wait for the next exchange", error.getMessage());
    } catch (IOException error) {
      failed(error);
    }
    return false;
  }

  /** Another control plane answers: nothing is known of it. */
  void reset() {
    isAbsent = false;
    breaker.succeeded();
    earliestNanos = nanoClock.getAsLong();
  }

  /** Nobody listens any more. */
  void hangUp() {
    courier.hangUp();
  }

  private void failed(IOException error) {
    earliestNanos = nanoClock.getAsLong() + breaker.failed() * MILLI;
    LOG.debug("Grasshopper: the doorbell failed, and rests", error);
  }

  private static Boolean decode(byte[] bytes, long receivedNanos) throws IOException {
    Object answer = Json.read(bytes);
    if (!(answer instanceof Map)) {
      throw new IOException("the doorbell's answer is not an object");
    }
    Map<?, ?> fields = (Map<?, ?>) answer;
    Reply.require(fields, Shape.RING, "");
    return (Long) fields.get("orders_waiting") > 0;
  }
}
