// What does the control plane hear of a job, what becomes of its orders, and when does Hadoop speculate itself?
package io.grasshopper.mapreduce;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grasshopper.core.FakePlane;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.v2.api.records.JobState;
import org.apache.hadoop.mapreduce.v2.api.records.TaskAttemptId;
import org.apache.hadoop.mapreduce.v2.api.records.TaskAttemptState;
import org.apache.hadoop.mapreduce.v2.api.records.TaskId;
import org.apache.hadoop.mapreduce.v2.api.records.TaskState;
import org.apache.hadoop.mapreduce.v2.app.job.event.JobEventType;
import org.apache.hadoop.mapreduce.v2.app.job.event.TaskAttemptStatusUpdateEvent.TaskAttemptStatus;
import org.apache.hadoop.mapreduce.v2.app.job.event.TaskEventType;
import org.apache.hadoop.mapreduce.v2.app.speculate.SpeculatorEvent;
import org.apache.hadoop.mapreduce.v2.util.MRBuilderUtils;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class GrasshopperSpeculatorTest {
  private static final String CLAIM = ", \"claims\": [{\"job\": \"" + FakeJob.ID + "\", \"lease_ms\": 300}]";
  private static final String COPY = ", \"orders\": [{\"type\": \"launch_copy\", \"order\": %d, \"ttl_ms\": 60000, \"job\": \""
      + FakeJob.ID + "\", \"stage\": %d, \"stage_attempt\": 0, \"index\": %d}]";

  @TempDir
  Path folder;
  private final List<Map<?, ?>> heard = Collections.synchronizedList(new ArrayList<>());
  private final Configuration conf = new Configuration(false);
  private FakePlane plane;
  private FakeJob job;

  @BeforeEach
  void aPlane() throws Exception {
    plane = new FakePlane();
    conf.set("mapreduce.grasshopper.server", plane.settings().address());
    answer("");
  }

  @AfterEach
  void noPlane() {
    if (job != null) {
      job.speculator.stop();
    }
    plane.close();
  }

  private void attach(int maps, int reduces) {
    job = new FakeJob(maps, reduces);
    job.speculator = new GrasshopperSpeculator(conf, job.context);
    job.speculator.init(conf);
    job.speculator.start();
  }

  /** From now on. */
  private void answer(String more) {
    plane.behaviour = (exchange, request) -> {
      for (Object fact : (List<?>) request.get("facts")) {
        heard.add((Map<?, ?>) fact);
      }
      FakePlane.reply(exchange, FakePlane.acknowledging(request, more));
    };
  }

  private static void eventually(BooleanSupplier what) throws InterruptedException {
    for (int i = 0; i < 500 && !what.getAsBoolean(); i++) {
      Thread.sleep(10);
    }
    assertTrue(what.getAsBoolean());
  }

  private Map<?, ?> hears(Predicate<Map<?, ?>> fact) throws InterruptedException {
    eventually(() -> first(fact) != null);
    return first(fact);
  }

  private Map<?, ?> first(Predicate<Map<?, ?>> fact) {
    synchronized (heard) {
      return heard.stream().filter(fact).findFirst().orElse(null);
    }
  }

  private static Predicate<Map<?, ?>> is(String type, Object... fields) {
    return fact -> {
      boolean fits = type.equals(fact.get("type"));
      for (int i = 0; i < fields.length; i += 2) {
        fits &= fields[i + 1].equals(fact.get(fields[i]));
      }
      return fits;
    };
  }

  private static Predicate<Map<?, ?>> refused(String reason) {
    return is("order_outcome", "result", "refused", "reason", reason);
  }

  @Test
  void tellsAJobItsStagesAndItsAttempts() throws Exception {
    conf.set("mapreduce.grasshopper.deadline", "90s");
    conf.set("mapreduce.grasshopper.policy", "shed-plus");
    conf.set("mapreduce.reduce.speculative", "false");
    attach(2, 1);
    TaskAttemptId original = job.start(FakeJob.map(0), 1000);
    Map<?, ?> told = hears(is("job_submitted", "job", FakeJob.ID.toString()));
    assertEquals(Arrays.asList(90_000L, "shed-plus", Arrays.asList(2L, 1L)),
        Arrays.asList(told.get("deadline_ms"), told.get("speculator"), told.get("stage_tasks")));
    assertTrue((Long) told.get("age_ms") >= 5_000, "the job's age counts from its submission");
    assertEquals(true, hears(is("stage_submitted", "stage", 0L)).get("copies_enabled"));
    Map<?, ?> started = hears(is("attempt_started", "attempt", TaskKey.attempt(original)));
    assertEquals(Arrays.asList(0L, "127.0.0.1011", false, 0L), Arrays.asList(
        started.get("index"), started.get("host"), started.get("speculative"), started.get("attempt_number")),
        "the second ApplicationMaster's first attempt");
    hears(is("executor_added", "executor", started.get("executor"), "slots", 1L));

    TaskAttemptId reduce = job.start(FakeJob.reduce(0), 0);
    Thread.sleep(400);
    job.end(original, TaskAttemptState.SUCCEEDED);
    assertEquals(5_000L, hears(is("attempt_ended", "outcome", "success")).get("duration_ms"));
    hears(is("executor_lost", "executor", started.get("executor")));
    assertEquals(null, first(is("attempt_started", "stage", 1L)), "a reduce only fetches while maps run");
    job.end(job.start(FakeJob.map(1), 0), TaskAttemptState.SUCCEEDED);
    long ageMs = (Long) hears(is("attempt_started", "attempt", TaskKey.attempt(reduce))).get("age_ms");
    assertTrue(ageMs < 400, "it begins with the last map's end, not " + ageMs + " ms ago");
    assertEquals(false, first(is("stage_submitted", "stage", 1L)).get("copies_enabled"));
    job.end(reduce, TaskAttemptState.SUCCEEDED);
    long ranMs = (Long) hears(is("attempt_ended", "stage", 1L)).get("duration_ms");
    assertTrue(ranMs <= 4_600, "its wait is no part of its " + ranMs + " ms");
    job.state = JobState.SUCCEEDED;
    hears(is("job_ended", "outcome", "success"));
  }

  @Test
  void launchesACopyOfARunningTaskAndTellsWhoseOrderItWas() throws Exception {
    attach(2, 0);
    job.start(FakeJob.map(1), 0);
    hears(is("attempt_started"));
    answer(CLAIM + String.format(COPY, 41, 0, 1));
    eventually(() -> !job.taskEvents.isEmpty());
    assertEquals(TaskEventType.T_ADD_SPEC_ATTEMPT, job.taskEvents.get(0).getType());
    job.start(FakeJob.map(1), 101);
    Map<?, ?> copy = hears(is("attempt_started", "order", 41L));
    assertEquals(true, copy.get("speculative"));
    assertEquals(1, job.taskEvents.size(), "an order that comes again is not carried out again");
  }

  private static String stop(int order, String named) {
    return ", \"orders\": [{\"type\": \"stop_job\", \"order\": " + order + ", \"ttl_ms\": 60000, \"job\": \"" + named + "\"}]";
  }

  @Test
  void endsALateJobOnlyIfItsUserAllowsThat() throws Exception {
    attach(1, 0);
    answer(stop(41, FakeJob.ID.toString()));
    hears(refused("late_jobs_kept"));
    assertEquals(Collections.emptyList(), job.jobEvents);
    job.speculator.stop();
    conf.set("mapreduce.grasshopper.late.job", "kill");
    answer("");
    attach(1, 0);
    answer(stop(42, "job_1_0001"));
    hears(refused("unknown_job"));
    answer(stop(43, FakeJob.ID.toString()));
    hears(is("order_outcome", "order", 43L, "result", "applied"));
    assertEquals(Collections.singletonList(JobEventType.JOB_KILL), job.jobEvents);
  }

  @Test
  void refusesACopyThatIsToBeginInTheMiddle() throws Exception {
    attach(1, 0);
    job.start(FakeJob.map(0), 0);
    answer(String.format(COPY, 41, 0, 0).replace("\"index\"", "\"byte_offset\": 7, \"index\""));
    hears(refused("byte_offset_unsupported"));
    assertEquals(Collections.emptyList(), job.taskEvents);
  }

  /** Hadoop hands on no start of a kind that it may not speculate on; and without it the task would wait for ever. */
  @Test
  void hearsOfAttemptsByTheirFirstStatusToo() throws Exception {
    attach(1, 0);
    job.states.put(FakeJob.map(0), TaskState.RUNNING);
    TaskAttemptStatus status = new TaskAttemptStatus();
    status.id = MRBuilderUtils.newTaskAttemptId(FakeJob.map(0), 0);
    status.taskState = TaskAttemptState.RUNNING;
    job.attempts.put(status.id, TaskAttemptState.RUNNING);
    job.speculator.handle(new SpeculatorEvent(status, System.currentTimeMillis()));
    job.speculator.handle(new SpeculatorEvent(status, System.currentTimeMillis()));
    hears(is("attempt_started", "attempt", TaskKey.attempt(status.id)));
    job.end(status.id, TaskAttemptState.SUCCEEDED);
    hears(is("attempt_ended"));
    assertEquals(1, heard.stream().filter(is("attempt_started")).count());
  }

  /** Where their job allows it; no attempt tells that they are over. */
  @Test
  void tellsTasksThatHadoopHasGivenUp() throws Exception {
    attach(4, 0);
    job.start(FakeJob.map(0), 0);
    hears(is("stage_submitted", "done", Collections.emptyList()));
    job.states.put(FakeJob.map(2), TaskState.FAILED);
    job.states.put(FakeJob.map(3), TaskState.FAILED);
    hears(is("stage_submitted", "done", Collections.singletonList(Arrays.asList(2L, 3L))));
  }

  /** A map that the former ApplicationMaster has finished is new at first, until Hadoop has read of it. */
  @Test
  void waitsUntilEachTaskIsKnown() throws Exception {
    job = new FakeJob(2, 0);
    job.states.put(FakeJob.map(1), TaskState.NEW);
    job.speculator = new GrasshopperSpeculator(conf, job.context);
    job.speculator.init(conf);
    job.speculator.start();
    job.start(FakeJob.map(0), 0);
    hears(is("driver_attached"));
    Thread.sleep(500);
    assertEquals(null, first(is("stage_submitted")));
    job.states.put(FakeJob.map(1), TaskState.SUCCEEDED);
    hears(is("stage_submitted", "done", Collections.singletonList(Arrays.asList(1L, 1L))));
  }

  /** The only attempt of a task is not killed to be elsewhere, and a later one has no part in an order that is over. */
  @Test
  void movesNoCopyThatHasNoRivalAnyMore() throws Exception {
    attach(1, 0);
    TaskAttemptId original = job.start(FakeJob.map(0), 0);
    hears(is("attempt_started"));
    answer(String.format(COPY, 41, 0, 0).replace("\"index\"", "\"avoid_hosts\": [\"127.0.0.112\"], \"index\""));
    eventually(() -> job.taskEvents.size() == 1);
    job.attempts.put(original, TaskAttemptState.FAILED);
    job.start(FakeJob.map(0), 101);
    assertEquals("127.0.0.112", hears(is("attempt_started", "order", 41L)).get("host"));
    assertEquals(Collections.emptyList(), job.killed);
  }

  /** Hadoop starts another attempt in the place of one that is killed. */
  @Test
  void movesACopyOffTheHostsToAvoidAndNotForEver() throws Exception {
    attach(1, 0);
    job.start(FakeJob.map(0), 0);
    hears(is("attempt_started"));
    answer(String.format(COPY, 41, 0, 0).replace("\"index\"", "\"avoid_hosts\": [\"127.0.0.112\", \"127.0.0.16\", \"127.0.0.17\"], \"index\""));
    eventually(() -> job.taskEvents.size() == 1);
    TaskAttemptId copy = job.start(FakeJob.map(0), 101);
    assertEquals(Collections.singletonList(copy), job.killed);
    job.start(FakeJob.map(0), 5);
    assertEquals(2, job.killed.size());
    job.start(FakeJob.map(0), 6);
    assertEquals("127.0.0.17", hears(is("attempt_started", "order", 41L)).get("host"));
    assertEquals(2, job.killed.size());
    assertEquals(null, first(is("attempt_started", "attempt", TaskKey.attempt(copy))), "nobody has seen it run");
  }

  /** For this event a task that does not run fails its whole job. */
  @Test
  void refusesACopyOfATaskThatDoesNotRun() throws Exception {
    attach(3, 0);
    TaskAttemptId ended = job.start(FakeJob.map(0), 0);
    TaskAttemptId asking = job.start(FakeJob.map(2), 0);
    job.end(ended, TaskAttemptState.SUCCEEDED);
    job.attempts.put(asking, TaskAttemptState.NEW);
    answer(String.format(COPY, 41, 0, 0));
    hears(refused("task_ended"));
    job.start(FakeJob.map(1), 0);
    job.states.put(FakeJob.map(1), TaskState.SCHEDULED);  // it has not heard of its attempt yet
    answer(String.format(COPY, 42, 0, 1));
    hears(is("order_outcome", "order", 42L, "reason", "not_running"));
    answer(String.format(COPY, 43, 0, 2));
    hears(is("order_outcome", "order", 43L, "reason", "not_running"));
    answer(String.format(COPY, 44, 1, 7));
    hears(refused("unknown_task"));
    assertEquals(Collections.emptyList(), job.taskEvents);
  }

  @Test
  void asksForNoMoreCopiesThanTheUserAllows() throws Exception {
    conf.set("mapreduce.grasshopper.copies.max", "1");
    attach(1, 0);
    job.start(FakeJob.map(0), 0);
    answer(String.format(COPY, 41, 0, 0));
    eventually(() -> job.taskEvents.size() == 1);
    answer(String.format(COPY, 42, 0, 0));
    hears(refused("above_clamp"));
    assertEquals(1, job.taskEvents.size(), "the one that waits for its container counts");
    conf.set("mapreduce.map.speculative", "false");
    answer(String.format(COPY, 43, 0, 0));
    hears(refused("opted_out"));
  }

  /** It cannot be called back, and the control plane has forgotten it. */
  @Test
  void asksForNoSecondContainerWhileTheFirstHasNotCome() throws Exception {
    attach(1, 0);
    job.start(FakeJob.map(0), 0);
    hears(is("attempt_started"));
    answer(String.format(COPY, 41, 0, 0).replace("60000", "200"));
    eventually(() -> job.taskEvents.size() == 1);
    Thread.sleep(250);
    answer(String.format(COPY, 42, 0, 0));
    hears(is("order_outcome", "order", 42L, "reason", "no_slot"));
    assertEquals(1, job.taskEvents.size());
  }

  @Test
  void aMapWhoseOutputIsGoneIsLostAndOneThatHasWonIsNot() throws Exception {
    attach(2, 1);
    TaskAttemptId first = job.start(FakeJob.map(0), 0);
    job.end(first, TaskAttemptState.SUCCEEDED);
    hears(is("attempt_ended", "outcome", "success"));
    job.start(FakeJob.map(0), 1);
    hears(is("attempt_started", "attempt_number", 1L));
    assertEquals(null, first(is("attempt_ended", "outcome", "lost")), "a copy came too late");
    job.attempts.put(first, TaskAttemptState.KILLED);
    job.start(FakeJob.map(0), 2);
    assertEquals(TaskKey.attempt(first), hears(is("attempt_ended", "outcome", "lost")).get("attempt"));
    assertEquals(false, hears(is("attempt_started", "attempt_number", 2L)).get("speculative"), "the map runs again");
  }

  @Test
  void hadoopSpeculatesUnlessAControlPlaneHoldsTheJob() throws Exception {
    attach(1, 0);
    TaskId task = FakeJob.map(0);
    job.start(task, 0);
    hears(is("attempt_started"));
    job.speculator.addSpeculativeAttempt(task);
    assertEquals(1, job.taskEvents.size(), "the plane has answered, and claims nothing");
    answer(CLAIM);
    eventually(() -> {
      int before = job.taskEvents.size();
      job.speculator.addSpeculativeAttempt(task);
      return job.taskEvents.size() == before;
    });
    plane.behaviour = (exchange, request) -> FakePlane.reply(exchange, "nonsense");
    eventually(() -> {
      int before = job.taskEvents.size();
      job.speculator.addSpeculativeAttempt(task);
      return job.taskEvents.size() > before;
    });
  }

  @Test
  void tellsProgressByHadoopsCounters() throws Exception {
    attach(1, 0);
    TaskAttemptStatus status = new TaskAttemptStatus();
    status.id = job.start(FakeJob.map(0), 0);
    status.taskState = TaskAttemptState.RUNNING;
    status.progress = 0.25f;
    status.counters = new org.apache.hadoop.mapreduce.Counters();
    status.counters.findCounter(org.apache.hadoop.mapreduce.TaskCounter.MAP_INPUT_RECORDS).setValue(77);
    hears(is("attempt_started"));
    plane.requests.clear();
    job.speculator.handle(new SpeculatorEvent(status, System.currentTimeMillis()));
    Map<?, ?> progress = null;
    while (progress == null) {
      progress = (Map<?, ?>) plane.nextRequest().get("progress");
    }
    assertEquals(Arrays.asList(Arrays.asList(250_000L), Arrays.asList(77L)),
        Arrays.asList(progress.get("progress_ppm"), progress.get("records_read")));
  }

  /** The job runs as Hadoop runs it. */
  @Test
  void staysOutWhereASettingCannotBeRead() throws Exception {
    Path token = Files.createFile(folder.resolve("token"));
    Files.setPosixFilePermissions(token, PosixFilePermissions.fromString("rw-r--r--"));
    String[][] wrong = {
      {"deadline", "soon"}, {"deadline", "0s"}, {"deadline", "-5s"}, {"token.file", token.toString()}, {"token.file", "/nowhere"},
      {"token.alias", "nobody"}, {"server", "nonsense"}, {"enabled", "false"},
    };
    for (String[] each : wrong) {
      Configuration broken = new Configuration(conf);
      broken.set("mapreduce.grasshopper." + each[0], each[1]);
      FakeJob other = new FakeJob(1, 0);
      other.speculator = new GrasshopperSpeculator(broken, other.context);
      other.speculator.init(broken);
      other.speculator.start();
      other.start(FakeJob.map(0), 0);
      other.speculator.addSpeculativeAttempt(FakeJob.map(0));
      assertEquals(1, other.taskEvents.size(), each[0]);
      other.speculator.stop();
    }
    assertTrue(plane.requests.isEmpty(), "nobody has heard of it");
  }
}
