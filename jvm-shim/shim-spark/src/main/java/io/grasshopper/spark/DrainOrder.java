// Of the executors that may go, which go first?
package io.grasshopper.spark;

import java.util.Comparator;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** Those that already drain, then idle ones, then the newest. */
final class DrainOrder {
  private DrainOrder() {}

  /** @param idle whether each executor that may go is idle, by id; ids are numbers that grow */
  static Set<String> first(Map<String, Boolean> idle, Set<String> draining, int count) {
    Comparator<String> byAge = Comparator.comparing(String::length).thenComparing(Comparator.naturalOrder());
    Comparator<String> order = Comparator.comparing((String id) -> !draining.contains(id))
        .thenComparing(id -> !idle.get(id))
        .thenComparing(byAge.reversed());
    return idle.keySet().stream().sorted(order).limit(Math.max(0, count)).collect(Collectors.toSet());
  }
}
