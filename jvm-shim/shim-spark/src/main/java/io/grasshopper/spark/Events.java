// Which of Spark's listener events do we use?
package io.grasshopper.spark;

import java.util.function.Consumer;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerExecutorAdded;
import org.apache.spark.scheduler.SparkListenerExecutorMetricsUpdate;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.SparkListenerTaskStart;

/** Hands each event on; nothing here waits, so the listener bus never falls behind because of us. */
class Events extends SparkListener {
  private static final String SQL_END = "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd";

  private final Attachment attachment;

  /** @param attachment null where there is nothing to do */
  Events(Attachment attachment) {
    this.attachment = attachment;
  }

  private void run(String hook, Consumer<SparkHost> body) {
    if (attachment != null) {
      attachment.guard().run(hook, () -> body.accept(attachment.host()));
    }
  }

  @Override
  public void onExecutorAdded(SparkListenerExecutorAdded event) {
    run("executor added", host -> host.facts().executorAdded(event));
  }

  @Override
  public void onExecutorRemoved(SparkListenerExecutorRemoved event) {
    run("executor removed", host -> host.facts().executorLost(event));
  }

  @Override
  public void onJobStart(SparkListenerJobStart event) {
    run("job start", host -> host.facts().jobStarted(event));
  }

  @Override
  public void onJobEnd(SparkListenerJobEnd event) {
    run("job end", host -> host.facts().jobEnded(event));
  }

  @Override
  public void onStageSubmitted(SparkListenerStageSubmitted event) {
    run("stage start", host -> host.facts().hurry());
  }

  @Override
  public void onStageCompleted(SparkListenerStageCompleted event) {
    run("stage end", host -> host.facts().stageEnded(event.stageInfo()));
  }

  @Override
  public void onTaskStart(SparkListenerTaskStart event) {
    run("task start", host -> {
      host.facts().attemptStarted(event.stageId(), event.stageAttemptId(), event.taskInfo(), 0);
      host.facts().hurry();
    });
  }

  @Override
  public void onTaskEnd(SparkListenerTaskEnd event) {
    run("task end", host -> host.facts().attemptEnded(event));
  }

  @Override
  public void onExecutorMetricsUpdate(SparkListenerExecutorMetricsUpdate event) {
    run("heartbeat", host -> host.progress().heartbeat(event));
  }

  @Override
  public void onOtherEvent(SparkListenerEvent event) {
    if (event.getClass().getName().equals(SQL_END)) {
      run("sql end", host -> host.facts().sqlEnded((Long) Scala.call(event, "executionId")));
    }
  }

  @Override
  public void onApplicationEnd(SparkListenerApplicationEnd event) {
    run("application end", host -> attachment.applicationEnded());
  }
}
