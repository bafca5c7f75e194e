// How does a test hold a leaf queue of a real CapacityScheduler in its hand? Without a ResourceManager, threads and clocks.
package io.grasshopper.yarn;

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.yarn.LocalConfigurationProvider;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.NodeState;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.event.Dispatcher;
import org.apache.hadoop.yarn.event.Event;
import org.apache.hadoop.yarn.event.EventHandler;
import org.apache.hadoop.yarn.server.resourcemanager.RMContextImpl;
import org.apache.hadoop.yarn.server.resourcemanager.ahs.RMApplicationHistoryWriter;
import org.apache.hadoop.yarn.server.resourcemanager.metrics.NoOpSystemMetricPublisher;
import org.apache.hadoop.yarn.server.resourcemanager.nodelabels.RMNodeLabelsManager;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.ContainerAllocationExpirer;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerApp;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.constraint.AllocationTagsManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAttemptAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEvent;
import org.apache.hadoop.yarn.util.resource.ResourceUtils;

/** One covered leaf queue, whose nodes speak when the test says so. Applications bring their masters along, outside of YARN. */
final class LocalScheduler implements Dispatcher {
  private static final String QUEUE = "root.default";
  private static final String USER = "somebody";
  private static final String KEYS = "yarn.scheduler.capacity.";
  private static final Map<Class<?>, Object> NOTHING = new HashMap<>();

  static {
    NOTHING.put(boolean.class, false);
    NOTHING.put(int.class, 0);
    NOTHING.put(List.class, Collections.emptyList());
    NOTHING.put(Set.class, Collections.emptySet());
    NOTHING.put(Map.class, Collections.emptyMap());
  }

  private final CapacityScheduler scheduler = new CapacityScheduler();
  private final RMContextImpl context;
  private final List<RMNode> nodes = new ArrayList<>();

  LocalScheduler(int nodeCount, int nodeMb) throws Exception {
    DefaultMetricsSystem.setMiniClusterMode(true);
    Configuration conf = new YarnConfiguration();
    conf.setInt(YarnConfiguration.RM_SCHEDULER_MINIMUM_ALLOCATION_MB, 64);
    conf.set(KEYS + "root.queues", "default");
    conf.set(KEYS + QUEUE + ".capacity", "100");
    conf.set(KEYS + QUEUE + ".ordering-policy", GrasshopperOrderingPolicy.class.getName());
    conf.setBoolean(KEYS + "schedule-asynchronously.enable", false);
    ResourceUtils.resetResourceTypes(conf);
    context = new RMContextImpl(
        this, new ContainerAllocationExpirer(this), null, null, null, null, null, null, null, scheduler);
    context.setYarnConfiguration(conf);
    context.setConfigurationProvider(new LocalConfigurationProvider());
    context.setRMApplicationHistoryWriter(new RMApplicationHistoryWriter());
    context.setSystemMetricsPublisher(new NoOpSystemMetricPublisher());
    context.setAllocationTagsManager(new AllocationTagsManager(context));
    RMNodeLabelsManager labels = new RMNodeLabelsManager();
    labels.init(conf);
    labels.setRMContext(context);
    context.setNodeLabelManager(labels);
    scheduler.setConf(conf);
    scheduler.setRMContext(context);
    scheduler.init(conf);
    for (int number = 0; number < nodeCount; number++) {
      nodes.add(node(NodeId.newInstance("node" + number, 1), Resource.newInstance(nodeMb, 8)));
      scheduler.handle(new NodeAddedSchedulerEvent(nodes.get(number)));
    }
  }

  FiCaSchedulerApp submit(int number) {
    ApplicationId id = ApplicationId.newInstance(1, number);
    ApplicationAttemptId attempt = ApplicationAttemptId.newInstance(id, 1);
    boolean bringsMaster = true;
    ApplicationSubmissionContext submission = ApplicationSubmissionContext.newInstance(
        id, id.toString(), QUEUE, Priority.newInstance(0), null, bringsMaster, false, 1, Resource.newInstance(0, 0));
    Map<String, Object> answers = new HashMap<>();
    answers.put("getApplicationSubmissionContext", submission);
    context.getRMApps().put(id, answering(RMApp.class, answers));
    scheduler.handle(new AppAddedSchedulerEvent(id, "default", USER));
    scheduler.handle(new AppAttemptAddedSchedulerEvent(attempt, false));
    return scheduler.getApplicationAttempt(attempt);
  }

  /** From here on the application asks for so many containers of this size, on any node, and for no others. */
  void ask(FiCaSchedulerApp application, int containers, int megabytes) {
    application.updateResourceRequests(Collections.singletonList(ResourceRequest.newInstance(
        Priority.newInstance(1), ResourceRequest.ANY, Resource.newInstance(megabytes, 1), containers)));
  }

  /** These nodes report, one after the other; each gets one container at most. */
  void report(int... numbers) {
    for (int number : numbers) {
      scheduler.handle(new NodeUpdateSchedulerEvent(nodes.get(number)));
    }
  }

  CoveredQueue queue() {
    return CoveredQueue.of(scheduler).get(0);
  }

  /** What the plug-in does at each tick, but for the report. */
  void tick() {
    new Enforcement(context).dropReservations(queue());
  }

  @Override
  public EventHandler<Event> getEventHandler() {
    return event -> {
      if (event instanceof SchedulerEvent) {
        scheduler.handle((SchedulerEvent) event);
      }
    };
  }

  @Override
  @SuppressWarnings("rawtypes")
  public void register(Class<? extends Enum> type, EventHandler handler) {}

  private static RMNode node(NodeId id, Resource total) {
    Map<String, Object> answers = new HashMap<>();
    answers.put("getNodeID", id);
    answers.put("getHostName", id.getHost());
    answers.put("getRackName", "/rack");
    answers.put("getTotalCapability", total);
    answers.put("getState", NodeState.RUNNING);
    return answering(RMNode.class, answers);
  }

  /** Answers by the methods' names, and to all other calls with nothing. */
  private static <T> T answering(Class<T> type, Map<String, Object> answers) {
    return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type},
        (proxy, method, arguments) -> answers.getOrDefault(method.getName(), NOTHING.get(method.getReturnType()))));
  }
}
