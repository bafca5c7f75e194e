// Which facts go into the next request, and which go again because nobody acknowledged them?
package io.grasshopper.core;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;

/**
 * Facts on their way out, in numbered batches.
 *
 * <p>A batch stays what it is until its sequence number is acknowledged, so sending it again is harmless. When more facts wait
 * than fit, they are dropped and counted, and the next batch is a full report instead. Outcomes of orders and the good-bye are
 * not part of the live state, so a full report carries those that still wait, at its end. Where it replaces a batch that was not
 * acknowledged, a number is left out: the next one would say that the reply to that batch arrived, and with it its orders.
 */
final class Outbox {
  private static final int MAX_BATCH = 2_000;

  private final int capacity;
  private final Deque<Fact> waiting = new ArrayDeque<>();
  private List<Fact> batch;
  private boolean batchIsFull;
  private boolean wantFull = true;
  private boolean isBrief;
  private boolean isRepeat;
  private long sequence;
  private long dropped;

  Outbox(int capacity) {
    this.capacity = capacity;
  }

  void add(Fact fact) {
    if (LiveState.isSnapshot(fact)) {
      waiting.removeIf(other -> other.type().equals(fact.type()));
    }
    if (waiting.size() >= capacity) {
      dropped += waiting.size();
      waiting.clear();
      wantFull = true;
    }
    waiting.add(fact);
  }

  /** Asks for a full report next; it replaces whatever was not acknowledged. */
  void requireFull() {
    wantFull = true;
  }

  boolean isEmpty() {
    return waiting.isEmpty() && batch == null && !wantFull;
  }

  /** Whether more facts wait than one batch takes. */
  boolean hasBacklog() {
    return !wantFull && waiting.size() > MAX_BATCH;
  }

  /** Puts the batch to send now into a request: number, kind, and facts with their age as of now. */
  void next(Fact attached, LiveState live, long nowNanos, Map<String, Object> request) {
    List<Object> facts = new ArrayList<>();
    for (Fact fact : next(attached, live)) {
      facts.add(fact.toWire(nowNanos));
    }
    request.put("sequence", sequence);
    request.put("full", batchIsFull);
    request.put("facts", facts);
  }

  /** The unacknowledged batch again, a full report, or what waits. */
  List<Fact> next(Fact attached, LiveState live) {
    isRepeat = batch != null && !wantFull;
    if (wantFull) {
      sequence += batch == null ? 1 : 2;
      List<Fact> others = new ArrayList<>();
      addWithoutState(batch, others);
      addWithoutState(waiting, others);
      waiting.clear();
      batch = new ArrayList<>();
      batch.add(attached);
      batch.addAll(live.report(isBrief));
      batch.addAll(others);
      batchIsFull = true;
      wantFull = false;
    } else if (batch == null) {
      batch = new ArrayList<>();
      while (batch.size() < MAX_BATCH && !waiting.isEmpty()) {
        batch.add(waiting.poll());
      }
      batchIsFull = false;
      sequence++;
    }
    return batch;
  }

  private static void addWithoutState(Iterable<Fact> from, List<Fact> to) {
    if (from != null) {
      for (Fact fact : from) {
        if (fact.type().equals("order_outcome") || fact.type().equals("driver_detached")) {
          to.add(fact);
        }
      }
    }
  }

  /** The current batch has arrived. */
  void acknowledge() {
    batch = null;
  }

  /** The facts of the current batch were taken in. */
  void told() {
    batch.forEach(Fact::told);
  }

  /** The current batch is refused for good: it is dropped, and a full report takes its place. */
  void discard() {
    dropped += batch == null ? 0 : batch.size();
    batch = null;
    sequence++;
    wantFull = true;
  }

  /** Full reports are brief from now on, because one was too long. */
  void beBrief() {
    isBrief = true;
  }

  boolean isBatchFull() {
    return batchIsFull;
  }

  /** Whether the batch is one that was sent before; of a request that repeats a number, only the first counts. */
  boolean isRepeat() {
    return isRepeat;
  }

  /** Whether the batch is a full report that need not be brief. */
  boolean tellsAll() {
    return batchIsFull && !isBrief;
  }

  long sequence() {
    return sequence;
  }

  long dropped() {
    return dropped;
  }
}
