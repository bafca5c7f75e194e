// How long does the plug-in's reading of all queues take?
package io.grasshopper.yarn;

import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.monitor.SchedulingEditPolicy;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ResourceScheduler;

/** The plug-in's own edit policy; the processor time of each tick is written down. */
public final class TimedEditPolicy implements SchedulingEditPolicy {
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  private final GrasshopperEditPolicy policy = new GrasshopperEditPolicy();
  private final PrintStream rows = Rows.to("ticks.csv");
  private ResourceScheduler scheduler;

  @Override
  public void init(Configuration conf, RMContext context, ResourceScheduler resourceScheduler) {
    scheduler = resourceScheduler;
    policy.init(conf, context, resourceScheduler);
  }

  @Override
  public void editSchedule() {
    TimedScheduler.IN_HAND.lock();
    try {
      int applications = scheduler.getAppsInQueue("root.default").size();
      long began = THREADS.getCurrentThreadCpuTime();
      policy.editSchedule();
      rows.printf("%d,%d%n", applications, THREADS.getCurrentThreadCpuTime() - began);
    } finally {
      TimedScheduler.IN_HAND.unlock();
    }
  }

  @Override
  public long getMonitoringInterval() {
    return policy.getMonitoringInterval();
  }

  @Override
  public String getPolicyName() {
    return policy.getPolicyName();
  }
}
