// What does a request say?
package io.grasshopper.core;

import java.util.LinkedHashMap;
import java.util.Map;

/** Who speaks, the batch of facts that is to be sent, what was lost, and progress. For the sync loop's thread. */
final class Message {
  private final Map<String, Object> source;
  private final Host host;
  private final LiveState live;
  private final FactQueue queue;
  private final Outbox outbox;
  private long planeEpoch;

  /** @param source who speaks, filled in by the time of the first request */
  Message(Map<String, Object> source, Host host, LiveState live, FactQueue queue, Outbox outbox) {
    this.source = source;
    this.host = host;
    this.live = live;
    this.queue = queue;
    this.outbox = outbox;
  }

  Map<String, Object> next(long now) {
    Map<String, Object> request = new LinkedHashMap<>();
    request.put("protocol", Reply.PROTOCOL);
    request.put("source", source);
    outbox.next(host.attached(), live, now, request);
    request.put("dropped_events", Fact.count(queue.dropped() + outbox.dropped()));
    Map<String, Object> progress = host.progress(now, outbox.tellsAll());
    if (!progress.isEmpty()) {
      request.put("progress", progress);
    }
    return request;
  }

  /**
   * The batch does not go again. Its progress has arrived, unless the reply wants a full report instead. So have its facts, unless
   * another control plane answers, which takes in nothing before a full report.
   */
  void acknowledge(Reply reply) {
    if (!reply.wantFull && (outbox.isBatchFull() || reply.planeEpoch == planeEpoch)) {
      outbox.told();
    }
    planeEpoch = reply.planeEpoch;
    outbox.acknowledge();
    if (!outbox.isRepeat() && !reply.wantFull) {
      host.progressArrived();
    }
    if (reply.wantFull) {
      outbox.requireFull();
    }
  }
}
