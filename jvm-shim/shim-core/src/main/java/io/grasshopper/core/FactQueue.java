// How do host threads hand over what happened without ever waiting?
package io.grasshopper.core;

import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A bounded queue of small translations ("turn this event into facts") that run later, on the sync loop's thread.
 *
 * <p>{@link #offer} never blocks: when the queue is full the event is dropped and counted, and the next report is a full one.
 */
public final class FactQueue {
  private final ArrayBlockingQueue<Runnable> events;
  private final AtomicLong dropped = new AtomicLong();
  private final Runnable wake;
  private volatile boolean isClosed;

  FactQueue(int capacity, Runnable wake) {
    this.events = new ArrayBlockingQueue<>(capacity);
    this.wake = wake;
  }

  /** Leaves an event to be translated with the next exchange. */
  public void offer(Runnable translation) {
    if (isClosed || !events.offer(translation)) {
      dropped.incrementAndGet();
    }
  }

  /** Leaves an event that may cause an order: the loop wakes up and exchanges soon. */
  public void offerUrgent(Runnable translation) {
    offer(translation);
    hurry();
  }

  /** Wakes the loop for events that were left by a thread that should not: one that holds a lock of the host's. */
  public void hurry() {
    wake.run();
  }

  /** Nobody translates any more: what waits is dropped, and so is what comes. */
  void close() {
    isClosed = true;
    events.clear();
  }

  Runnable poll() {
    return events.poll();
  }

  long dropped() {
    return dropped.get();
  }
}
