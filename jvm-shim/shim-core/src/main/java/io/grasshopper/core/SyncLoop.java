// When does the shim talk to the control plane, and what does it do with the answer?
package io.grasshopper.core;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One daemon thread that turns events into facts, keeps one exchange under way at most, and applies replies on the host.
 *
 * <p>{@link Pace} says when it exchanges. It never waits for the network: an exchange that outlives its deadline is abandoned
 * where it is. Leases and overdue wishes end on time, answer or no answer; and all that was ever ordered, one lease after the
 * last valid reply.
 */
public final class SyncLoop {
  private static final Logger LOG = LoggerFactory.getLogger(SyncLoop.class);
  private static final long MILLI = 1_000_000;
  private static final long LONGEST_NAP_NANOS = 500 * MILLI;
  private static final long LAST_WORDS_NANOS = 900 * MILLI;

  private final Host host;
  private final Guard guard;
  private final LongSupplier nanoClock;
  private final Map<String, Object> source = new LinkedHashMap<>();
  private final LoopThread thread;
  private final FactQueue queue;
  private final LiveState live = new LiveState();
  private final Outbox outbox;
  private final Intake intake;
  private final Leases leases;
  private final ControlState control;
  private final Outcomes outcomes;
  private final OrderDispatch dispatch;
  private final Pace pace;
  private final Exchanges exchanges;
  private final Doorbell doorbell;
  private final ToldMode toldMode = new ToldMode();
  private final CountDownLatch ended = new CountDownLatch(1);
  private volatile String stopReason;

  /** @param host asked only once the loop has started, so it may be given a loop that is still being built */
  public SyncLoop(String sourceKind, Host host, Guard guard, Settings settings) {
    this(sourceKind, host, guard, settings, new HttpTransport(settings, settings.endpoint(), settings.timeoutMs()),
        new HttpTransport(settings, settings.doorbell(), Doorbell.timeoutMs(settings)), System::nanoTime);
  }

  /** @param nanoClock {@link System#nanoTime}, or a clock a test moves */
  SyncLoop(String sourceKind, Host host, Guard guard, Settings settings, Transport requests, Transport questions,
      LongSupplier nanoClock) {
    this.host = host;
    this.guard = guard;
    this.nanoClock = nanoClock;
    source.put("kind", sourceKind);
    thread = new LoopThread(this::run);
    queue = new FactQueue(settings.queueCapacity(), thread::wakeUrgently);
    outbox = new Outbox(settings.queueCapacity());
    intake = new Intake(queue, outbox, host, guard, nanoClock);
    leases = new Leases(nanoClock);
    control = new ControlState(host, guard, leases);
    outcomes = new Outcomes(queue, thread, this::emit, nanoClock);
    dispatch = new OrderDispatch(host, guard, outcomes, nanoClock);
    pace = new Pace(nanoClock);
    Courier<Reply> courier =
        new Courier<>(requests, settings.timeoutMs() * MILLI, thread::wake, Reply::decode, nanoClock);
    Message message = new Message(source, host, live, queue, outbox);
    exchanges = new Exchanges(courier, message, outbox, pace, new ToldFailure(settings.address()), nanoClock);
    doorbell = new Doorbell(questions, Doorbell.timeoutMs(settings), source, thread::wake, nanoClock);
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
    outcomes.applied(order, attempt);
  }

  /** The host's present state forbids the order. May be called from any thread, also under a lock: it wakes nobody. */
  public void refused(long order, String reason) {
    outcomes.refused(order, reason);
  }

  /** The order's time was over before it could have its effect. May be called from any thread. */
  public void expired(long order, String reason) {
    outcomes.expired(order, reason);
  }

  /** Says good-bye and ends; waits at most about a second, and not at all where the control plane is known to be away. */
  public void stop(String reason) {
    stopReason = reason == null ? "" : reason;
    if (!thread.isAlive()) {
      return;
    }
    thread.wake();
    try {
      ended.await(LAST_WORDS_NANOS + 100 * MILLI, TimeUnit.NANOSECONDS);
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
    }
  }

  private void run() {
    try {
      while (stopReason == null && guard.isOn()) {
        thread.turn(this::step);
      }
      control.end();
      if (guard.isOn()) {
        guard.run("good-bye", this::sayGoodBye);
      }
    } catch (VirtualMachineError error) {
      guard.switchOff("nobody would end any more what was ordered", error);
      throw error;
    } finally {
      queue.close();
      exchanges.hangUp();
      doorbell.hangUp();
      ended.countDown();
    }
  }

  /** One turn, whatever comes of it; answers the nanoseconds to the next one. */
  long step() {
    if (!guard.get("sync", false, this::turn)) {
      pace.postpone();
    }
    return nanosToNextTurn();
  }

  /** One look at everything; true when it came to its end. */
  private boolean turn() {
    intake.translateEvents();
    Reply reply = exchanges.poll();
    if (reply != null) {
      accept(reply);
    }
    control.endLeases();
    long now = nanoClock.getAsLong();
    intake.forgetLost(now);
    if (thread.isUrgent()) {
      pace.hurry(now, control.isInControl());
    }
    pace.ring(doorbell.hasRung());
    if (exchanges.isDue(now)) {
      thread.clearUrgent();
      intake.translateEvents();
      exchanges.send();
    }
    return true;
  }

  /** Never so long that events fill the queue while the control plane is away. */
  private long nanosToNextTurn() {
    long now = nanoClock.getAsLong();
    long exchange = exchanges.nextNanos() - now;
    long wish = guard.get("overdue", Long.MAX_VALUE, () -> host.endOverdue(now));
    long nextEnd = Math.min(wish, leases.nanosToNextEnd());
    return Math.max(0, Math.min(LONGEST_NAP_NANOS, Math.min(exchange, nextEnd)));
  }

  private void accept(Reply reply) {
    if (control.isAnother(reply)) {
      dispatch.forget();
      outbox.requireFull();
      doorbell.reset();
    }
    control.follow(reply);
    if (toldMode.isNews(reply)) {
      LOG.info("Grasshopper: {}:{} is attached, its mode is {}", source.get("kind"), source.get("id"), reply.mode);
    }
    exchanges.schedule(reply);
    dispatch.obey(reply);
    intake.translateEvents();
    if (control.isInControl()) {
      doorbell.listen();
    }
  }

  private void sayGoodBye() {
    long lastNanos = nanoClock.getAsLong() + LAST_WORDS_NANOS;
    intake.translateEvents();
    emit(Fact.timeless("driver_detached").withText("reason", stopReason));
    exchanges.flush(lastNanos);
  }
}
