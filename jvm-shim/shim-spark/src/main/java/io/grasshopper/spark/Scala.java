// How does one Java class read Scala collections and members that differ between Scala 2.12 and 2.13?
package io.grasshopper.spark;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import scala.Option;

/** Reflection for the few members whose descriptor is not the same in both, and for Scala's private fields. */
final class Scala {
  private static final Map<String, Method> METHODS = new ConcurrentHashMap<>();

  private Scala() {}

  /** Calls a public method without arguments by its name. */
  static Object call(Object target, String name) {
    Method method = METHODS.computeIfAbsent(target.getClass().getName() + "." + name, key -> {
      try {
        Method found = target.getClass().getMethod(name);
        found.setAccessible(true);
        return found;
      } catch (NoSuchMethodException error) {
        throw new NoSuchMethodError(key);
      }
    });
    try {
      return method.invoke(target);
    } catch (ReflectiveOperationException error) {
      throw new IllegalStateException(error);
    }
  }

  /** Calls a method that only newer versions have. */
  static Object callOr(Object target, String name, Object otherwise) {
    try {
      return call(target, name);
    } catch (NoSuchMethodError error) {
      return otherwise;
    }
  }

  /** A field that Scala declares private in exactly this class. */
  static Field field(Class<?> owner, String name) {
    try {
      Field field = owner.getDeclaredField(name);
      field.setAccessible(true);
      return field;
    } catch (NoSuchFieldException error) {
      throw new NoSuchFieldError(owner.getName() + "." + name);
    }
  }

  static Object get(Field field, Object target) {
    try {
      return field.get(target);
    } catch (IllegalAccessException error) {
      throw new IllegalStateException(error);
    }
  }

  static void set(Field field, Object target, Object value) {
    try {
      field.set(target, value);
    } catch (IllegalAccessException error) {
      throw new IllegalStateException(error);
    }
  }

  /** All items of a Scala collection; a lazy one is forced. */
  static List<Object> list(Object collection) {
    List<Object> items = new ArrayList<>();
    scala.collection.Iterator<?> each = ((scala.collection.Iterable<?>) collection).iterator();
    while (each.hasNext()) {
      items.add(each.next());
    }
    return items;
  }

  /** An immutable copy; the evidence that {@code toMap} asks for has another type in each Scala. */
  @SuppressWarnings("unchecked")
  static <K, V> scala.collection.immutable.Map<K, V> immutable(scala.collection.Map<K, V> map) {
    for (Method method : map.getClass().getMethods()) {
      if (method.getName().equals("toMap") && method.getParameterCount() == 1) {
        try {
          Object evidence = call(scala.Predef$.MODULE$, "$conforms");
          return (scala.collection.immutable.Map<K, V>) method.invoke(map, evidence);
        } catch (ReflectiveOperationException error) {
          throw new IllegalStateException(error);
        }
      }
    }
    throw new NoSuchMethodError(map.getClass().getName() + ".toMap");
  }

  static <T> T orNull(Option<T> option) {
    return option.isDefined() ? option.get() : null;
  }
}
