// Does an executor tell what moves in a task, and nothing where nothing does?
package io.grasshopper.spark;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskContext$;
import org.apache.spark.util.AccumulatorMetadata;
import org.apache.spark.util.LongAccumulator;
import org.junit.jupiter.api.Test;
import scala.Option;

class WatchedTaskTest {
  private static final long NANOS_PER_MS = 1_000_000;

  private static LongAccumulator counter(TaskContext task, long id, String name) {
    LongAccumulator counter = new LongAccumulator();
    counter.metadata_$eq(new AccumulatorMetadata(id, Option.apply(name), false));
    task.taskMetrics().registerAccumulator(counter);
    return counter;
  }

  /** Thousands of tasks wait on something; each must cost its driver nothing. */
  @Test
  void aTaskThatWaitsHasNothingToSend() {
    assertNull(new WatchedTask(TaskContext$.MODULE$.empty()).moved());
  }

  @Test
  void cpuTimeOfItsThreadCountsInSteps() {
    WatchedTask task = new WatchedTask(TaskContext$.MODULE$.empty());
    long before = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    while (ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - before < 150 * NANOS_PER_MS) {
      Math.sqrt(before);
    }
    long cpuMs = task.moved()[6];
    assertTrue(cpuMs >= 100 && cpuMs % 100 == 0, Long.toString(cpuMs));
  }

  /** A task has no metrics at its start: they come with its code. */
  @Test
  void rowsCountFromTheMomentThatOperatorsAreThere() {
    TaskContext context = TaskContext$.MODULE$.empty();
    WatchedTask task = new WatchedTask(context);
    assertNull(task.moved());
    counter(context, 1, "number of output rows").add(300);
    LongAccumulator filtered = counter(context, 2, "number of output rows");
    filtered.add(40);
    long[] row = task.moved();
    assertEquals(40, row[5]);
    assertArrayEquals(row, task.moved(), "it has not been sent");
    task.sent(row);
    assertNull(task.moved());
    filtered.add(2);
    assertEquals(42, task.moved()[5]);
  }

  /** A map task of plain RDDs has no operators; what it gives to its shuffle is out all the same. */
  @Test
  void recordsWrittenAreOutWhereNoOperatorCounts() {
    TaskContext context = TaskContext$.MODULE$.empty();
    WatchedTask task = new WatchedTask(context);
    context.taskMetrics().shuffleWriteMetrics().incRecordsWritten(7);
    assertArrayEquals(new long[] {0, 0, 0, 0, 7, 7, 0}, task.moved());
  }
}
