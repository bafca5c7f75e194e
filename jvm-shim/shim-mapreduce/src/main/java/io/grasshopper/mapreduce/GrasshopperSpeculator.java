// How is the shim put into a MapReduce ApplicationMaster?
package io.grasshopper.mapreduce;

import io.grasshopper.core.Guard;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.v2.api.records.TaskId;
import org.apache.hadoop.mapreduce.v2.app.AppContext;
import org.apache.hadoop.mapreduce.v2.app.speculate.DefaultSpeculator;
import org.apache.hadoop.mapreduce.v2.app.speculate.SpeculatorEvent;

/**
 * Named by {@code yarn.app.mapreduce.am.job.speculator.class}.
 *
 * <p>It is Hadoop's own speculator, which hears of everything and rests while a control plane holds the job. Events come on the
 * dispatcher's thread, which never waits here.
 */
public final class GrasshopperSpeculator extends DefaultSpeculator {
  private final Guard guard = new Guard(() -> { });
  private final MapReduceHost host;

  /** Called by the ApplicationMaster. */
  public GrasshopperSpeculator(Configuration conf, AppContext context) {
    super(conf, context);
    host = guard.get("attach", null, () -> Attachment.hostOf(conf, context, guard));
  }

  @Override
  protected void serviceStart() throws Exception {
    super.serviceStart();
    if (host != null) {
      guard.run("start", host::start);
    }
  }

  @Override
  protected void serviceStop() throws Exception {
    if (host != null) {
      guard.run("stop", host::stop);
    }
    super.serviceStop();
  }

  @Override
  public void handle(SpeculatorEvent event) {
    if (event instanceof Errand) {
      guard.run("order", (Errand) event);
      return;
    }
    super.handle(event);
    if (host != null) {
      guard.run("event", () -> host.hear(event));
    }
  }

  /** Hadoop's own copy of a task; it remembers none that was not launched, so it goes on where a lease has ended. */
  @Override
  protected void addSpeculativeAttempt(TaskId task) {
    if (host == null || !guard.get("claim", false, host::isClaimed)) {
      super.addSpeculativeAttempt(task);
    }
  }
}
