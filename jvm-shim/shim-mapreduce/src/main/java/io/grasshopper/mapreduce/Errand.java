// How does something run on the ApplicationMaster's dispatcher thread, on which alone the states of tasks change?
package io.grasshopper.mapreduce;

import org.apache.hadoop.mapreduce.v2.api.records.JobId;
import org.apache.hadoop.mapreduce.v2.app.speculate.SpeculatorEvent;

/** An event for our own speculator, which runs it. It names no task, so the dispatcher lets it through for maps and for reduces. */
final class Errand extends SpeculatorEvent implements Runnable {
  private final Runnable body;

  Errand(JobId job, long nowMs, Runnable body) {
    super(job, nowMs);
    this.body = body;
  }

  @Override
  public void run() {
    body.run();
  }
}
