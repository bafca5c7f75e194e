// How many slots does one job hold, and how many should it?
package io.grasshopper.spark;

import java.util.ArrayList;
import java.util.List;
import java.util.function.IntSupplier;

/** One job's running attempts, and its container grant while that lives. Touched under the scheduler's lock only. */
final class JobShare {
  /** A task set, as far as its job's share is concerned. */
  interface Part {
    /** Whether it launches no more and nothing of it runs. */
    boolean isOver();

    /** Originals that have not started. */
    int waiting();
  }

  private static final int NONE = -1;

  final int weight;
  private int running;
  private int copies;
  private int target = NONE;
  private int cap = NONE;
  private int originals = NONE;
  private double precedence;
  private long endNanos;
  private boolean yieldsAtTarget;
  /** Its task sets, and perhaps some that are over. */
  private final List<Part> sets = new ArrayList<>();
  private boolean isEnded;

  JobShare(int weight) {
    this.weight = weight;
  }

  void grant(int newTarget, int newCap, int newOriginals, double newPrecedence, long newEndNanos) {
    target = newTarget;
    cap = newCap;
    originals = newOriginals;
    precedence = newPrecedence;
    endNanos = newEndNanos;
  }

  void add(Part set) {
    sets.removeIf(Part::isOver);
    sets.add(set);
    isEnded = false;
  }

  /** Its job has ended, as far as anybody has heard: a next one of the same key may have begun. */
  void end() {
    isEnded = true;
  }

  /** Whether its job has ended and no task set of it is left, for the last attempts outlive their job. */
  boolean isOver() {
    if (isEnded) {
      sets.removeIf(Part::isOver);
    }
    return isEnded && sets.isEmpty();
  }

  int waiting() {
    return sets.stream().mapToInt(Part::waiting).sum();
  }

  /** Back to stock. */
  void clear() {
    target = NONE;
    cap = NONE;
    originals = NONE;
    yieldsAtTarget = false;
  }

  boolean hasGrant() {
    return target != NONE;
  }

  long endNanos() {
    return endNanos;
  }

  private boolean isLive(long nowNanos) {
    return hasGrant() && nowNanos - endNanos < 0;
  }

  /** Whether it holds fewer slots than it should. */
  boolean isHungry(long nowNanos) {
    return running < target && isLive(nowNanos);
  }

  /** Who goes first within the hungry and within the others; smaller is earlier. */
  double precedence(long nowNanos) {
    return isLive(nowNanos) ? precedence : 0;
  }

  /** The same for those of equal precedence. */
  double need(boolean hungry) {
    return (double) running / (hungry ? target : weight);
  }

  /** Set once per round of offers: whether a hungry job comes after this one, so that it must leave slots over. */
  void setYieldsAtTarget(boolean yields) {
    yieldsAtTarget = yields;
  }

  /** Whether this job must not take a slot now. */
  boolean isGated() {
    if (target == NONE) {
      return false;
    }
    boolean full = cap != NONE && running >= cap || yieldsAtTarget && running >= target;
    return full && isLive(System.nanoTime());
  }

  /** Whether its originals hold all that they may: the rest of its slots is for copies. */
  boolean isFullOfOriginals(long nowNanos) {
    return originals != NONE && running - copies >= originals && isLive(nowNanos);
  }

  /** Whether fewer originals wait than so many times what it should hold; true before its first grant, which will tell. */
  boolean isShortOf(int waves, IntSupplier waiting) {
    return !hasGrant() || waiting.getAsInt() < (long) waves * target;
  }

  void started(boolean isCopy) {
    running++;
    copies += isCopy ? 1 : 0;
  }

  void ended(boolean isCopy) {
    running--;
    copies -= isCopy ? 1 : 0;
  }

  int running() {
    return running;
  }
}
