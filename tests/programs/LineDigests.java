// What does a program on the JVM's RDDs look like? Lines of text, each hashed some times, and the largest hash.
package programs;

import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.api.java.JavaSparkContext;

/** Called by the driver through py4j. */
public final class LineDigests {
  private static final int ROUNDS = 20;

  private LineDigests() {}

  /** In hexadecimal. */
  public static String largest(JavaSparkContext spark, String path, int tasks) {
    return spark.textFile(path, tasks).mapPartitions(LineDigests::digests).reduce(LineDigests::larger);
  }

  private static Iterator<String> digests(Iterator<String> lines) throws Exception {
    Stall stall = new Stall();
    MessageDigest sha512 = MessageDigest.getInstance("SHA-512");
    List<String> largest = new ArrayList<>();
    while (lines.hasNext()) {
      stall.call(0L);
      byte[] data = lines.next().getBytes(StandardCharsets.UTF_8);
      for (int round = 0; round < ROUNDS; round++) {
        data = sha512.digest(data);
      }
      String digest = String.format("%0128x", new BigInteger(1, data));
      if (largest.isEmpty()) {
        largest.add(digest);
      } else {
        largest.set(0, larger(largest.get(0), digest));
      }
    }
    return largest.iterator();
  }

  private static String larger(String one, String other) {
    return one.compareTo(other) > 0 ? one : other;
  }
}
