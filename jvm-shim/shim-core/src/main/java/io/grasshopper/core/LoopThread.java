// When does the sync loop's thread sleep, and what wakes it?
package io.grasshopper.core;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;

/** The one daemon thread of a sync loop. All but {@link #turn} may be called from any thread. */
final class LoopThread {
  private final Thread thread;
  private final AtomicBoolean signalled = new AtomicBoolean();
  private volatile boolean urgent;

  LoopThread(Runnable body) {
    thread = Daemons.named("grasshopper-sync").newThread(body);
  }

  void start() {
    thread.start();
  }

  boolean isAlive() {
    return thread.isAlive();
  }

  /** One turn, then a nap of the nanoseconds that the turn answers. A wake-up ends the nap; during the turn, it saves it. */
  void turn(LongSupplier body) {
    signalled.set(false);
    long pauseNanos = body.getAsLong();
    if (pauseNanos > 0 && !signalled.get()) {
      LockSupport.parkNanos(pauseNanos);
    }
  }

  void wake() {
    if (signalled.compareAndSet(false, true)) {
      LockSupport.unpark(thread);
    }
  }

  /** One wake-up for each exchange: what happens until it is sent goes with it. */
  void wakeUrgently() {
    if (!urgent) {
      urgent = true;
      wake();
    }
  }

  /** Something urgent has happened; it goes with the next turn, for nobody is woken. */
  void markUrgent() {
    urgent = true;
  }

  /** What is urgent from here on goes with another exchange. */
  void clearUrgent() {
    urgent = false;
  }

  boolean isUrgent() {
    return urgent;
  }
}
