// Has this order been here before?
package io.grasshopper.core;

import java.util.LinkedHashSet;
import java.util.Set;

/** The ids of the latest orders, so that repeating one is harmless. */
final class OrderMemory {
  private static final int SIZE = 10_000;

  private final Set<Long> ids = new LinkedHashSet<>();

  boolean isNew(long order) {
    if (ids.size() >= SIZE) {
      ids.remove(ids.iterator().next());
    }
    return ids.add(order);
  }

  /** Another control plane counts anew. */
  void forget() {
    ids.clear();
  }
}
