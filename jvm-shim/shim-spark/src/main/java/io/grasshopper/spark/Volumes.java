// How much has one attempt read and written? The same reading on executors and in the driver.
package io.grasshopper.spark;

import org.apache.spark.executor.ShuffleReadMetrics;
import org.apache.spark.executor.TaskMetrics;

/** Totals of one attempt; what it fetched from a shuffle counts as read where it has no other input. */
final class Volumes {
  final long bytesRead;
  final long bytesWritten;
  final long recordsRead;
  final long recordsWritten;

  Volumes(TaskMetrics metrics) {
    long bytes = metrics.inputMetrics().bytesRead();
    long records = metrics.inputMetrics().recordsRead();
    boolean hasInput = bytes > 0 || records > 0;
    ShuffleReadMetrics shuffle = metrics.shuffleReadMetrics();
    bytesRead = hasInput ? bytes : shuffle.totalBytesRead();
    recordsRead = hasInput ? records : shuffle.recordsRead();
    boolean hasOutput = metrics.outputMetrics().bytesWritten() > 0 || metrics.outputMetrics().recordsWritten() > 0;
    bytesWritten = hasOutput ? metrics.outputMetrics().bytesWritten() : metrics.shuffleWriteMetrics().bytesWritten();
    recordsWritten = hasOutput ? metrics.outputMetrics().recordsWritten() : metrics.shuffleWriteMetrics().recordsWritten();
  }
}
