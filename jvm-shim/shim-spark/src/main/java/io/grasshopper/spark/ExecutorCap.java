// How does a driver do with fewer executors than Spark's dynamic allocation would hold?
package io.grasshopper.spark;

import java.util.Collections;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.apache.spark.ExecutorAllocationClient;
import org.apache.spark.ExecutorAllocationManager;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SchedulerBackend;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lowers what Spark's {@link ExecutorAllocationManager} asks for, keeps tasks off the executors beyond it, and has Spark
 * remove each of them as idle as soon as it is.
 *
 * <p>Spark itself removes them, by its own checks and on its own thread, where all of this runs. Never one with a running
 * task, with cached blocks or with shuffle output that is still tracked: such an executor stays in use. The user's least
 * number of executors stays, too. Where Spark lacks what this needs, executors are left alone, and the rest of the shim goes on.
 */
final class ExecutorCap {
  private static final Logger LOG = LoggerFactory.getLogger(ExecutorCap.class);
  private static final long LOOK_MS = 100;

  private final AllocationMembers spark;
  private final Control control;
  private final Drain drain;
  private volatile Limit limit;
  private ScheduledFuture<?> looking;
  private boolean isMisfit;

  private static final class Limit {
    final int executors;
    final long endNanos;

    Limit(int executors, long endNanos) {
      this.executors = executors;
      this.endNanos = endNanos;
    }
  }

  private ExecutorCap(AllocationMembers spark, Control control) {
    this.spark = spark;
    this.control = control;
    this.drain = new Drain(spark, control);
  }

  /** Null where executors are allocated statically, where Spark does not track what would be lost with them, or does not fit. */
  static ExecutorCap of(SparkContext context, Control control) {
    return orNull(() -> bounding(
        Scala.orNull(context.executorAllocationManager()),
        context.schedulerBackend(),
        context.conf().getBoolean("spark.shuffle.service.enabled", false),
        control));
  }

  static ExecutorCap orNull(Supplier<ExecutorCap> cap) {
    try {
      return cap.get();
    } catch (RuntimeException | LinkageError error) {
      LOG.warn("Grasshopper leaves executors to this Spark alone", error);
      return null;
    }
  }

  static ExecutorCap bounding(ExecutorAllocationManager manager, SchedulerBackend client, boolean isServed, Control control) {
    return manager != null && (isServed || AllocationMembers.isTracked(manager.executorMonitor()))
        ? new ExecutorCap(new AllocationMembers(manager, (ExecutorAllocationClient) client), control)
        : null;
  }

  /** Holds from Spark's next look on, until that moment; false where this Spark has turned out not to fit. From any thread. */
  synchronized boolean lower(int executors, long endNanos) {
    if (isMisfit) {
      return false;
    }
    limit = new Limit(executors, endNanos);
    if (looking == null) {
      looking = spark.thread.scheduleWithFixedDelay(this::look, 0, LOOK_MS, TimeUnit.MILLISECONDS);
    }
    return true;
  }

  /** Gives the user's own bounds back with Spark's next look. From any thread. */
  void lift() {
    limit = null;
  }

  private void look() {
    Limit held = limit;
    boolean isLive = held != null && control.guard.isOn() && System.nanoTime() - held.endNanos < 0;
    try {
      synchronized (spark.manager) {
        if (isLive && spark.hasOneProfile()) {
          shrinkTo(Math.max(spark.usersLeast, Math.min(spark.usersMost, held.executors)));
        } else {
          giveBack();
          drain.end();
        }
      }
    } catch (VirtualMachineError error) {
      end(false);
      control.guard.caught("executors", error);
      return;
    } catch (LinkageError error) {
      end(true);
      LOG.warn("Grasshopper leaves executors to this Spark alone from here on", error);
      return;
    } catch (Throwable error) {
      control.guard.caught("executors", error);
    }
    if (!isLive) {
      rest(held);
    }
  }

  private void shrinkTo(int executors) {
    spark.bound(executors);
    spark.lowerTarget(executors);
    drain.downTo(executors);
  }

  private void giveBack() {
    control.draining = Collections.emptySet();
    spark.bound(spark.usersMost);
  }

  /** Nobody would look again: the executor service drops what has thrown. */
  private synchronized void end(boolean forGood) {
    giveBack();
    drain.abandon();
    isMisfit = forGood;
    rest(limit);
  }

  private synchronized void rest(Limit ended) {
    if (limit == ended) {
      limit = null;
      looking.cancel(false);
      looking = null;
    }
  }
}
