// Can the wire take whatever executors say of their attempts?
package io.grasshopper.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grasshopper.core.Fact;
import io.grasshopper.core.Guard;
import io.grasshopper.core.ProgressTable;
import io.grasshopper.core.Settings;
import io.grasshopper.core.SyncLoop;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.spark.scheduler.AccumulableInfo;
import org.apache.spark.scheduler.SparkListenerExecutorMetricsUpdate;
import org.junit.jupiter.api.Test;
import scala.Option;
import scala.Tuple4;
import scala.collection.JavaConverters;
import scala.collection.Seq;
import scala.collection.immutable.Map$;

class ExecutorProgressTest {
  private final SyncLoop loop = new SyncLoop(
      "spark", null, new Guard(() -> { }), new Settings(key -> key.equals("server") ? "http://127.0.0.1:1" : null));
  private final ExecutorProgress executors = new ExecutorProgress();
  private final ProgressTable table = executors.table;

  ExecutorProgressTest() {
    loop.emit(Fact.at("attempt_started", 0).with("attempt", 7L));
  }

  private long told(Map<String, Object> columns, String name) {
    return ((long[]) columns.get(name))[0];
  }

  /** Any code on an executor may add to the metrics, and take from them. */
  @Test
  void anAmountBelowNoughtIsNotKnown() {
    executors.report(new long[] {7, -5, 3, Long.MAX_VALUE, 0, -1, 300});
    Map<String, Object> columns = table.columns(loop.live(), System.nanoTime(), false);
    assertEquals(-1, told(columns, "bytes_read"));
    assertEquals(3, told(columns, "bytes_written"));
    assertEquals(-1, told(columns, "records_read"));
    assertEquals(-1, told(columns, "rows_out"));
    assertEquals(300, told(columns, "cpu_ms"));
  }

  /** Its executor says nothing again of an attempt that stands still. */
  @Test
  void totalsAreToldUntilTheyHaveArrivedAndWithEveryFullReport() {
    long now = System.nanoTime();
    executors.report(new long[] {7, 5, 3, 0, 0, -1, 300});
    assertEquals(5, told(table.columns(loop.live(), now, false), "bytes_read"));
    assertEquals(5, told(table.columns(loop.live(), now, false), "bytes_read"));
    table.arrived();
    assertTrue(table.columns(loop.live(), now, false).isEmpty());
    assertEquals(5, told(table.columns(loop.live(), now, true), "bytes_read"));
    executors.report(new long[] {7, 6, 3, 0, 0, -1, 300});
    table.arrived();
    assertEquals(6, told(table.columns(loop.live(), now, false), "bytes_read"));
  }

  @Test
  void totalsWaitForAStartThatIsStillOnItsWay() {
    executors.report(new long[] {8, 5, 3, 0, 0, -1, 300});
    assertTrue(table.columns(loop.live(), System.nanoTime(), false).isEmpty());
    loop.emit(Fact.at("attempt_started", 0).with("attempt", 8L));
    assertEquals(5, told(table.columns(loop.live(), System.nanoTime(), false), "bytes_read"));
  }

  /** Who attaches the listener alone has nothing else, and a worker that hangs must not look done there. */
  @Test
  void heartbeatsTellRowsOfPythonWorkers() {
    List<AccumulableInfo> moved = Arrays.asList(
        moved("internal.metrics.input.recordsRead", 300_000), moved("number of output rows", 60_000),
        moved("data sent to Python workers", 488_400));
    executors.heartbeat(new SparkListenerExecutorMetricsUpdate("1", seq(Collections.singletonList(
        new Tuple4<Object, Object, Object, Seq<AccumulableInfo>>(7L, 0, 0, seq(moved)))), Map$.MODULE$.empty()));
    Map<String, Object> columns = table.columns(loop.live(), System.nanoTime(), false);
    assertEquals(300_000, told(columns, "records_read"));
    assertEquals(0, told(columns, "rows_out"));
    assertEquals(-1, told(columns, "cpu_ms"));
  }

  private static AccumulableInfo moved(String name, long value) {
    return new AccumulableInfo(1, Option.apply(name), Option.apply(value), Option.empty(), false, false, Option.empty());
  }

  private static <T> Seq<T> seq(List<T> items) {
    return JavaConverters.asScalaBufferConverter(items).asScala();
  }
}
