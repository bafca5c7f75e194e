// Does a paced read deliver the true bytes, at its rate, and end when interrupted?
package io.grasshopper.testkit;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.fs.FSInputStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class PacedInputStreamTest {
  private static final int SIZE_BYTES = 64 * 1024;

  private final byte[] content = new byte[SIZE_BYTES];

  @BeforeEach
  void fillContent() {
    for (int i = 0; i < SIZE_BYTES; i++) {
      content[i] = (byte) (i * 31);
    }
  }

  /** The same bytes, unpaced and in memory. */
  private FSInputStream local() {
    return new FSInputStream() {
      private int position;

      @Override
      public int read() {
        return position < SIZE_BYTES ? content[position++] & 0xff : -1;
      }

      @Override
      public void seek(long positionBytes) {
        position = (int) positionBytes;
      }

      @Override
      public long getPos() {
        return position;
      }

      @Override
      public boolean seekToNewSource(long positionBytes) {
        return false;
      }
    };
  }

  private PacedInputStream<FSInputStream> open(double nanosPerByte) {
    return new PacedInputStream<>(local(), splitStartBytes -> nanosPerByte, 0);
  }

  @Test
  void bytesAreTrueAndTheRateIsKept() throws IOException {
    byte[] read = new byte[SIZE_BYTES];
    long startNanos = System.nanoTime();
    try (PacedInputStream<FSInputStream> stream = open(2_000)) {
      new DataInputStream(stream).readFully(read);
    }
    assertArrayEquals(content, read);
    assertTrue(System.nanoTime() - startNanos >= SIZE_BYTES * 2_000L);
  }

  /** The rate belongs to the split, and a split is known by where its reader starts. */
  @Test
  void theRateIsFixedByTheFirstReadPosition() throws IOException {
    AtomicLong splitStart = new AtomicLong(-1);
    try (PacedInputStream<FSInputStream> stream = new PacedInputStream<>(local(), start -> {
      assertEquals(-1, splitStart.getAndSet(start));
      return 1;
    }, 0)) {
      stream.seek(1_000);
      assertEquals(content[1_000], (byte) stream.read());
      stream.seek(5);
      assertEquals(content[5], (byte) stream.read());
    }
    assertEquals(1_000, splitStart.get());
  }

  @Test
  void aKilledAttemptEndsAtOnce() throws IOException {
    try (PacedInputStream<FSInputStream> stream = open(1e9)) {
      Thread.currentThread().interrupt();
      assertThrows(InterruptedIOException.class, () -> stream.read(new byte[SIZE_BYTES], 0, SIZE_BYTES));
      assertTrue(Thread.interrupted());
    }
  }

  @Test
  void theFirstByteMayTakeLongerThanTheRest() throws IOException {
    try (PacedInputStream<FSInputStream> stream = new PacedInputStream<>(local(), start -> 0, 50e6)) {
      long begin = System.nanoTime();
      stream.read();
      assertTrue(System.nanoTime() - begin >= 50e6);
      begin = System.nanoTime();
      stream.read();
      assertTrue(System.nanoTime() - begin < 50e6);
    }
  }
}
