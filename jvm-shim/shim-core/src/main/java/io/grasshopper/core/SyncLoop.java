// When does the shim talk to the control plane, and what does it do with the answer?
package io.grasshopper.core;

import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One daemon thread that turns events into facts, keeps one exchange under way at most, and applies replies on the host.
 *
 * <p>It exchanges at the interval the last reply asked for, 5 ms after an urgent event, or when the doorbell rings. It never waits for
 * the network: an exchange that outlives its deadline is abandoned where it is. Leases and overdue wishes end on time, answer or no
 * answer; and all that was ever ordered, one lease after the last valid reply.
 */
public final class SyncLoop {
  private static final Logger LOG = LoggerFactory.getLogger(SyncLoop.class);
  private static final long MILLI = 1_000_000;
  private static final long COALESCE_NANOS = 5 * MILLI;
  private static final long RING_GAP_NANOS = 20 * MILLI;
  private static final long FIRST_INTERVAL_MS = 500;
  private static final long LONGEST_NAP_NANOS = 500 * MILLI;
  private static final long LONGEST_INTERVAL_MS = 60_000;
  /** So long after events were lost, those that were not have come in: what the host has no more by then has ended. */
  private static final long STRAY_EVENTS_NANOS = 3_000 * MILLI;
  private static final long LAST_WORDS_NANOS = 900 * MILLI;

  private final String sourceKind;
  private final Host host;
  private final Guard guard;
  private final Courier<Reply> courier;
  private final Doorbell doorbell;
  private final FactQueue queue;
  private final LiveState live = new LiveState();
  private final Outbox outbox;
  private final Leases leases;
  private final Breaker breaker = new Breaker();
  private final OrderMemory seenOrders = new OrderMemory();
  private final ToldMode toldMode = new ToldMode();
  private final LongSupplier nanoClock;
  private final ToldFailure toldFailure;
  private final Thread thread;
  private final AtomicBoolean signalled = new AtomicBoolean();
  private final CountDownLatch ended = new CountDownLatch(1);
  private final Map<String, Object> source = new LinkedHashMap<>();
  private volatile boolean urgent;
  private volatile String stopReason;

  private long nextDueNanos;
  private long earliestNanos;
  private boolean soon;
  private long soonNanos;
  private boolean rung;
  private boolean isInControl = true;
  private long planeEpoch = -1;
  private long queueDropsReported;
  private boolean hasLostEvents;
  private long forgetNanos;

  /** @param host asked only once the loop has started, so it may be given a loop that is still being built */
  public SyncLoop(String sourceKind, Host host, Guard guard, Settings settings) {
    this(sourceKind, host, guard, settings, new HttpTransport(settings, settings.endpoint(), settings.timeoutMs()),
        new HttpTransport(settings, settings.doorbell(), Doorbell.timeoutMs(settings)), System::nanoTime);
  }

  /** @param nanoClock {@link System#nanoTime}, or a clock a test moves */
  SyncLoop(String sourceKind, Host host, Guard guard, Settings settings, Transport exchanges, Transport questions,
      LongSupplier nanoClock) {
    this.sourceKind = sourceKind;
    this.host = host;
    this.guard = guard;
    this.nanoClock = nanoClock;
    this.toldFailure = new ToldFailure(settings.address());
    this.leases = new Leases(nanoClock);
    this.nextDueNanos = nanoClock.getAsLong();
    this.earliestNanos = nextDueNanos;
    this.courier = new Courier<>(exchanges, settings.timeoutMs() * MILLI, this::wake, Reply::decode, nanoClock);
    this.doorbell = new Doorbell(questions, Doorbell.timeoutMs(settings), source, this::wake, nanoClock);
    this.queue = new FactQueue(settings.queueCapacity(), this::wakeUrgently);
    this.outbox = new Outbox(settings.queueCapacity());
    this.thread = Daemons.named("grasshopper-sync").newThread(this::run);
  }

  /**
   * Begins to exchange; events offered before are waiting in the queue.
   *
   * @param id the host's own name for this source
   * @param epoch grows with every start of the same id
   */
  public void start(String id, long epoch) {
    introduce(id, epoch);
    thread.start();
  }

  void introduce(String id, long epoch) {
    source.put("kind", sourceKind);
    source.put("id", id);
    source.put("epoch", epoch);
  }

  /** Where host threads leave events. */
  public FactQueue queue() {
    return queue;
  }

  /** Which jobs are under control. */
  public Leases leases() {
    return leases;
  }

  /** The live facts; for the loop's own thread. */
  public LiveState live() {
    return live;
  }

  /** Reports a fact; for the loop's own thread. */
  public void emit(Fact fact) {
    live.apply(fact);
    outbox.add(fact);
  }

  /** The order had its effect, on this attempt where there is one, else -1. May be called from any thread. */
  public void applied(long order, long attempt) {
    outcome(order, "applied", "", attempt);
  }

  /** The host's present state forbids the order. May be called from any thread, also under a lock: it wakes nobody. */
  public void refused(long order, String reason) {
    outcome(order, "refused", reason, -1);
  }

  /** The order's time was over before it could have its effect. May be called from any thread. */
  public void expired(long order, String reason) {
    outcome(order, "expired", reason, -1);
  }

  private void outcome(long order, String result, String reason, long attempt) {
    long now = nanoClock.getAsLong();
    queue.offer(() -> {
      if (result.equals("refused")) {
        urgent = true;
      }
      emit(Fact.at("order_outcome", now)
          .with("order", order).with("result", result).withText("reason", reason).with("attempt", attempt));
    });
  }

  /** Says good-bye and ends; waits at most about a second, and not at all where the control plane is known to be away. */
  public void stop(String reason) {
    stopReason = reason == null ? "" : reason;
    if (!thread.isAlive()) {
      return;
    }
    wake();
    try {
      ended.await(LAST_WORDS_NANOS + 100 * MILLI, TimeUnit.NANOSECONDS);
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
    }
  }

  private void wake() {
    if (signalled.compareAndSet(false, true)) {
      LockSupport.unpark(thread);
    }
  }

  /** One wake-up for each exchange: what happens until it is sent goes with it. */
  private void wakeUrgently() {
    if (!urgent) {
      urgent = true;
      wake();
    }
  }

  private void run() {
    try {
      while (stopReason == null && guard.isOn()) {
        signalled.set(false);
        long pauseNanos = step();
        if (pauseNanos > 0 && !signalled.get()) {
          LockSupport.parkNanos(pauseNanos);
        }
      }
      leases.endAll();
      endLeases();
      if (guard.isOn()) {
        guard.run("good-bye", this::sayGoodBye);
      }
    } catch (VirtualMachineError error) {
      guard.switchOff("nobody would end any more what was ordered", error);
      throw error;
    } finally {
      queue.close();
      courier.hangUp();
      doorbell.hangUp();
      ended.countDown();
    }
  }

  /** One turn, whatever comes of it; answers the nanoseconds to the next one. */
  long step() {
    if (!guard.get("sync", false, this::turn)) {
      postpone(FIRST_INTERVAL_MS);
    }
    return nanosToNextTurn();
  }

  /** One look at everything; true when it came to its end. */
  private boolean turn() {
    translateEvents();
    collect();
    endLeases();
    long now = nanoClock.getAsLong();
    if (hasLostEvents && now - forgetNanos >= 0) {
      hasLostEvents = false;
      guard.run("lost events", host::forgetGone);
      outbox.requireFull();
    }
    if (urgent && !soon) {
      soonNanos = now + COALESCE_NANOS;
      soon = isInControl;
    }
    rung |= doorbell.hasRung();
    if (!courier.isUnderWay() && now - dueNanos() >= 0) {
      urgent = false;
      translateEvents();
      send();
    }
    return true;
  }

  private void postpone(long millis) {
    earliestNanos = nanoClock.getAsLong() + millis * MILLI;
    nextDueNanos = earliestNanos;
  }

  private long dueNanos() {
    long due = nextDueNanos;
    if (soon) {
      due = Math.min(due, soonNanos);
    }
    if (rung) {
      due = Math.min(due, courier.sentNanos() + RING_GAP_NANOS);
    }
    return Math.max(due, earliestNanos);
  }

  private void endLeases() {
    for (String job : leases.takeEnded()) {
      guard.run("lease end", () -> host.leaseEnded(job));
    }
    if (leases.takeSilence()) {
      guard.run("silence", () -> host.standDown("lease_ended"));
    }
  }

  /** Never so long that events fill the queue while the control plane is away. */
  private long nanosToNextTurn() {
    long now = nanoClock.getAsLong();
    long exchange = (courier.isUnderWay() ? courier.deadlineNanos() : dueNanos()) - now;
    long wish = guard.get("overdue", Long.MAX_VALUE, () -> host.endOverdue(now));
    long nextEnd = Math.min(wish, leases.nanosToNextEnd());
    return Math.max(0, Math.min(LONGEST_NAP_NANOS, Math.min(exchange, nextEnd)));
  }

  private void translateEvents() {
    for (Runnable event = queue.poll(); event != null; event = queue.poll()) {
      guard.run("event", event);
    }
    if (queue.dropped() != queueDropsReported) {
      queueDropsReported = queue.dropped();
      outbox.requireFull();
      forgetNanos = hasLostEvents ? forgetNanos : nanoClock.getAsLong() + STRAY_EVENTS_NANOS;
      hasLostEvents = true;
    }
  }

  private void send() {
    soon = false;
    rung = false;
    try {
      courier.send(request(nanoClock.getAsLong()));
    } catch (IOException error) {
      outbox.discard();
      failed(error);
    }
  }

  private Map<String, Object> request(long now) {
    Map<String, Object> request = new LinkedHashMap<>();
    request.put("protocol", Reply.PROTOCOL);
    request.put("source", source);
    outbox.next(host.attached(), live, now, request);
    request.put("dropped_events", queue.dropped() + outbox.dropped());
    Map<String, Object> progress = host.progress(now, outbox.tellsAll());
    if (!progress.isEmpty()) {
      request.put("progress", progress);
    }
    return request;
  }

  private void collect() {
    try {
      Reply reply = courier.poll();
      if (reply != null) {
        accept(reply);
      }
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
  }

  private void failed(IOException error) {
    String news = toldFailure.news(error);
    if (!news.isEmpty()) {
      LOG.warn("Grasshopper: {}; the host goes on by itself", news);
    }
    postpone(breaker.failed());
  }

  private void accept(Reply reply) throws IOException {
    if (reply.acknowledged != outbox.sequence() && !reply.wantFull) {
      throw new IOException("the reply acknowledges " + reply.acknowledged + ", not " + outbox.sequence());
    }
    if (breaker.isOpen()) {
      LOG.info("Grasshopper: the control plane answers again, after {} failures", breaker.failures());
      breaker.succeeded();
      toldFailure.over();
    }
    outbox.acknowledge();
    if (!outbox.isRepeat() && !reply.wantFull) {
      host.progressArrived();
    }
    boolean isAskedAgain = reply.wantFull && outbox.isBatchFull();
    if (reply.wantFull) {
      outbox.requireFull();
    }
    if (reply.planeEpoch != planeEpoch) {
      if (planeEpoch != -1) {
        seenOrders.forget();
        outbox.requireFull();
        doorbell.reset();
        guard.run("plane change", () -> host.standDown(""));
      }
      planeEpoch = reply.planeEpoch;
    }
    leases.renew(reply);
    if (isInControl && !reply.isControl()) {
      guard.run("mode change", () -> host.standDown("mode"));
    }
    isInControl = reply.isControl();
    if (toldMode.isNews(reply)) {
      LOG.info("Grasshopper: {}:{} is attached, its mode is {}", sourceKind, source.get("id"), reply.mode);
    }
    schedule(reply, isAskedAgain);
    for (Order order : reply.orders) {
      if (seenOrders.isNew(order.id())) {
        obey(order, reply);
      }
    }
    guard.run("settle", host::settle);
    translateEvents();
    if (isInControl) {
      doorbell.listen();
    }
  }

  /** The plane sets the pace: a full report is due when it says so, urgent events count only where orders may follow. */
  private void schedule(Reply reply, boolean isAskedAgain) {
    long leastMs = isAskedAgain ? FIRST_INTERVAL_MS : 1;
    long intervalMs = Math.max(leastMs, Math.min(LONGEST_INTERVAL_MS, reply.nextIntervalMs));
    soon &= isInControl;
    earliestNanos = nanoClock.getAsLong();
    nextDueNanos = outbox.hasBacklog() ? earliestNanos : courier.sentNanos() + intervalMs * MILLI;
  }

  /** A kill only takes back what was launched in control, so it is the one order that counts after a change of mode. */
  private void obey(Order order, Reply reply) {
    if (order.badField() != null) {
      refused(order.id(), "bad_field:" + order.badField());
    } else if (!reply.isControl() && !order.type().equals("kill_attempt")) {
      refused(order.id(), "mode");
    } else if (order.isOverdue(nanoClock.getAsLong())) {
      expired(order.id(), "overdue");
    } else {
      try {
        host.apply(order);
      } catch (Throwable error) {
        guard.caught("order", error);
        refused(order.id(), "shim_error");
      }
    }
  }

  private void sayGoodBye() {
    long lastNanos = nanoClock.getAsLong() + LAST_WORDS_NANOS;
    translateEvents();
    emit(Fact.timeless("driver_detached").withText("reason", stopReason));
    while (!breaker.isOpen() && !outbox.isEmpty() && nanoClock.getAsLong() - lastNanos < 0) {
      if (!courier.isUnderWay()) {
        send();
      }
      LockSupport.parkNanos(Math.min(20 * MILLI, lastNanos - nanoClock.getAsLong()));
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
}
