// How slow is one attempt, where every duration is listed? For examples whose schedule is known beforehand.
package io.grasshopper.testkit;

import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;

/**
 * Every split's original reads for as long as {@code fs.paced.seconds.FILE} says, split by split, and every further attempt
 * for {@code fs.paced.copy-seconds}. The first byte takes {@code fs.paced.first-byte-seconds} of that.
 */
final class Listed implements Pace {
  private static final double NANOS = 1e9;

  private final Configuration conf;
  private final double copySeconds;
  private final double firstByteSeconds;
  private final long splitBytes;

  Listed(Configuration conf) {
    this.conf = conf;
    this.copySeconds = conf.getDouble("fs.paced.copy-seconds", 1.0);
    this.firstByteSeconds = conf.getDouble("fs.paced.first-byte-seconds", 0.0);
    this.splitBytes = conf.getLong("fs.paced.split-bytes", 1 << 20);
  }

  @Override
  public double nanosPerByte(String fileName, long splitStartBytes, int attempt) {
    double seconds = attempt > 0 ? copySeconds : original(fileName, (int) (splitStartBytes / splitBytes));
    return NANOS * (seconds - firstByteSeconds) / splitBytes;
  }

  private double original(String fileName, int split) {
    double[] listed = Arrays.stream(conf.getTrimmedStrings("fs.paced.seconds." + fileName))
        .mapToDouble(Double::parseDouble).toArray();
    if (split >= listed.length) {
      throw new IllegalArgumentException("fs.paced.seconds." + fileName + ": got " + listed.length + " splits, want more than " + split);
    }
    return listed[split];
  }

  @Override
  public double nanosToFirstByte() {
    return NANOS * firstByteSeconds;
  }
}
