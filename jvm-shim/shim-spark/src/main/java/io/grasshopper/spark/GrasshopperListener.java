// How does a user attach where plug-ins are not allowed? spark.extraListeners=io.grasshopper.spark.GrasshopperListener.
package io.grasshopper.spark;

import org.apache.spark.SparkConf;

/** The other way in: the same control, and progress by Spark's heartbeats. Beside the plug-in it does nothing. */
public final class GrasshopperListener extends Events {
  /** Called by Spark. */
  public GrasshopperListener(SparkConf conf) {
    super(Attachment.forListener(conf));
  }
}
