// What does a control plane look like to a test that also moves the clock? No sockets and no threads.
package io.grasshopper.core;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** A loop whose exchanges are answered at once, or fail; with a host that holds what it is ordered. */
final class ScriptedPlane {
  /** Makes a reply of a request. */
  interface Answer {
    String to(Map<?, ?> request);
  }

  private static final List<String> KINDS = Arrays.asList(
      "launch_copy", "run_next", "kill_attempt", "stop_job", "container_grant", "avoid_hosts", "cap_executors");
  private static final long MILLI = 1_000_000;
  private static final long LONGEST_STEP_NANOS = 5_000 * MILLI;

  final Guard guard = new Guard(() -> { });
  final List<Order> held = new ArrayList<>();
  /** Each once, however often it is sent. */
  final Set<String> outcomes = new LinkedHashSet<>();
  final SyncLoop loop;
  /** Null for silence. */
  private Answer answer;
  private int requests;
  private long nanos = Long.MAX_VALUE - 5_000 * MILLI;

  ScriptedPlane() {
    Settings settings = new Settings(key -> key.equals("server") ? "http://127.0.0.1:1" : null);
    loop = new SyncLoop("spark", new Holding(), guard, settings, this::exchange, (body, whenDone) -> answered(null), () -> nanos);
    loop.introduce("app-1", 5);
  }

  /** Time goes by, in steps like the loop's own, but for naps. */
  void pass(long millis) {
    long endNanos = nanos + millis * MILLI;
    for (long left = endNanos - nanos; left > 0; left = endNanos - nanos) {
      loop.step();
      nanos += Math.min(left, LONGEST_STEP_NANOS);
    }
    loop.step();
  }

  /** Until the loop has had this answer to its next request, which comes within the breaker's pause; then there is silence. */
  void hear(Answer next) {
    int before = requests;
    answer = next;
    for (int i = 0; i < 1000 && requests == before; i++) {
      nanos += Math.max(MILLI, loop.step());
    }
    loop.step();
    if (requests == before) {
      throw new AssertionError("no request in 1000 steps");
    }
  }

  private Transport.Exchange exchange(byte[] body, Runnable whenDone) throws IOException {
    requests++;
    if (answer == null) {
      return answered(null);
    }
    Map<?, ?> request = (Map<?, ?>) Json.read(body);
    for (Object fact : (List<?>) request.get("facts")) {
      Map<?, ?> fields = (Map<?, ?>) fact;
      if (fields.get("type").equals("order_outcome")) {
        outcomes.add(fields.get("order") + " " + fields.get("result") + " " + fields.get("reason"));
      }
    }
    String reply = answer.to(request);
    answer = null;
    return answered(reply);
  }

  private static Transport.Exchange answered(String reply) {
    return new Transport.Exchange() {
      @Override
      public boolean isDone() {
        return true;
      }

      @Override
      public byte[] answer() throws IOException {
        if (reply == null) {
          throw new IOException("silence");
        }
        return reply.getBytes(StandardCharsets.UTF_8);
      }

      @Override
      public void abandon() {}
    };
  }

  /** Takes every order, and reads of it what hosts read. */
  private final class Holding implements Host {
    @Override
    public Fact attached() {
      return Fact.timeless("driver_attached").withKey("application", "app-1");
    }

    @Override
    public void apply(Order order) {
      if (!KINDS.contains(order.type())) {
        loop.refused(order.id(), "unknown_order");
        return;
      }
      for (String count : new String[] {"target", "cap", "originals", "executors"}) {
        if (order.number(count, 0) != order.integer(count, 0)) {
          throw new IllegalStateException(count + " is not what was sent");
        }
      }
      for (String index : new String[] {"stage", "stage_attempt", "index"}) {
        if (order.integer(index, 0) < 0) {
          throw new IllegalStateException(index + " is not what was sent");
        }
      }
      order.number("attempt", 0);
      order.list("waves").forEach(wave -> Math.toIntExact((Long) wave));
      order.list("hosts").forEach(host -> ((String) host).length());
      order.list("avoid_hosts").forEach(host -> ((String) host).length());
      order.text("host");
      order.text("reason");
      order.flag("before_waiting");
      held.add(order);
      loop.applied(order.id(), -1);
    }

    @Override
    public void settle() {}

    @Override
    public void leaseEnded(String job) {
      held.removeIf(order -> order.text("job").equals(job));
    }

    @Override
    public void standDown(String reason) {
      held.clear();
    }

    @Override
    public long endOverdue(long nowNanos) {
      held.removeIf(order -> order.isOverdue(nowNanos));
      return held.stream().mapToLong(order -> order.expiresNanos() - nowNanos).min().orElse(Long.MAX_VALUE);
    }

    @Override
    public Map<String, Object> progress(long nowNanos, boolean all) {
      return Collections.emptyMap();
    }
  }
}
