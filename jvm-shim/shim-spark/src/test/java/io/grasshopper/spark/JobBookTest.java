// Does a job live exactly as long as its user would say?
package io.grasshopper.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grasshopper.core.Fact;
import io.grasshopper.core.Guard;
import io.grasshopper.core.Settings;
import io.grasshopper.core.SyncLoop;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.scheduler.JobSucceeded$;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.StageInfo;
import org.junit.jupiter.api.Test;
import scala.collection.immutable.Nil$;

class JobBookTest {
  private static final Field STAGE_ID = Scala.field(StageInfo.class, "stageId");
  private static final Field PARENTS = Scala.field(StageInfo.class, "parentIds");

  private final SyncLoop loop = new SyncLoop(
      "spark", null, new Guard(() -> { }), new Settings(key -> key.equals("server") ? "http://127.0.0.1:1" : null));
  private final List<String> ended = new ArrayList<>();
  private final JobBook jobs = new JobBook(loop, false, ended::add);

  private static Properties properties(String name, String value) {
    Properties properties = new Properties();
    properties.setProperty(name, value);
    return properties;
  }

  private void start(int sparkJob, Properties properties) {
    start(sparkJob, properties, 0);
  }

  private void start(int sparkJob, Properties properties, int stages) {
    List<StageInfo> infos = new ArrayList<>();
    for (int i = 0; i < stages; i++) {
      StageInfo stage = Allocation.bare(StageInfo.class);
      Scala.set(STAGE_ID, stage, i);
      Scala.set(PARENTS, stage, Nil$.MODULE$);
      infos.add(stage);
    }
    jobs.started(new SparkListenerJobStart(
        sparkJob, 0, scala.collection.JavaConverters.asScalaBuffer(infos), properties), 0);
  }

  private List<String> live() {
    return Stream.of("job-1", "job-2", "group-nightly", "sql-6", "sql-7").filter(job -> loop.live().job(job) != null)
        .collect(Collectors.toList());
  }

  private void end(int sparkJob) {
    jobs.ended(sparkJob, JobSucceeded$.MODULE$, 0);
  }

  @Test
  void anSqlJobLivesUntilItsExecutionEndsHoweverManySparkJobsItHas() {
    Properties sql = properties("spark.sql.execution.id", "4");
    start(1, sql);
    end(1);
    start(2, sql);
    end(2);
    assertEquals("[1, 2]", loop.live().job("sql-4").get("host_ids").toString());
    jobs.sqlEnded(4, 0);
    assertNull(loop.live().job("sql-4"));
    assertEquals("[sql-4]", ended.toString());
  }

  @Test
  void aSparkJobThatInheritsAnEndedExecutionEndsByItself() {
    Properties sql = properties("spark.sql.execution.id", "4");
    start(1, sql);
    jobs.sqlEnded(4, 0);
    start(2, sql);
    assertNotNull(loop.live().job("sql-4"));
    end(2);
    assertNull(loop.live().job("sql-4"));
  }

  @Test
  void aGroupEndsWithTheLastOfItsSparkJobs() {
    Properties group = properties("spark.jobGroup.id", "nightly");
    start(1, group);
    start(2, group);
    end(1);
    assertEquals("[2]", jobs.activeSparkJobs("group-nightly").toString());
    end(2);
    assertNull(loop.live().job("group-nightly"));
  }

  @Test
  void ofAGroupWithoutEndOnlyTheLatestSparkJobsAreSaid() {
    Properties group = properties("spark.jobGroup.id", "forever");
    start(0, group);
    for (int sparkJob = 1; sparkJob <= 150; sparkJob++) {
      start(sparkJob, group);
      end(sparkJob);
    }
    start(151, group);
    List<?> said = (List<?>) loop.live().job("group-forever").get("host_ids");
    assertEquals(102, said.size());
    assertEquals("[0, 51, 52]", said.subList(0, 3).toString());
  }

  /** The wire takes no more, and every full report names the job. */
  @Test
  void aJobOfTooManyStagesSaysNoneOfThem() {
    start(1, new Properties(), Fact.MAX_STAGES);
    start(2, new Properties(), Fact.MAX_STAGES + 1);
    for (String list : new String[] {"stages", "stage_tasks"}) {
      assertEquals(Fact.MAX_STAGES, ((List<?>) loop.live().job("job-1").get(list)).size());
      assertEquals(0, ((List<?>) loop.live().job("job-2").get(list)).size());
    }
  }

  @Test
  void aJobSaysItsBoundsAndWhetherItMayBeEnded() {
    Properties bounds = properties("spark.grasshopper.deadline", "90s");
    bounds.setProperty("spark.grasshopper.error.bound", "0.05");
    start(1, bounds);
    Fact bounded = loop.live().job("job-1");
    assertEquals("90000 50000 false", bounded.get("deadline_ms") + " " + bounded.get("error_bound") + " " + bounded.get("kill_late"));
    start(2, new Properties());
    assertEquals("-1 0", loop.live().job("job-2").get("deadline_ms") + " " + loop.live().job("job-2").get("error_bound"));
  }

  @Test
  void aJobSaysWhichSpeculatorItsUserNames() {
    start(1, properties("spark.grasshopper.speculator", "grass"));
    start(2, new Properties());
    assertEquals("grass", loop.live().job("job-1").get("speculator"));
    assertEquals("", loop.live().job("job-2").get("speculator"));
  }

  @Test
  void aJobsOwnWordOnItsEndComesBeforeTheApplications() {
    JobKey silent = JobKey.of(null, 1);
    JobKey kept = JobKey.of(properties("spark.grasshopper.late.job", "keep"), 2);
    JobKey killed = JobKey.of(properties("spark.grasshopper.late.job", "kill"), 3);
    JobBook hasty = new JobBook(loop, true, ended::add);
    assertEquals("false false true", jobs.endsLate(silent) + " " + jobs.endsLate(kept) + " " + jobs.endsLate(killed));
    assertEquals("true false true", hasty.endsLate(silent) + " " + hasty.endsLate(kept) + " " + hasty.endsLate(killed));
  }

  /** Its end was lost with other events, and every full report went on naming it. */
  @Test
  void aJobThatSparkNoLongerHasEnds() {
    start(1, new Properties());
    start(2, new Properties());
    Properties group = properties("spark.jobGroup.id", "nightly");
    start(3, group);
    start(4, group);
    start(5, properties("spark.sql.execution.id", "6"));
    start(6, properties("spark.sql.execution.id", "7"));
    end(6);
    jobs.retain(sparkJob -> sparkJob == 2 || sparkJob == 4, "7"::equals, 0);
    assertEquals("[job-2, group-nightly, sql-7]", live().toString());
    assertEquals("[job-1, sql-6]", ended.stream().sorted().collect(Collectors.toList()).toString());
    end(4);
    assertNull(loop.live().job("group-nightly"), "the end of 3 will not come");
  }

  /** What a user's code throws is quoted in the failure's text; its job has failed, whatever that is about. */
  @Test
  void onlyWhatSparkSaysOfACancelledJobIsTakenForAKill() {
    for (String said : new String[] {
        "Job 7 cancelled part of cancelled job group nightly", "Job 7 cancelled because SparkContext was shut down", "Job 7 cancelled ",
        "[SPARK_JOB_CANCELLED] Job 7 cancelled as part of cancellation of all jobs SQLSTATE: XXKDA"}) {
      assertTrue(JobBook.isCancelled(7, said), said);
      assertFalse(JobBook.isCancelled(71, said), said);
    }
    assertFalse(JobBook.isCancelled(7, "Job aborted due to stage failure: ValueError: order 7 was cancelled"));
    assertFalse(JobBook.isCancelled(7, null));
  }

  @Test
  void aTaskSetMayComeBeforeTheEventOfItsSparkJob() {
    jobs.ensure(JobKey.of(null, 3), 3, 0);
    assertNotNull(loop.live().job("job-3"));
    start(3, new Properties());
    end(3);
    assertEquals("[job-3]", ended.toString());
  }
}
