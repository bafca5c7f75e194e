// What would a host have been told to do?
package io.grasshopper.core;

import java.util.Collections;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/** A host without a system behind it: it writes down every call. */
final class RecordingHost implements Host {
  final BlockingQueue<String> calls = new LinkedBlockingQueue<>();
  volatile SyncLoop loop;
  /** Whether its one attempt has moved, and that has not arrived yet. */
  volatile boolean hasNewProgress;

  @Override
  public Fact attached() {
    return Fact.timeless("driver_attached").withKey("application", "app-1");
  }

  @Override
  public void apply(Order order) {
    calls.add(order.type() + " " + order.id());
    if (order.type().equals("break")) {
      throw new IllegalStateException("as the test wants");
    }
    loop.applied(order.id(), -1);
  }

  @Override
  public void settle() {}

  @Override
  public void leaseEnded(String job) {
    calls.add("lease ended " + job);
  }

  @Override
  public void standDown(String reason) {
    calls.add("stand down " + reason);
  }

  @Override
  public void forgetGone() {
    calls.add("forget gone");
    loop.live().retain(fact -> false);
  }

  @Override
  public long endOverdue(long nowNanos) {
    return Long.MAX_VALUE;
  }

  @Override
  public Map<String, Object> progress(long nowNanos, boolean all) {
    return hasNewProgress ? Collections.singletonMap("attempt", Collections.singleton(7L)) : Collections.emptyMap();
  }

  @Override
  public void progressArrived() {
    hasNewProgress = false;
  }
}
