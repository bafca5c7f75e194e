// How is one read slowed down without lying about its progress? In small true steps, each followed by a short sleep.
package io.grasshopper.testkit;

import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.util.concurrent.TimeUnit;
import java.util.function.LongToDoubleFunction;
import org.apache.hadoop.fs.FSInputStream;
import org.apache.hadoop.fs.Seekable;

/**
 * A seekable stream whose bytes arrive at a steady rate, fixed by the position of the first read (the split's start).
 *
 * <p>Each step sleeps for its own bytes only. A process that was stopped does not catch up afterwards, as a slow disk
 * would not. An interrupt (Spark killing the attempt) ends the read at once.
 */
final class PacedInputStream<S extends InputStream & Seekable> extends FSInputStream {
  private static final int STEP_BYTES = 16 * 1024;
  private static final double SHORTEST_SLEEP_NANOS = 1e6;

  private final S local;
  private final LongToDoubleFunction nanosPerByteOfSplit;
  private double nanosPerByte = -1;
  private double owedNanos;

  PacedInputStream(S local, LongToDoubleFunction nanosPerByteOfSplit, double nanosToFirstByte) {
    this.local = local;
    this.nanosPerByteOfSplit = nanosPerByteOfSplit;
    this.owedNanos = nanosToFirstByte;
  }

  @Override
  public int read() throws IOException {
    fixRate();
    int value = local.read();
    pay(value < 0 ? 0 : 1);
    return value;
  }

  @Override
  public int read(byte[] buffer, int offset, int length) throws IOException {
    fixRate();
    int count = local.read(buffer, offset, Math.min(length, STEP_BYTES));
    pay(Math.max(count, 0));
    return count;
  }

  private void fixRate() throws IOException {
    if (nanosPerByte < 0) {
      nanosPerByte = nanosPerByteOfSplit.applyAsDouble(local.getPos());
      pay(0);
    }
  }

  private void pay(int bytes) throws IOException {
    owedNanos += bytes * nanosPerByte;
    if (owedNanos < SHORTEST_SLEEP_NANOS) {
      return;
    }
    try {
      TimeUnit.NANOSECONDS.sleep((long) owedNanos);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw (IOException) new InterruptedIOException("attempt ended while reading").initCause(e);
    }
    owedNanos = 0;
  }

  @Override
  public void seek(long positionBytes) throws IOException {
    local.seek(positionBytes);
  }

  @Override
  public long getPos() throws IOException {
    return local.getPos();
  }

  @Override
  public boolean seekToNewSource(long positionBytes) {
    return false;
  }

  @Override
  public void close() throws IOException {
    local.close();
  }
}
