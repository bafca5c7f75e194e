// How long does a simulation last? Until its applications have ended, or the time is over.
package io.grasshopper.yarn;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.util.ToolRunner;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.sls.SLSRunner;

/** Runs the Scheduler Load Simulator on every site file; its own main class reads sls-runner.xml only. */
public final class Simulation {
  private Simulation() {}

  /** The simulator's own arguments; {@code bench.seconds} is how long its load may last. */
  public static void main(String[] arguments) {
    int code = 1;
    try {
      Configuration conf = new YarnConfiguration();
      conf.addResource("sls-runner.xml");
      ToolRunner.run(conf, new SLSRunner(conf), arguments);
      Thread.sleep(1000 * Long.getLong("bench.seconds"));
      code = 0;
    } catch (Exception | LinkageError error) {
      error.printStackTrace();
    }
    System.exit(code);
  }
}
