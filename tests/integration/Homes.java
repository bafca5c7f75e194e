// How does a test give every task a host that it prefers? A job whose tasks nap, and tell which of them were elsewhere.

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.rdd.RDD;
import scala.Tuple2;
import scala.collection.JavaConverters;
import scala.collection.immutable.Seq;
import scala.reflect.ClassTag$;

/** Called from the driver program. */
public final class Homes {
  private Homes() {}

  /** Runs one task for each home, a host; answers how many ran on another. */
  public static long strays(SparkContext context, List<String> homes, long napMs) {
    List<Tuple2<String, Seq<String>>> placed = new ArrayList<>();
    for (String home : homes) {
      placed.add(new Tuple2<>(home, JavaConverters.asScalaBuffer(Collections.singletonList(home)).toList()));
    }
    RDD<String> tasks = context.makeRDD(JavaConverters.asScalaBuffer(placed).toList(), ClassTag$.MODULE$.apply(String.class));
    return tasks.toJavaRDD().filter(home -> {
      Thread.sleep(napMs);
      return !home.equals(SparkEnv.get().blockManager().blockManagerId().host());
    }).count();
  }
}
