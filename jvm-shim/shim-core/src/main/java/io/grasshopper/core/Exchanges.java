// How do requests go out one by one, and what follows from an answer, a failure, or none?
package io.grasshopper.core;

import java.io.IOException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps one exchange under way at most, and never waits for it. For the sync loop's thread.
 *
 * <p>What was not acknowledged goes again, after a pause that grows with every failure in a row.
 */
final class Exchanges {
  private static final Logger LOG = LoggerFactory.getLogger(Exchanges.class);
  private static final long LAST_WORDS_NAP_NANOS = 20_000_000;

  private final Courier<Reply> courier;
  private final Message message;
  private final Outbox outbox;
  private final Pace pace;
  private final ToldFailure toldFailure;
  private final LongSupplier nanoClock;
  private final Breaker breaker = new Breaker();

  Exchanges(Courier<Reply> courier, Message message, Outbox outbox, Pace pace, ToldFailure toldFailure,
      LongSupplier nanoClock) {
    this.courier = courier;
    this.message = message;
    this.outbox = outbox;
    this.pace = pace;
    this.toldFailure = toldFailure;
    this.nanoClock = nanoClock;
  }

  /** Whether it is time to send, and nothing is under way. */
  boolean isDue(long nowNanos) {
    return !courier.isUnderWay() && nowNanos - pace.dueNanos(courier.sentNanos()) >= 0;
  }

  /** When there is something to do, if nothing else happens: the deadline of what is under way, or the time to send. */
  long nextNanos() {
    return courier.isUnderWay() ? courier.deadlineNanos() : pace.dueNanos(courier.sentNanos());
  }

  void send() {
    pace.begin();
    try {
      courier.send(message.next(nanoClock.getAsLong()));
    } catch (IOException error) {
      outbox.discard();
      failed(error);
    }
  }

  /** The reply to what was sent, once; null while there is none, and where there will be none. */
  Reply poll() {
    try {
      Reply reply = courier.poll();
      if (reply != null) {
        takeIn(reply);
      }
      return reply;
    } catch (Transport.Rejected error) {
      LOG.warn("Grasshopper: {}; a full report comes next", error.getMessage());
      if (error.isTooLong && outbox.isBatchFull()) {
        outbox.beBrief();
      }
      outbox.discard();
      failed(error);
    } catch (IOException error) {
      failed(error);
    }
    return null;
  }

  private void takeIn(Reply reply) throws IOException {
    if (reply.acknowledged != outbox.sequence() && !reply.wantFull) {
      throw new IOException("the reply acknowledges " + reply.acknowledged + ", not " + outbox.sequence());
    }
    if (breaker.isOpen()) {
      LOG.info("Grasshopper: the control plane answers again, after {} failures", breaker.failures());
      breaker.succeeded();
      toldFailure.over();
    }
    message.acknowledge(reply);
  }

  private void failed(IOException error) {
    String news = toldFailure.news(error);
    if (!news.isEmpty()) {
      LOG.warn("Grasshopper: {}; the host goes on by itself", news);
    }
    pace.postpone(breaker.failed());
  }

  /** The next one is due when this reply says so. */
  void schedule(Reply reply) {
    pace.follow(reply, outbox, courier.sentNanos());
  }

  /** Sends what is left, until that moment at the latest; nothing where the control plane is known to be away. */
  void flush(long lastNanos) {
    while (!breaker.isOpen() && !outbox.isEmpty() && nanoClock.getAsLong() - lastNanos < 0) {
      if (!courier.isUnderWay()) {
        send();
      }
      LockSupport.parkNanos(Math.min(LAST_WORDS_NAP_NANOS, lastNanos - nanoClock.getAsLong()));
      try {
        Reply reply = courier.poll();
        if (reply != null && reply.wantFull) {
          return;
        }
        if (reply != null) {
          outbox.acknowledge();
        }
      } catch (IOException error) {
        return;
      }
    }
  }

  void hangUp() {
    courier.hangUp();
  }
}
