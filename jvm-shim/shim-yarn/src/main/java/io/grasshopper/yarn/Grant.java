// How many containers should one application hold, who goes before it, and until when?
package io.grasshopper.yarn;

/**
 * One container grant: a target, perhaps a cap, and its end by {@link System#nanoTime}. Masters' containers do not count.
 *
 * <p>Of two applications below their targets, that of the lower precedence goes first.
 */
final class Grant {
  static final int NO_CAP = Integer.MAX_VALUE;

  final int target;
  final int cap;
  final double precedence;
  private final long endNanos;

  Grant(int target, int cap, double precedence, long endNanos) {
    this.target = target;
    this.cap = cap;
    this.precedence = precedence;
    this.endNanos = endNanos;
  }

  boolean isLive(long nowNanos) {
    return nowNanos - endNanos < 0;
  }

  int compareByEnd(Grant other) {
    return Long.signum(endNanos - other.endNanos);
  }
}
