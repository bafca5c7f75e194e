// How long does an attempt's read take? What a world of stragglers has to say.
package io.grasshopper.testkit;

/** Nothing in here depends on a clock, on the host, or on the folder a file lies in. */
interface Pace {
  /** Nanoseconds that one byte takes this attempt, once it has begun. */
  double nanosPerByte(String fileName, long splitStartBytes, int attempt);

  /** Nanoseconds until an attempt's first byte. */
  default double nanosToFirstByte() {
    return 0;
  }
}
