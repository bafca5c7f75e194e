// Who decides which attempt's output of a result stage counts?
package io.grasshopper.spark;

import java.lang.invoke.SerializedLambda;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.spark.api.python.PythonRDD;
import org.apache.spark.internal.io.FileCommitProtocol;
import org.apache.spark.internal.io.HadoopMapReduceCommitProtocol;
import org.apache.spark.rdd.MapPartitionsRDD;

/**
 * Read off the objects that the function of the result tasks, or of their last narrow step, has captured.
 *
 * <p>Those are the ones that Spark will use, whatever configuration they came from; the driver has set up their job before it
 * submits the stage.
 */
final class OutputSink {
  static final OutputSink NONE = new OutputSink("", Collections.emptyList(), false);

  private static final String CONTEXT = "org.apache.spark.SparkContext";
  private static final String RDD = "org.apache.spark.rdd.RDD";
  private static final String FOREACH = RDD + ".foreach";
  private static final String UNKNOWN = "?";
  private static final String QUERY_PLAN = "org.apache.spark.sql.execution.SparkPlan";
  private static final String DATA_SOURCE_V2 = "org.apache.spark.sql.execution.datasources.v2.V2TableWriteExec";
  /** In the pickled function of PySpark's own {@code foreach} and {@code foreachPartition}: where Python found it. */
  private static final String PYTHON_FOREACH = "RDD.foreach";
  /** In every pickled function; one that is too large is broadcast, and a reference stands in its place. */
  private static final String PYTHON_SERIALIZERS = "pyspark.serializers";
  private static final Field PYTHON_FUNCTION = Scala.field(PythonRDD.class, "func");
  private static final int MAX_DEPTH = 4;

  /**
   * The class whose function the result tasks run; what {@code SparkContext.runJob} wraps around it is taken off. Where an RDD
   * only collects the rows that a query plan has packed for the driver, the plan; where it gives rows to a user's function, what
   * that method is called.
   */
  final String writer;
  /** Of a file write: Spark's commit protocol, then the Hadoop committer that it drives. */
  final List<String> committers;
  final boolean isCoordinated;

  private OutputSink(String writer, List<String> committers, boolean isCoordinated) {
    this.writer = writer;
    this.committers = committers;
    this.isCoordinated = isCoordinated;
  }

  /**
   * @param rdd of the stage: SQL writes files in its last step, and its function only passes on what was committed
   * @param coordinatesFiles whether the driver arbitrates the commits of files; a data source says so itself
   */
  static OutputSink of(Object function, Object rdd, boolean coordinatesFiles) {
    Object inner = unwrap(function, CONTEXT);
    String writer = owner(inner);
    if (writer.equals(RDD) && isPackedByPlan(rdd)) {
      return new OutputSink(QUERY_PLAN, Collections.emptyList(), coordinatesFiles);
    }
    if (writer.equals(RDD) && method(inner).contains("foreach")) {
      return new OutputSink(FOREACH, Collections.emptyList(), coordinatesFiles);
    }
    if (writer.equals(RDD) && rdd instanceof PythonRDD) {
      return new OutputSink(ofPython(pickledFunction(rdd)), Collections.emptyList(), coordinatesFiles);
    }
    if (writer.equals(DATA_SOURCE_V2)) {
      return new OutputSink(writer, Collections.emptyList(), Boolean.TRUE.equals(captured(inner, Boolean.class, 0)));
    }
    return new OutputSink(writer, committers(inner, rdd), coordinatesFiles);
  }

  private static List<String> committers(Object function, Object rdd) {
    List<String> names = new ArrayList<>();
    try {
      Object ofFunction = captured(function, FileCommitProtocol.class, 0);
      Object protocol = ofFunction == null ? captured(rdd, FileCommitProtocol.class, 0) : ofFunction;
      if (protocol != null) {
        names.add(protocol.getClass().getName());
      }
      if (protocol instanceof HadoopMapReduceCommitProtocol) {
        names.add(Scala.get(Scala.field(HadoopMapReduceCommitProtocol.class, "committer"), protocol).getClass().getName());
      }
    } catch (RuntimeException error) {
      names.add(UNKNOWN);
    }
    return names;
  }

  private static boolean isPackedByPlan(Object rdd) {
    Object step = rdd instanceof MapPartitionsRDD ? captured(rdd, scala.Function3.class, MAX_DEPTH) : null;
    return step != null && owner(unwrap(step, RDD)).equals(QUERY_PLAN);
  }

  /** A {@code foreach} is to Spark a {@code collect} of nothing, and its call site may be another call's. */
  private static String ofPython(String function) {
    if (!function.contains(PYTHON_SERIALIZERS)) {
      return UNKNOWN;
    }
    return function.contains(PYTHON_FOREACH) ? FOREACH : RDD;
  }

  private static String pickledFunction(Object rdd) {
    StringBuilder command = new StringBuilder();
    for (Object each : Scala.list(Scala.call(Scala.get(PYTHON_FUNCTION, rdd), "command"))) {
      command.append((char) (byte) (Byte) each);
    }
    return command.toString();
  }

  private static Object unwrap(Object function, String wrapper) {
    Object unwrapped = function;
    for (int i = 0; i < MAX_DEPTH && owner(unwrapped).equals(wrapper); i++) {
      Object inner = captured(unwrapped, scala.Function1.class, MAX_DEPTH);
      if (inner == null) {
        break;
      }
      unwrapped = inner;
    }
    return unwrapped;
  }

  /** The first object of a type in the fields of a closure, or of the functions in there; null for none. */
  private static Object captured(Object closure, Class<?> wanted, int depth) {
    for (Field field : closure.getClass().getDeclaredFields()) {
      if (Modifier.isStatic(field.getModifiers())) {
        continue;
      }
      field.setAccessible(true);
      Object value = Scala.get(field, closure);
      boolean isFunction = value != null && field.getType().getName().startsWith("scala.Function");
      Object found = wanted.isInstance(value) ? value
          : isFunction && depth < MAX_DEPTH ? captured(value, wanted, depth + 1) : null;
      if (found != null) {
        return found;
      }
    }
    return null;
  }

  /** The method in which a lambda was written, as the compiler named it; empty where that is not to be had. */
  private static String method(Object lambda) {
    try {
      Method replace = lambda.getClass().getDeclaredMethod("writeReplace");
      replace.setAccessible(true);
      return ((SerializedLambda) replace.invoke(lambda)).getImplMethodName();
    } catch (ReflectiveOperationException error) {
      return "";
    }
  }

  /** The class in which a closure was written: what stands before the first dollar sign of its own class. */
  private static String owner(Object closure) {
    String name = closure.getClass().getName();
    int end = name.indexOf('$');
    return end < 0 ? name : name.substring(0, end);
  }
}
