// How does a task of the JVM become slow from inside? Its plan calls this function for each row.
package programs;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.ArrayDeque;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.api.java.UDF1;

/**
 * The identity, but for one row of one task: there it sleeps, or fills the heap with what it soon drops.
 *
 * <p>The local property {@code programs.stall} holds kind, task, row, seconds and folder. The first attempt to get to
 * that row leaves a note in the folder, and any later one that finds the note goes on at once.
 */
public final class Stall implements UDF1<Long, Long> {
  static final String PROPERTY = "programs.stall";
  private static final int KEPT = 1600;
  private static final int CHUNK_BYTES = 1 << 16;

  private boolean begun;
  private long rowsLeft;

  @Override
  public Long call(Long value) throws IOException, InterruptedException {
    if (!begun) {
      begun = true;
      String[] plan = planOf(TaskContext.get());
      rowsLeft = plan == null ? -1 : Long.parseLong(plan[2]);
    }
    if (rowsLeft-- == 0) {
      stall(TaskContext.get());
    }
    return value;
  }

  private static String[] planOf(TaskContext task) {
    String plan = task.getLocalProperty(PROPERTY);
    String[] words = plan == null ? new String[0] : plan.split(" ", 5);
    return words.length == 5 && Integer.parseInt(words[1]) == task.partitionId() ? words : null;
  }

  private static void stall(TaskContext task) throws IOException, InterruptedException {
    String[] plan = planOf(task);
    Path note = Paths.get(plan[4], "stall-" + plan[1] + ".json");
    String told = String.format(
        "{\"at_ms\": %d, \"stage\": %d, \"stage_attempt\": %d, \"task\": %d}",
        System.currentTimeMillis(), task.stageId(), task.stageAttemptNumber(), task.partitionId());
    try {
      Files.write(note, told.getBytes("UTF-8"), StandardOpenOption.CREATE_NEW);
    } catch (FileAlreadyExistsException alreadySlow) {
      return;
    }
    long millis = (long) (1000 * Double.parseDouble(plan[3]));
    if (plan[0].equals("gc")) {
      fillHeap(System.currentTimeMillis() + millis);
    } else {
      Thread.sleep(millis);
    }
  }

  private static void fillHeap(long endMs) {
    ArrayDeque<byte[]> kept = new ArrayDeque<>();
    while (System.currentTimeMillis() < endMs && !Thread.currentThread().isInterrupted()) {
      kept.add(new byte[CHUNK_BYTES]);
      if (kept.size() > KEPT) {
        kept.remove();
      }
    }
  }
}
