// How far is each running attempt, by what was last heard of it?
package io.grasshopper.core;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The newest totals of each attempt, and whether they have arrived.
 *
 * <p>Nothing is heard of a task that stands still, so what an exchange lost has to be told again from here.
 */
public final class ProgressTable {
  private static final long STRAY_NANOS = 10_000_000_000L;

  private final String[] columns;
  private final Map<Long, Row> newest = new ConcurrentHashMap<>();
  private final List<Row> told = new ArrayList<>();

  /** @param columns the wire's names of the totals */
  public ProgressTable(String... columns) {
    this.columns = columns;
  }

  /** An attempt's totals as of now, one for each column. From any thread. */
  public void report(long attempt, long[] totals) {
    newest.put(attempt, new Row(totals, System.nanoTime()));
  }

  /** The columns of attempts that still run: of those whose totals have not arrived, or of all. For the sync loop's thread. */
  public Map<String, Object> columns(LiveState live, long nowNanos, boolean all) {
    told.clear();
    Map<Long, Row> rows = new LinkedHashMap<>();
    for (Map.Entry<Long, Row> each : newest.entrySet()) {
      Row row = each.getValue();
      if (live.runningAttempt(each.getKey()) == null) {
        // A start may still be on its way through the queue.
        if (nowNanos - row.atNanos > STRAY_NANOS) {
          newest.remove(each.getKey(), row);
        }
      } else if (all || !row.hasArrived) {
        rows.put(each.getKey(), row);
        told.add(row);
      }
    }
    Map<String, Object> wire = new LinkedHashMap<>();
    if (rows.isEmpty()) {
      return wire;
    }
    wire.put("attempt", rows.keySet());
    wire.put("age_ms", rows.values().stream().mapToLong(row -> Math.max(0, nowNanos - row.atNanos) / 1_000_000).toArray());
    for (int i = 0; i < columns.length; i++) {
      int column = i;
      wire.put(columns[i], rows.values().stream().mapToLong(row -> Fact.amount(row.totals[column])).toArray());
    }
    return wire;
  }

  /** What {@link #columns} last answered has arrived. For the sync loop's thread. */
  public void arrived() {
    told.forEach(row -> row.hasArrived = true);
    told.clear();
  }

  private static final class Row {
    final long[] totals;
    final long atNanos;
    boolean hasArrived;

    Row(long[] totals, long atNanos) {
      this.totals = totals;
      this.atNanos = atNanos;
    }
  }
}
