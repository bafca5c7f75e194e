// How does a task meet slowness that its own code does not cause? By reading paced:// instead of file://.
package io.grasshopper.testkit;

import java.io.IOException;
import java.net.URI;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.spark.TaskContext;

/**
 * The local file system under the scheme {@code paced}, read at the rate that its {@link Pace} gives each task attempt.
 *
 * <p>Only reads inside a Spark task are paced: a driver that lists files or infers a schema is not a straggler. Byte
 * counts are those of the local file system, so a host's progress metrics stay true. Configure with
 * {@code fs.paced.impl} and the {@code fs.paced.*} keys of {@link World}, or, where {@code fs.paced.world} is
 * {@code listed}, of {@link Listed}.
 */
public final class PacedFileSystem extends RawLocalFileSystem {
  private Pace pace;

  @Override
  public void initialize(URI name, Configuration conf) throws IOException {
    super.initialize(name, conf);
    pace = conf.get("fs.paced.world", "").equals("listed") ? Listed.of(conf) : World.of(conf);
  }

  @Override
  public String getScheme() {
    return "paced";
  }

  @Override
  public URI getUri() {
    return URI.create("paced:///");
  }

  @Override
  public FSDataInputStream open(Path path, int bufferSizeBytes) throws IOException {
    FSDataInputStream local = super.open(path, bufferSizeBytes);
    TaskContext task = TaskContext.get();
    if (task == null) {
      return local;
    }
    int attempt = task.attemptNumber();
    return new FSDataInputStream(new PacedInputStream<>(
        local, splitStartBytes -> pace.nanosPerByte(path.getName(), splitStartBytes, attempt), pace.nanosToFirstByte()));
  }
}
