// How slow is one attempt, where every duration is listed? For examples whose schedule is known beforehand.
package io.grasshopper.testkit;

import java.util.function.Function;
import org.apache.hadoop.conf.Configuration;

/** A split's original reads for as long as its file's list says, every further attempt for one and the same time. */
final class Listed implements Pace {
  private static final double NANOS = 1e9;

  private final Function<String, String[]> secondsOfFile;
  private final double copySeconds;
  private final double firstByteSeconds;
  private final long splitBytes;

  Listed(Function<String, String[]> secondsOfFile, double copySeconds, double firstByteSeconds, long splitBytes) {
    this.secondsOfFile = secondsOfFile;
    this.copySeconds = copySeconds;
    this.firstByteSeconds = firstByteSeconds;
    this.splitBytes = splitBytes;
  }

  /** Reads {@code fs.paced.seconds.FILE}, {@code .copy-seconds}, {@code .first-byte-seconds} and {@code .split-bytes}. */
  static Listed of(Configuration conf) {
    return new Listed(
        file -> conf.getTrimmedStrings("fs.paced.seconds." + file),
        conf.getDouble("fs.paced.copy-seconds", 1.0),
        conf.getDouble("fs.paced.first-byte-seconds", 0.0),
        conf.getLong("fs.paced.split-bytes", 1 << 20));
  }

  /** The time to the first byte is part of what is listed. */
  @Override
  public double nanosPerByte(String fileName, long splitStartBytes, int attempt) {
    double seconds = attempt > 0 ? copySeconds : original(fileName, (int) (splitStartBytes / splitBytes));
    return NANOS * (seconds - firstByteSeconds) / splitBytes;
  }

  private double original(String fileName, int split) {
    String[] listed = secondsOfFile.apply(fileName);
    if (split >= listed.length) {
      throw new IllegalArgumentException(
          "fs.paced.seconds." + fileName + ": got " + listed.length + " splits, want more than " + split);
    }
    return Double.parseDouble(listed[split]);
  }

  @Override
  public double nanosToFirstByte() {
    return NANOS * firstByteSeconds;
  }
}
