// How many bytes has a task before it? From its partition, wherever Spark has put the file split in there.
package io.grasshopper.spark;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.Partition;
import org.apache.spark.scheduler.ResultTask;
import org.apache.spark.scheduler.ShuffleMapTask;
import org.apache.spark.scheduler.Task;
import scala.Option;
import scala.collection.Iterable;

/**
 * Walks from a task's partition, through unions and coalesced parents, to file splits and shuffle blocks.
 *
 * <p>-1 where nothing of the kind is found. Of columnar files a task reads parts only: their lengths tell tasks from one
 * another, and nothing about progress.
 */
final class InputBytes {
  private static final long UNKNOWN = -1;
  private static final int MAX_DEPTH = 5;
  private static final Field RESULT_PARTITION = Scala.field(ResultTask.class, "partition");
  private static final Field MAP_PARTITION = Scala.field(ShuffleMapTask.class, "partition");

  private final Map<Class<?>, List<Field>> nestedFields = new ConcurrentHashMap<>();

  /** Bytes that it will read. */
  long of(Task<?> task) {
    return of(task, false);
  }

  /** Length of its input, columnar files among it. */
  long lengthOf(Task<?> task) {
    return of(task, true);
  }

  private long of(Task<?> task, boolean countsColumnar) {
    try {
      return bytes(Scala.get(task instanceof ShuffleMapTask ? MAP_PARTITION : RESULT_PARTITION, task), countsColumnar, 0);
    } catch (RuntimeException | NoSuchMethodError error) {
      return UNKNOWN;
    }
  }

  /** The same of a partition, or of what stands in one. */
  long bytes(Object part, boolean countsColumnar, int depth) {
    if (part == null || depth > MAX_DEPTH) {
      return UNKNOWN;
    }
    if (part instanceof Option) {
      return bytes(Scala.orNull((Option<?>) part), countsColumnar, depth + 1);
    }
    if (part instanceof Iterable) {
      return sum(Scala.list(part), countsColumnar, depth + 1);
    }
    switch (part.getClass().getSimpleName()) {
      case "HadoopPartition":
        return length(Scala.call(Scala.call(part, "inputSplit"), "value"), countsColumnar);
      case "NewHadoopPartition":
        return length(Scala.call(Scala.call(part, "serializableHadoopSplit"), "value"), countsColumnar);
      case "FilePartition":
        return files((Object[]) Scala.call(part, "files"), countsColumnar);
      case "ShuffledRowRDDPartition":
        return shuffled(Scala.call(part, "spec"));
      default:
        return nested(part, countsColumnar, depth);
    }
  }

  private long nested(Object part, boolean countsColumnar, int depth) {
    List<Object> children = new ArrayList<>();
    for (Field field : nestedFields.computeIfAbsent(part.getClass(), InputBytes::partitionFields)) {
      Object child = Scala.get(field, part);
      if (child instanceof Iterable) {
        Scala.list(child).stream().filter(InputBytes::isPartition).forEach(children::add);
      } else {
        children.add(child);
      }
    }
    return sum(children, countsColumnar, depth + 1);
  }

  private long sum(List<Object> parts, boolean countsColumnar, int depth) {
    long total = UNKNOWN;
    for (Object part : parts) {
      long bytes = bytes(part, countsColumnar, depth);
      if (bytes != UNKNOWN) {
        total = Math.max(0, total) + bytes;
      }
    }
    return total;
  }

  /** Fields that can hold further partitions; collections of user data are looked into only for partitions. */
  private static List<Field> partitionFields(Class<?> type) {
    List<Field> found = new ArrayList<>();
    for (Class<?> each = type; each != null && each != Object.class; each = each.getSuperclass()) {
      for (Field field : each.getDeclaredFields()) {
        boolean isCandidate = Partition.class.isAssignableFrom(field.getType())
            || Option.class == field.getType()
            || scala.collection.Seq.class.isAssignableFrom(field.getType())
                && !type.getSimpleName().startsWith("ParallelCollection");
        if (isCandidate && !Modifier.isStatic(field.getModifiers())) {
          field.setAccessible(true);
          found.add(field);
        }
      }
    }
    return found;
  }

  private static boolean isPartition(Object item) {
    return item instanceof Partition || item != null && item.getClass().getSimpleName().endsWith("Partition");
  }

  private static long length(Object split, boolean countsColumnar) {
    return !countsColumnar && isColumnar(split.toString()) ? UNKNOWN : (Long) Scala.call(split, "getLength");
  }

  private static long files(Object[] files, boolean countsColumnar) {
    long total = 0;
    for (Object file : files) {
      if (!countsColumnar && isColumnar(Scala.call(file, "filePath").toString())) {
        return UNKNOWN;
      }
      total += (Long) Scala.call(file, "length");
    }
    return total;
  }

  private static long shuffled(Object spec) {
    Object size = Scala.callOr(spec, "dataSize", null);
    Object bytes = size instanceof Option ? Scala.orNull((Option<?>) size) : size;
    return bytes instanceof Long ? (Long) bytes : UNKNOWN;
  }

  private static boolean isColumnar(String path) {
    return path.contains(".parquet") || path.contains(".orc");
  }
}
