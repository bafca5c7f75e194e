// Is an order refused where its job's user has opted out?
package io.grasshopper.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.grasshopper.core.LiveState;
import io.grasshopper.core.Order;
import io.grasshopper.core.Orders;
import java.util.Properties;
import org.apache.spark.scheduler.Task;
import org.apache.spark.scheduler.TaskSchedulerImpl;
import org.apache.spark.scheduler.TaskSet;
import org.apache.spark.scheduler.TaskSetManager;
import org.junit.jupiter.api.Test;
import scala.Option;

class OrderGateTest {
  private static final Order COPY = Orders.ofTask("launch_copy");
  private static final Order FIRST = Orders.ofTask("run_next");

  private final OrderGate gate = new OrderGate(Allocation.bare(TaskSchedulerImpl.class), new LiveState());

  /** A task set of ten tasks with these local properties. */
  private static OrderedTaskSet set(String... pairs) {
    Properties properties = new Properties();
    for (int i = 0; i < pairs.length; i += 2) {
      properties.setProperty(pairs[i], pairs[i + 1]);
    }
    OrderedTaskSet set = Allocation.bare(OrderedTaskSet.class);
    TaskSet tasks = new TaskSet(new Task<?>[0], 3, 0, 9, properties, 0, Option.empty());
    Scala.set(Scala.field(TaskSetManager.class, "taskSet"), set, tasks);
    Scala.set(Scala.field(TaskSetManager.class, "numTasks"), set, 10);
    Scala.set(Scala.field(OrderedTaskSet.class, "job"), set, JobKey.of(properties, 9));
    return set;
  }

  @Test
  void letsOrdersPassWhereTheUserHasSaidNothing() {
    assertNull(gate.refusalOfCopy(COPY, set()));
    assertNull(gate.refusal(FIRST, set()));
  }

  /** The control plane knows it, too; but what it knows may be old, and this is the user's own word. */
  @Test
  void aJobThatWantsNoCopiesGetsNone() {
    OrderedTaskSet optedOut = set("spark.grasshopper.copies.enabled", "false");
    assertEquals("opted_out", gate.refusalOfCopy(COPY, optedOut));
    assertNull(gate.refusal(FIRST, optedOut), "an original is no copy");
  }

  @Test
  void aJobThatIsOnlyWatchedGetsNoOrders() {
    for (String mode : new String[] {"shadow", "off", "nonsense"}) {
      OrderedTaskSet watched = set("spark.grasshopper.mode", mode);
      assertEquals("mode", gate.refusalOfCopy(COPY, watched));
      assertEquals("mode", gate.refusal(FIRST, watched));
    }
  }
}
