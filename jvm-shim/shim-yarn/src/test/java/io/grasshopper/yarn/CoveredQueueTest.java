// How many containers fit into what a queue or a node has left?
package io.grasshopper.yarn;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator;
import org.apache.hadoop.yarn.util.resource.DominantResourceCalculator;
import org.apache.hadoop.yarn.util.resource.ResourceCalculator;
import org.junit.jupiter.api.Test;

class CoveredQueueTest {
  private static final Resource ASK = Resource.newInstance(1024, 2);

  private static long fitting(ResourceCalculator calculator, int megabytes, int cores) {
    return CoveredQueue.fitting(calculator, Resource.newInstance(megabytes, cores), ASK);
  }

  /** Eight by memory and three by cores are three. */
  @Test
  void theScarcerResourceBindsWhereTheSchedulerSaysSo() {
    assertEquals(3, fitting(new DominantResourceCalculator(), 8192, 7));
    assertEquals(2, fitting(new DominantResourceCalculator(), 2048, 100));
    assertEquals(8, fitting(new DefaultResourceCalculator(), 8192, 7));
  }

  /** In floats, what six of seven containers leave of a queue is less than the seventh takes. */
  @Test
  void theLastSlotOfAQueueCounts() throws Exception {
    LocalScheduler yarn = new LocalScheduler(7, 768);
    yarn.ask(yarn.submit(1), 7, 768);
    yarn.report(0, 1, 2, 3, 4, 5);
    assertEquals(7, yarn.queue().slots());
  }

  /** A copy's executor is asked for once the control plane has ordered the copy, and so knows of the room. */
  @Test
  void freeSlotsCountThoughNobodyAsksForThem() throws Exception {
    LocalScheduler yarn = new LocalScheduler(7, 768);
    yarn.ask(yarn.submit(1), 3, 768);
    yarn.report(0, 1, 2);
    assertEquals(7, yarn.queue().slots());
  }

  @Test
  void aQueueInWhichNothingRunsOrAsksHasRoomForNobodyKnowsWhat() throws Exception {
    LocalScheduler yarn = new LocalScheduler(7, 768);
    yarn.submit(1);
    assertEquals(0, yarn.queue().slots());
  }

  @Test
  void nothingFitsIntoLessThanNothing() {
    assertEquals(0, fitting(new DominantResourceCalculator(), -1024, 7));
  }
}
