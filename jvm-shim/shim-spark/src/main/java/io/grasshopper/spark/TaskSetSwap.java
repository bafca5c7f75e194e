// Where does an ordered task set take the place of Spark's own?
package io.grasshopper.spark;

import java.lang.reflect.Field;
import java.util.Properties;
import org.apache.spark.scheduler.Pool;
import org.apache.spark.scheduler.Schedulable;
import org.apache.spark.scheduler.SchedulableBuilder;
import org.apache.spark.scheduler.Stage;
import org.apache.spark.scheduler.TaskSchedulerImpl;
import org.apache.spark.scheduler.TaskSetManager;
import scala.collection.mutable.HashMap;

/**
 * Wraps Spark's {@link SchedulableBuilder}, which sees each task set under the scheduler's lock after it was registered and
 * before anybody else knows it. Whatever fails in here leaves the stock manager where it is.
 */
final class TaskSetSwap implements SchedulableBuilder {
  private static final Field BUILDER = Scala.field(TaskSchedulerImpl.class, "schedulableBuilder");
  private static final Field SETS = Scala.field(TaskSchedulerImpl.class, "taskSetsByStageIdAndAttempt");

  private final TaskSchedulerImpl scheduler;
  private final SchedulableBuilder stock;
  private final Control control;
  private final TargetPool targets;

  private TaskSetSwap(TaskSchedulerImpl scheduler, Control control, TargetPool targets) {
    this.scheduler = scheduler;
    this.stock = (SchedulableBuilder) Scala.get(BUILDER, scheduler);
    this.control = control;
    this.targets = targets;
  }

  /** @param inControl false to watch only: task sets are reported and left as they are */
  static void install(TaskSchedulerImpl scheduler, Control control, boolean inControl) {
    synchronized (scheduler) {
      TargetPool targets = inControl ? new TargetPool(scheduler.rootPool(), control) : null;
      TaskSetSwap swap = new TaskSetSwap(scheduler, control, targets);
      Scala.set(BUILDER, scheduler, swap);
      if (inControl) {
        targets.install();
      }
    }
  }

  @Override
  public Pool rootPool() {
    return stock.rootPool();
  }

  @Override
  public void buildPools() {
    stock.buildPools();
  }

  @Override
  public void addTaskSetManager(Schedulable added, Properties properties) {
    long start = System.nanoTime();
    Schedulable chosen = added;
    if (control.guard.isOn() && added instanceof TaskSetManager) {
      chosen = control.guard.get("submit", added, () -> submitted((TaskSetManager) added, properties));
    }
    control.meter.leave(start);
    stock.addTaskSetManager(chosen, properties);
    if (targets != null) {
      long startPools = System.nanoTime();
      control.guard.run("pools", targets::adoptNewPools);
      control.meter.leave(startPools);
    }
  }

  private Schedulable submitted(TaskSetManager manager, Properties properties) {
    JobKey job = JobKey.of(properties, manager.taskSet().priority());
    Stage stage = Scala.orNull(scheduler.dagScheduler().stageIdToStage().get(manager.stageId()));
    control.facts.stageSubmitted(job, manager.taskSet(), stage);
    boolean isLeft = manager.getClass() != TaskSetManager.class || StageFacts.isTooLarge(manager.taskSet());
    if (targets == null || isLeft) {
      return manager;
    }
    OrderedTaskSet ordered = new OrderedTaskSet(scheduler, manager, job, control);
    sets(manager.stageId()).update(manager.taskSet().stageAttemptId(), ordered);
    return ordered;
  }

  @SuppressWarnings("unchecked")
  private HashMap<Object, TaskSetManager> sets(int stage) {
    return ((HashMap<Object, HashMap<Object, TaskSetManager>>) Scala.get(SETS, scheduler)).apply(stage);
  }
}
