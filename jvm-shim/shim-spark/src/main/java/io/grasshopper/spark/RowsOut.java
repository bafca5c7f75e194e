// How many rows have come out of what a task does? Read off the metrics that its SQL operators keep.
package io.grasshopper.spark;

import java.util.HashMap;
import java.util.Map;

/**
 * Rows that Python workers have returned, where a task has any; else those of the last operator that counts its own.
 *
 * <p>Metrics come in the order in which Spark registers them, those nearest the input first; RATIONALE.md says what else stands
 * among them. An operator that nothing moves before is the one that reads: its rows say nothing of what has come out.
 */
final class RowsOut {
  static final long UNKNOWN = -1;

  /** What a metric is of, by its name; all others tell nothing here. */
  enum Metric { SCAN, SHUFFLE_READ, ROWS, COLUMNAR_BATCHES, WORKER, SORT, SHUFFLE_ROWS }

  private static final Map<String, Metric> BY_NAME = new HashMap<>();

  static {
    BY_NAME.put("scan time", Metric.SCAN);
    BY_NAME.put("records read", Metric.SHUFFLE_READ);
    BY_NAME.put("number of output rows", Metric.ROWS);
    BY_NAME.put("number of input batches", Metric.COLUMNAR_BATCHES);
    BY_NAME.put("data sent to Python workers", Metric.WORKER);
    BY_NAME.put("data returned from Python workers", Metric.WORKER);
    BY_NAME.put("sort time", Metric.SORT);
    BY_NAME.put("shuffle records written", Metric.SHUFFLE_ROWS);
  }

  private long fromWorkers = UNKNOWN;
  private long ofLast = UNKNOWN;
  private long beforeLast = UNKNOWN;
  private boolean hasMoved;
  private boolean isFed;
  private boolean isWorker;

  /** Null for a metric that tells nothing. */
  static Metric metric(String name) {
    return BY_NAME.get(name);
  }

  void next(Metric metric, long value) {
    switch (metric) {
      case SCAN:
        isFed = false;
        break;
      case SHUFFLE_READ:
        isFed = false;
        hasMoved |= value > 0;
        break;
      case WORKER:
        isWorker = true;
        isFed |= value > 0;
        fromWorkers = isFed ? Math.max(0, fromWorkers) : fromWorkers;
        break;
      case ROWS:
        fromWorkers += isWorker && isFed ? value : 0;
        isWorker = false;
        isFed |= value > 0;
        last(value);
        hasMoved |= value > 0;
        break;
      case SHUFFLE_ROWS:
        last(value);
        break;
      case COLUMNAR_BATCHES:
        ofLast = beforeLast;
        break;
      default:
        ofLast = UNKNOWN;
    }
  }

  private void last(long value) {
    beforeLast = ofLast;
    ofLast = hasMoved && value > 0 ? value : UNKNOWN;
  }

  /** Of Python workers only: all that can be told where metrics that stand at nought are left out, as in heartbeats. */
  long fromWorkers() {
    return fromWorkers;
  }

  long count() {
    return fromWorkers == UNKNOWN ? ofLast : fromWorkers;
  }
}
