// How does a test of a host system's shim come by an order?
package io.grasshopper.core;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** Orders as if they had just come. */
public final class Orders {
  private Orders() {}

  /** An order about a task of the first attempt of a stage, with all that such orders need. */
  public static Order ofTask(String type) {
    return of(FakePlane.order(type, 41));
  }

  /** A {@code run_next} for these indices, separated by commas. */
  public static Order runNext(String indices) {
    return of(FakePlane.order("run_next", 41).replace("\"indices\": [4]", "\"indices\": [" + indices + "]"));
  }

  static Order of(String json) {
    try {
      return new Order((Map<?, ?>) Json.read(json.getBytes(StandardCharsets.UTF_8)), System.nanoTime());
    } catch (IOException error) {
      throw new IllegalArgumentException(error);
    }
  }
}
