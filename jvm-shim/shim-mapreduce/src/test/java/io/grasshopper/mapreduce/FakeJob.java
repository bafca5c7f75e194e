// What does a job look like to a test that sets every state in it?
package io.grasshopper.mapreduce;

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.apache.hadoop.mapreduce.Counters;
import org.apache.hadoop.mapreduce.v2.api.records.JobId;
import org.apache.hadoop.mapreduce.v2.api.records.JobReport;
import org.apache.hadoop.mapreduce.v2.api.records.JobState;
import org.apache.hadoop.mapreduce.v2.api.records.TaskAttemptId;
import org.apache.hadoop.mapreduce.v2.api.records.TaskAttemptState;
import org.apache.hadoop.mapreduce.v2.api.records.TaskId;
import org.apache.hadoop.mapreduce.v2.api.records.TaskState;
import org.apache.hadoop.mapreduce.v2.api.records.TaskType;
import org.apache.hadoop.mapreduce.v2.app.AppContext;
import org.apache.hadoop.mapreduce.v2.app.job.Job;
import org.apache.hadoop.mapreduce.v2.app.job.Task;
import org.apache.hadoop.mapreduce.v2.app.job.TaskAttempt;
import org.apache.hadoop.mapreduce.v2.app.job.event.JobEvent;
import org.apache.hadoop.mapreduce.v2.app.job.event.JobEventType;
import org.apache.hadoop.mapreduce.v2.app.job.event.TaskAttemptKillEvent;
import org.apache.hadoop.mapreduce.v2.app.job.event.TaskEvent;
import org.apache.hadoop.mapreduce.v2.app.speculate.SpeculatorEvent;
import org.apache.hadoop.mapreduce.v2.util.MRBuilderUtils;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.event.EventHandler;
import org.apache.hadoop.yarn.util.SystemClock;

/** One job in one ApplicationMaster. Its dispatcher is whoever hands it an event; its tasks write down theirs. */
final class FakeJob {
  static final ApplicationId APPLICATION = ApplicationId.newInstance(1767225600000L, 1);
  static final JobId ID = MRBuilderUtils.newJobId(APPLICATION, 1);

  final Map<TaskId, TaskState> states = new ConcurrentHashMap<>();
  final Map<TaskAttemptId, TaskAttemptState> attempts = new ConcurrentHashMap<>();
  final List<TaskEvent> taskEvents = Collections.synchronizedList(new ArrayList<>());
  final List<JobEventType> jobEvents = Collections.synchronizedList(new ArrayList<>());
  final List<TaskAttemptId> killed = Collections.synchronizedList(new ArrayList<>());
  final AppContext context;
  private final long launchedMs = System.currentTimeMillis();
  volatile GrasshopperSpeculator speculator;
  volatile JobState state = JobState.RUNNING;
  private final Map<TaskId, Task> tasks = new LinkedHashMap<>();
  private final Job job;

  FakeJob(int maps, int reduces) {
    for (int i = 0; i < maps + reduces; i++) {
      TaskId id = i < maps ? map(i) : reduce(i - maps);
      states.put(id, TaskState.SCHEDULED);
      tasks.put(id, task(id));
    }
    JobReport report = MRBuilderUtils.newJobReport(ID, "words", "alice", JobState.RUNNING, System.currentTimeMillis() - 5_000,
        0, 0, 0, 0, 0, 0, "", Collections.emptyList(), false, "");
    Map<String, Object> told = new HashMap<>();
    told.put("getID", ID);
    told.put("getName", "words");
    told.put("getReport", report);
    told.put("getTotalMaps", maps);
    told.put("getTotalReduces", reduces);
    told.put("isUber", false);
    told.put("getKilledMaps", 0);
    told.put("getFailedReduces", 0);
    told.put("getKilledReduces", 0);
    job = fake(Job.class, (method, arguments) -> {
      switch (method) {
        case "getState":
          return state;
        case "getTask":
          return tasks.get(arguments[0]);
        case "getTasks":
          return arguments == null ? tasks : of((TaskType) arguments[0]);
        case "getCompletedMaps":
          return (int) of(TaskType.MAP).values().stream().filter(Task::isFinished).count();
        case "getFailedMaps":
          return (int) of(TaskType.MAP).keySet().stream().filter(id -> states.get(id) == TaskState.FAILED).count();
        default:
          return told.get(method);
      }
    });
    EventHandler<?> handler = event -> {
      if (event instanceof SpeculatorEvent) {
        speculator.handle((SpeculatorEvent) event);
      } else if (event instanceof TaskEvent) {
        taskEvents.add((TaskEvent) event);
      } else if (event instanceof JobEvent) {
        jobEvents.add(((JobEvent) event).getType());
      }
    };
    Map<String, Object> master = new HashMap<>();
    master.put("getApplicationID", APPLICATION);
    master.put("getApplicationAttemptId", ApplicationAttemptId.newInstance(APPLICATION, 2));
    master.put("getApplicationName", "words");
    master.put("getStartTime", 1767225600000L);
    master.put("getUser", "alice");
    master.put("getClock", SystemClock.getInstance());
    master.put("getEventHandler", handler);
    master.put("getAllJobs", Collections.singletonMap(ID, job));
    context = fake(AppContext.class, (method, arguments) -> method.equals("getJob") ? job : master.get(method));
  }

  static TaskId map(int index) {
    return MRBuilderUtils.newTaskId(ID, index, TaskType.MAP);
  }

  static TaskId reduce(int index) {
    return MRBuilderUtils.newTaskId(ID, index, TaskType.REDUCE);
  }

  /** The task runs, and an attempt of it has got its container. */
  TaskAttemptId start(TaskId task, int number) {
    states.put(task, TaskState.RUNNING);
    TaskAttemptId attempt = MRBuilderUtils.newTaskAttemptId(task, number);
    attempts.put(attempt, TaskAttemptState.RUNNING);
    speculator.handle(new SpeculatorEvent(attempt, true, System.currentTimeMillis()));
    return attempt;
  }

  void end(TaskAttemptId attempt, TaskAttemptState how) {
    attempts.put(attempt, how);
    if (how == TaskAttemptState.SUCCEEDED) {
      states.put(attempt.getTaskId(), TaskState.SUCCEEDED);
    }
  }

  private static boolean isOver(TaskAttemptState state) {
    return state.ordinal() >= TaskAttemptState.SUCCEEDED.ordinal();
  }

  private Map<TaskId, Task> of(TaskType type) {
    return tasks.entrySet().stream().filter(each -> each.getKey().getTaskType() == type)
        .collect(Collectors.toMap(Map.Entry::getKey, Map.Entry::getValue));
  }

  private Map<TaskAttemptId, TaskAttempt> attemptsOf(TaskId task) {
    return attempts.keySet().stream().filter(id -> id.getTaskId().equals(task)).collect(Collectors.toMap(id -> id, this::attempt));
  }

  private Task task(TaskId id) {
    return fake(Task.class, (method, arguments) -> {
      switch (method) {
        case "getID":
          return id;
        case "getState":
          return states.get(id);
        case "isFinished":
          return states.get(id).ordinal() >= TaskState.SUCCEEDED.ordinal();
        case "getType":
          return id.getTaskType();
        case "getAttempts":
          return attemptsOf(id);
        case "getAttempt":
          return attemptsOf(id).get(arguments[0]);
        case "handle":
          taskEvents.add((TaskEvent) arguments[0]);
          attempts.put(MRBuilderUtils.newTaskAttemptId(id, 100 + taskEvents.size()), TaskAttemptState.NEW);
          return null;
        default:
          return null;
      }
    });
  }

  private TaskAttempt attempt(TaskAttemptId id) {
    Map<String, Object> told = new HashMap<>();
    told.put("getID", id);
    told.put("getCounters", new Counters());
    told.put("getDiagnostics", Collections.emptyList());
    told.put("getNodeId", NodeId.newInstance("127.0.0." + (11 + id.getId()), 1));
    told.put("getAssignedContainerID", ContainerId.newContainerId(ApplicationAttemptId.newInstance(APPLICATION, 2), TaskKey.attempt(id)));
    return fake(TaskAttempt.class, (method, arguments) -> {
      TaskAttemptState now = attempts.get(id);
      switch (method) {
        case "getState":
          return now;
        case "isFinished":
          return isOver(now);
        case "getFinishTime":
          return isOver(now) ? launchedMs + 5_000 : 0L;
        case "handle":
          killed.add(((TaskAttemptKillEvent) arguments[0]).getTaskAttemptID());
          return null;
        case "getLaunchTime":
          return now == TaskAttemptState.NEW ? 0L : launchedMs;
        default:
          return told.get(method);
      }
    });
  }

  private interface Answer {
    Object to(String method, Object[] arguments);
  }

  /** Also an event handler, as Hadoop's own are. */
  @SuppressWarnings("unchecked")
  private static <T> T fake(Class<T> type, Answer answer) {
    return (T) Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type, EventHandler.class},
        (proxy, method, arguments) -> {
          switch (method.getName()) {
            case "hashCode":
              return 1;
            case "equals":
              return proxy == arguments[0];
            default:
              return answer.to(method.getName(), arguments);
          }
        });
  }
}
