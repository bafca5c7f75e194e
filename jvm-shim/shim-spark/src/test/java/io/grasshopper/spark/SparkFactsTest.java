// Do facts tell what Spark's events mean, whatever the driver's clock does?
package io.grasshopper.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.grasshopper.core.Fact;
import io.grasshopper.core.Guard;
import io.grasshopper.core.Settings;
import io.grasshopper.core.SyncLoop;
import io.grasshopper.core.Translations;
import java.util.Properties;
import org.apache.spark.SparkConf;
import org.apache.spark.scheduler.Task;
import org.apache.spark.scheduler.TaskInfo;
import org.apache.spark.scheduler.TaskLocality;
import org.apache.spark.scheduler.TaskSet;
import org.junit.jupiter.api.Test;
import scala.Option;

class SparkFactsTest {
  private static final long SECOND = 1_000_000_000L;

  private final SyncLoop loop = new SyncLoop(
      "spark", null, new Guard(() -> { }), new Settings(key -> key.equals("server") ? "http://127.0.0.1:1" : null));
  private final SparkFacts facts =
      new SparkFacts(loop, new JobBook(loop, false, job -> { }), Allocation.bare(Defaults.class), () -> { });

  /** A configuration in which nothing is set, made without its constructor, which needs Hadoop. */
  private static final class Defaults extends SparkConf {
    @Override
    public String get(String key, String otherwise) {
      return otherwise;
    }

    @Override
    public boolean getBoolean(String key, boolean otherwise) {
      return otherwise;
    }
  }

  private void submit(int stage, int tasks) {
    TaskSet set = new TaskSet(new Task<?>[tasks], stage, 0, 0, new Properties(), 0, Option.empty());
    facts.stageSubmitted(JobKey.of(null, 0), set, null);
  }

  private static TaskInfo attempt(long id) {
    return new TaskInfo(id, 0, 0, 0, 0, "1", "h1", TaskLocality.ANY(), false);
  }

  /** Durations taught of attempts that ran for hours, or for no time. */
  @Test
  void aClockThatIsSetWhileATaskRunsHardlyChangesItsDuration() {
    Fact start = Fact.at("attempt_started", 100 * SECOND);
    long end = 130 * SECOND;
    assertEquals(29_400, SparkFacts.durationMs(29_400, start, end));
    assertEquals(40_000, SparkFacts.durationMs(3_600_000, start, end));
    assertEquals(20_000, SparkFacts.durationMs(-3_600_000, start, end));
  }

  @Test
  void noDurationIsBelowZero() {
    assertEquals(0, SparkFacts.durationMs(-3_600_000, Fact.at("attempt_started", 0), SECOND));
    assertEquals(0, SparkFacts.durationMs(-3_600_000, null, SECOND));
    assertEquals(3_600_000, SparkFacts.durationMs(3_600_000, null, SECOND));
  }

  /** The wire takes no larger stage: one fact of it had every report refused, for as long as it ran. */
  @Test
  void saysNothingOfAStageThatIsTooLarge() {
    submit(1, Fact.MAX_TASKS + 1);
    submit(2, 0);
    facts.attemptStarted(1, 0, attempt(11), 0);
    facts.attemptStarted(2, 0, attempt(12), 0);
    Translations.run(loop);
    assertNull(loop.live().stage(1, 0));
    assertNotNull(loop.live().stage(2, 0));
    assertNull(loop.live().runningAttempt(11));
    assertNotNull(loop.live().runningAttempt(12));
  }

  /** A driver without a clock of its own starts in 1970, until somebody sets it. */
  @Test
  void aDurationIsOneThatTheWireTakes() {
    assertEquals(Fact.MAX_AGE_MS, SparkFacts.durationMs(1_790_000_000_000L, null, SECOND));
  }
}
