// How slow is one attempt at one split? The stated model of slowness that comes from outside the user's code.
package io.grasshopper.testkit;

import org.apache.hadoop.conf.Configuration;

/**
 * A world of stragglers: every attempt reads at {@code bytesPerSecond / slowdown}.
 *
 * <p>The slowdown is 1 for a share {@code 1 - tailShare} of the draws, and otherwise a Pareto draw with minimum 1 and
 * the given tail index, cut at {@code maxSlowdown}. Draws depend on (seed, file name, split start). In an
 * {@code independent} world they depend on the attempt number, too: a copy draws anew. In a {@code data} world they do
 * not: a copy meets the same slowness again. In a {@code half} world they do not for half of the splits, which (seed,
 * file name, split start) choose. Nothing depends on a clock, on the host, or on the folder the file lies in.
 */
final class World implements Pace {
  private final long seed;
  private final double shareInData;
  private final double bytesPerSecond;
  private final double tailIndex;
  private final double tailShare;
  private final double maxSlowdown;

  World(long seed, String kind, double bytesPerSecond, double tailIndex, double tailShare, double maxSlowdown) {
    this.seed = seed;
    this.shareInData = shareInData(kind);
    this.bytesPerSecond = bytesPerSecond;
    this.tailIndex = tailIndex;
    this.tailShare = tailShare;
    this.maxSlowdown = maxSlowdown;
  }

  /** Reads the {@code fs.paced.*} keys. */
  static World of(Configuration conf) {
    return new World(
        conf.getLong("fs.paced.seed", 1),
        conf.get("fs.paced.world", "independent"),
        conf.getDouble("fs.paced.bytes-per-second", 1 << 20),
        conf.getDouble("fs.paced.tail-index", 1.4),
        conf.getDouble("fs.paced.tail-share", 1.0),
        conf.getDouble("fs.paced.max-slowdown", 15.0));
  }

  /** The factor, at least 1, by which this attempt at this split is slower than nominal. */
  double slowdown(String fileName, long splitStartBytes, int attempt) {
    long state = mix(seed);
    state = mix(state ^ fileName.hashCode());
    state = mix(state ^ splitStartBytes);
    boolean inData = unit(mix(~state)) <= shareInData; // no attempt's number inverts all bits
    if (!inData) {
      state = mix(state ^ attempt);
    }
    if (unit(state) > tailShare) {
      return 1.0;
    }
    return Math.min(maxSlowdown, Math.pow(unit(mix(state)), -1.0 / tailIndex));
  }

  @Override
  public double nanosPerByte(String fileName, long splitStartBytes, int attempt) {
    return 1e9 / bytesPerSecond * slowdown(fileName, splitStartBytes, attempt);
  }

  /** The share of the splits whose attempts all draw the same slowdown. */
  private static double shareInData(String kind) {
    switch (kind) {
      case "independent":
        return 0;
      case "half":
        return 0.5;
      case "data":
        return 1;
      default:
        throw new IllegalArgumentException("fs.paced.world: got " + kind + ", want independent, half or data");
    }
  }

  /** SplitMix64's step: neighbouring inputs give unrelated outputs. */
  private static long mix(long value) {
    long z = value + 0x9E3779B97F4A7C15L;
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }

  /** The upper 53 bits as a number in (0, 1]. */
  private static double unit(long bits) {
    return ((bits >>> 11) + 1) * 0x1.0p-53;
  }
}
