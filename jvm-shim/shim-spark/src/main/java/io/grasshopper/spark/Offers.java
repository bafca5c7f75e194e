// When does Spark offer its free slots anew?
package io.grasshopper.spark;

import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.TaskSchedulerImpl;

/** Once for all that has asked for it. For the sync loop's thread. */
final class Offers {
  private final SparkContext context;
  private final TaskSchedulerImpl scheduler;
  private boolean revive;

  Offers(SparkContext context, TaskSchedulerImpl scheduler) {
    this.context = context;
    this.scheduler = scheduler;
  }

  /** What was ordered, or has ended, may launch something with the next offer. */
  void want() {
    revive = true;
  }

  void settle() {
    if (revive && !context.isStopped()) {
      revive = false;
      scheduler.backend().reviveOffers();
    }
  }
}
