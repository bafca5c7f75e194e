// Are an attempt's containers counted exactly, whether its master's is among them or not?
package io.grasshopper.yarn;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.reflect.Proxy;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ExecutionType;
import org.apache.hadoop.yarn.server.resourcemanager.RMContextImpl;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Queue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplicationAttempt;
import org.junit.jupiter.api.Test;

class HoldingsTest {
  private static final ApplicationId APP = ApplicationId.newInstance(1, 1);
  private static final ApplicationAttemptId FIRST = ApplicationAttemptId.newInstance(APP, 1);
  private static final ApplicationAttemptId SECOND = ApplicationAttemptId.newInstance(APP, 2);

  private ContainerId master;

  /** One of the ResourceManager's interfaces, which answers what the test says, else nothing. */
  private static <T> T stub(Class<T> type, Function<String, Object> answers) {
    return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
      Object answer = answers.apply(method.getName());
      return answer == null && method.getReturnType() == boolean.class ? (Object) false : answer;
    }));
  }

  private SchedulerApplicationAttempt attempt(ApplicationAttemptId id, boolean isUnmanaged) {
    ApplicationSubmissionContext submitted = ApplicationSubmissionContext.newInstance(
        APP, "app", "root.batch", null, null, isUnmanaged, true, 2, null);
    Function<String, Object> ofAttempt = method -> method.equals("getMasterContainer") && master != null
        ? Container.newInstance(master, null, null, null, null, null) : null;
    Map<String, Object> ofApp = new HashMap<>();
    ofApp.put("getCurrentAppAttempt", stub(RMAppAttempt.class, ofAttempt));
    ofApp.put("getApplicationSubmissionContext", submitted);
    ofApp.put("getApplicationSchedulingEnvs", Collections.emptyMap());
    RMContextImpl context = new RMContextImpl();
    context.setYarnConfiguration(new Configuration(false));
    context.getRMApps().put(APP, stub(RMApp.class, ofApp::get));
    Queue queue = stub(Queue.class, method -> null);
    return new SchedulerApplicationAttempt(id, "nightly", queue, null, context) {
      @Override
      public List<RMContainer> getReservedContainers() {
        return Collections.singletonList(stub(RMContainer.class, method -> null));
      }
    };
  }

  private static ContainerId container(ApplicationAttemptId attempt, int number) {
    return ContainerId.newContainerId(attempt, number);
  }

  private static void start(SchedulerApplicationAttempt attempt, ContainerId... containers) {
    for (ContainerId id : containers) {
      attempt.addRMContainer(id, stub(RMContainer.class, method ->
          method.equals("getExecutionType") ? ExecutionType.GUARANTEED : null));
    }
  }

  @Test
  void aMasterIsNotCounted() {
    SchedulerApplicationAttempt attempt = attempt(FIRST, false);
    master = container(FIRST, 3);
    start(attempt, master, container(FIRST, 4), container(FIRST, 5));
    assertEquals(2, Holdings.executors(attempt));
  }

  /** Until the new attempt's master has a container, all that live are what the old one has left. */
  @Test
  void betweenTwoAttemptsNothingIsMissing() {
    SchedulerApplicationAttempt attempt = attempt(SECOND, false);
    start(attempt, container(FIRST, 4), container(FIRST, 5));
    assertEquals(2, Holdings.executors(attempt));
  }

  /** Its node may report later than others after a restart of the ResourceManager, and its end may be heard first. */
  @Test
  void aMasterThatIsNotThereTakesNothingAway() {
    SchedulerApplicationAttempt attempt = attempt(FIRST, false);
    master = container(FIRST, 1);
    start(attempt, container(FIRST, 2));
    assertEquals(1, Holdings.executors(attempt));
  }

  @Test
  void anUnmanagedMasterHasNone() {
    SchedulerApplicationAttempt attempt = attempt(FIRST, true);
    start(attempt, container(FIRST, 1), container(FIRST, 2));
    assertEquals(2, Holdings.executors(attempt));
  }

  /** Nobody drops it as one above a cap. */
  @Test
  void aReservationForAMasterIsNotCounted() {
    SchedulerApplicationAttempt attempt = attempt(FIRST, false);
    assertEquals(0, QueuedApplication.read(attempt).reserved.size());
    master = container(FIRST, 1);
    assertEquals(1, QueuedApplication.read(attempt).reserved.size());
  }
}
