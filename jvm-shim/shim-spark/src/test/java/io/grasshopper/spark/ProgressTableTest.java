// Can the wire take whatever executors say of their attempts?
package io.grasshopper.spark;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import io.grasshopper.core.Fact;
import io.grasshopper.core.Guard;
import io.grasshopper.core.Settings;
import io.grasshopper.core.SyncLoop;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ProgressTableTest {
  /** Any code on an executor may add to the metrics, and take from them. */
  @Test
  void anAmountBelowNoughtIsNotKnown() {
    SyncLoop loop = new SyncLoop(
        "spark", null, new Guard(() -> { }), new Settings(key -> key.equals("server") ? "http://127.0.0.1:1" : null));
    loop.emit(Fact.at("attempt_started", 0).with("attempt", 7L));
    ProgressTable table = new ProgressTable();
    table.report(new long[] {7, -5, 3, Long.MAX_VALUE, 0, -1, 300});
    Map<String, Object> columns = table.take(loop.live(), System.nanoTime());
    assertArrayEquals(new long[] {-1}, (long[]) columns.get("bytes_read"));
    assertArrayEquals(new long[] {3}, (long[]) columns.get("bytes_written"));
    assertArrayEquals(new long[] {-1}, (long[]) columns.get("records_read"));
    assertArrayEquals(new long[] {-1}, (long[]) columns.get("rows_out"));
    assertArrayEquals(new long[] {300}, (long[]) columns.get("cpu_ms"));
  }
}
