// What work does a stage do? The names of its operators, the same in every run of the same program.
package io.grasshopper.spark;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.NarrowDependency;
import org.apache.spark.rdd.MapPartitionsRDD;
import org.apache.spark.rdd.RDD;
import org.apache.spark.rdd.RDDOperationScope;

/** Each name once, nearest the input first. Where Spark has compiled several into one, what its code calls them. */
final class Operators {
  private static final int MAX_RDDS = 200;
  private static final int MAX_DEPTH = 4;
  private static final String COMPILED = "WholeStageCodegen";
  private static final Pattern STAGE_NUMBER = Pattern.compile(" \\(\\d+\\)$");
  private static final Pattern VARIABLE = Pattern.compile("\\b([a-z]+)_[A-Za-z]+_\\d+\\b");

  private Operators() {}

  /** Empty where this Spark's objects are not as expected. */
  static String of(RDD<?> last) {
    try {
      Map<Integer, RDD<?>> steps = new TreeMap<>();
      collect(last, steps);
      Set<String> names = new LinkedHashSet<>();
      for (RDD<?> step : steps.values()) {
        names.add(name(step));
      }
      return String.join(", ", names);
    } catch (RuntimeException | NoSuchMethodError error) {
      return "";
    }
  }

  private static void collect(RDD<?> rdd, Map<Integer, RDD<?>> steps) {
    if (steps.size() == MAX_RDDS || steps.put(rdd.id(), rdd) != null) {
      return;
    }
    for (Object dependency : Scala.list(Scala.call(rdd, "dependencies"))) {
      if (dependency instanceof NarrowDependency) {
        collect(((NarrowDependency<?>) dependency).rdd(), steps);
      }
    }
  }

  private static String name(RDD<?> step) {
    RDDOperationScope scope = Scala.orNull(step.scope());
    String name = scope == null ? step.getClass().getSimpleName() : STAGE_NUMBER.matcher(scope.name()).replaceFirst("").trim();
    Object source = name.equals(COMPILED) && step instanceof MapPartitionsRDD ? source(step, 0) : null;
    return source == null ? name : String.join("+", variables((String) Scala.call(source, "body")));
  }

  /** Spark prefixes the variables of generated code with the operator's name. */
  private static Set<String> variables(String code) {
    Set<String> prefixes = new TreeSet<>();
    for (Matcher found = VARIABLE.matcher(code); found.find();) {
      prefixes.add(found.group(1));
    }
    return prefixes;
  }

  /** The generated code among what a step's function has captured; null where it is broadcast, or there is none. */
  private static Object source(Object closure, int depth) {
    for (Field field : closure.getClass().getDeclaredFields()) {
      if (Modifier.isStatic(field.getModifiers())) {
        continue;
      }
      field.setAccessible(true);
      Object value = Scala.get(field, closure);
      String type = value == null ? "" : value.getClass().getName();
      if (type.endsWith(".CodeAndComment")) {
        return value;
      }
      boolean mayHold = type.contains("$Lambda") || type.endsWith("CodegenEvaluatorFactory") || type.equals("scala.util.Right");
      Object found = mayHold && depth < MAX_DEPTH ? source(value, depth + 1) : null;
      if (found != null) {
        return found;
      }
    }
    return null;
  }
}
