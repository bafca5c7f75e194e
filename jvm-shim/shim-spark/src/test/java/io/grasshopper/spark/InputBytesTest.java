// What does a file split tell of a task's input? By stand-ins with the names and methods of Spark's own.
package io.grasshopper.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class InputBytesTest {
  private static final InputBytes BYTES = new InputBytes();

  public static final class FilePartition {
    private final PartitionedFile[] files;

    FilePartition(PartitionedFile... files) {
      this.files = files;
    }

    public PartitionedFile[] files() {
      return files;
    }
  }

  public static final class PartitionedFile {
    private final String path;
    private final long length;

    PartitionedFile(String path, long length) {
      this.path = path;
      this.length = length;
    }

    public String filePath() {
      return path;
    }

    public long length() {
      return length;
    }
  }

  /** A reader of columns skips some, so the bytes it reads have no total; its splits can still be held against one another. */
  @Test
  void columnarFilesHaveALengthAndNoBytesToRead() {
    FilePartition part = new FilePartition(new PartitionedFile("a.parquet", 400), new PartitionedFile("b.orc", 100));
    assertEquals(-1, BYTES.bytes(part, false, 0));
    assertEquals(500, BYTES.bytes(part, true, 0));
  }

  @Test
  void textHasBoth() {
    FilePartition part = new FilePartition(new PartitionedFile("a.csv", 400));
    assertEquals(400, BYTES.bytes(part, false, 0));
    assertEquals(400, BYTES.bytes(part, true, 0));
  }
}
