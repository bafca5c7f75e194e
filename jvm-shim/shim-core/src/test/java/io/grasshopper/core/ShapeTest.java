// Does the shim take exactly what the wire schema allows, field by field?
package io.grasshopper.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Every field of every object is tried at its limits and beyond them, as docs/shim-protocol.schema.json has them. */
class ShapeTest {
  /** Values of which a schema takes some. */
  private static final List<Object> ODD = Arrays.asList(
      null, true, -1L, 0L, 1.5, Double.POSITIVE_INFINITY, Long.MAX_VALUE, "", "control", new ArrayList<>(), new LinkedHashMap<>(),
      Collections.singletonList(null), Collections.singletonList(""), Collections.singletonList(-1L), Collections.singletonList("host"),
      Collections.singletonList(1L), Collections.singletonList(new LinkedHashMap<>()));

  private final Map<?, ?> definitions = (Map<?, ?>) schema().get("$defs");

  static Map<?, ?> schema() {
    Path folder = Paths.get("").toAbsolutePath();
    while (!Files.isDirectory(folder.resolve("docs"))) {
      folder = folder.getParent();
    }
    try {
      return (Map<?, ?>) Json.read(Files.readAllBytes(folder.resolve("docs/shim-protocol.schema.json")));
    } catch (IOException error) {
      throw new IllegalStateException(error);
    }
  }

  private Map<?, ?> definition(Object reference) {
    String path = (String) ((Map<?, ?>) reference).get("$ref");
    return (Map<?, ?>) definitions.get(path.substring(path.lastIndexOf('/') + 1));
  }

  /** What of JSON Schema the file uses for these objects; objects in lists are tried on their own. */
  private boolean allows(Map<?, ?> schema, Object value) {
    if (schema.containsKey("$ref")) {
      return allows(definition(schema), value);
    }
    if (schema.containsKey("enum")) {
      return ((List<?>) schema.get("enum")).contains(value);
    }
    if (schema.containsKey("anyOf")) {
      return ((List<?>) schema.get("anyOf")).stream().anyMatch(any -> allows((Map<?, ?>) any, value));
    }
    switch ((String) schema.get("type")) {
      case "integer":
        return value instanceof Long && (Long) value >= limit(schema, "minimum", 0) && (Long) value <= limit(schema, "maximum", 0);
      case "number":
        return value instanceof Number;
      case "string":
        return value instanceof String && ((String) value).length() >= limit(schema, "minLength", 0)
            && ((String) value).length() <= limit(schema, "maxLength", 0);
      case "array":
        return value instanceof List && ((List<?>) value).stream().allMatch(item -> allows((Map<?, ?>) schema.get("items"), item));
      case "object":
        return value instanceof Map;
      case "boolean":
        return value instanceof Boolean;
      case "null":
        return value == null;
      default:
        throw new AssertionError("the schema has something new: " + schema);
    }
  }

  private static long limit(Map<?, ?> schema, String name, long otherwise) {
    return schema.containsKey(name) ? (Long) schema.get(name) : otherwise;
  }

  /** Odd values, and those around every limit of this schema or of the one for its items. */
  private List<Object> candidates(Map<?, ?> schema) {
    List<Object> candidates = new ArrayList<>(ODD);
    for (Object limit : Arrays.asList(schema.get("maximum"), schema.get("minimum"))) {
      if (limit != null) {
        candidates.addAll(Arrays.asList((Long) limit - 1, limit, (Long) limit + 1));
      }
    }
    for (Object limit : Arrays.asList(schema.get("maxLength"), schema.get("minLength"))) {
      if (limit != null) {
        candidates.add(String.join("", Collections.nCopies(((Long) limit).intValue(), "x")));
        candidates.add(String.join("", Collections.nCopies(((Long) limit).intValue() + 1, "x")));
      }
    }
    if (schema.get("items") instanceof Map) {
      candidates(((Map<?, ?>) schema.get("items"))).forEach(item -> candidates.add(Collections.singletonList(item)));
    }
    if (schema.get("anyOf") instanceof List) {
      ((List<?>) schema.get("anyOf")).forEach(any -> candidates.addAll(candidates((Map<?, ?>) any)));
    }
    return candidates;
  }

  private void hold(Shape shape, Map<?, ?> definition, Map<?, ?> valid) {
    String title = (String) definition.get("title");
    assertNull(shape.badField(valid), title);
    ((Map<?, ?>) definition.get("properties")).forEach((name, schema) -> {
      if (name.equals("type")) {
        return;
      }
      for (Object value : candidates((Map<?, ?>) schema)) {
        Map<Object, Object> fields = new LinkedHashMap<>(valid);
        fields.put(name, value);
        assertEquals(allows((Map<?, ?>) schema, value) ? null : name, shape.badField(fields), title + "." + name + " = " + value);
      }
      Map<Object, Object> without = new LinkedHashMap<>(valid);
      without.remove(name);
      boolean isNeeded = ((List<?>) definition.get("required")).contains(name);
      assertEquals(isNeeded ? name : null, shape.badField(without), title + " without " + name);
    });
  }

  private Map<?, ?> body(String name) {
    return definition(((Map<?, ?>) schema().get("properties")).get(name));
  }

  private static Map<?, ?> read(String json) throws IOException {
    return (Map<?, ?>) Json.read(json.getBytes());
  }

  @Test
  void takesOfEachKindOfOrderWhatTheSchemaAllows() throws IOException {
    List<?> golden = (List<?>) ((Map<?, ?>) Json.read(WireTest.golden("reply_orders.json"))).get("orders");
    Map<Object, Map<?, ?>> valid = golden.stream().map(order -> (Map<?, ?>) order)
        .collect(Collectors.toMap(order -> order.get("type"), order -> order, (one, other) -> one));
    Map<?, ?> orders = (Map<?, ?>) ((Map<?, ?>) body("reply").get("properties")).get("orders");
    List<?> kinds = (List<?>) ((Map<?, ?>) orders.get("items")).get("anyOf");
    assertEquals(valid.size(), kinds.size());
    for (Object each : kinds) {
      Map<?, ?> kind = definition(each);
      Map<?, ?> tag = (Map<?, ?>) ((Map<?, ?>) kind.get("properties")).get("type");
      String type = (String) ((List<?>) tag.get("enum")).get(0);
      hold(Shape.ofOrder(type), kind, valid.get(type));
    }
  }

  @Test
  void takesOfRepliesClaimsAndRingsWhatTheSchemaAllows() throws IOException {
    Map<?, ?> reply = read("{\"protocol\": 1, \"plane_epoch\": 7, \"acknowledged\": 3, \"cycle\": 4, \"next_interval_ms\": 9, "
        + "\"mode\": \"off\"}");
    Map<?, ?> claims = (Map<?, ?>) ((Map<?, ?>) body("reply").get("properties")).get("claims");
    hold(Shape.CLAIM, definition(claims.get("items")), read("{\"job\": \"sql-1\", \"lease_ms\": 3000}"));
    hold(Shape.REPLY, body("reply"), reply);
    hold(Shape.RING, body("doorbell_reply"), read("{\"protocol\": 1, \"orders_waiting\": 0}"));
  }

  @Test
  void takesAnOrderOfALaterKindSoThatItsHostCanRefuseIt() throws IOException {
    assertNull(Shape.ofOrder("dance").badField(read("{\"type\": \"dance\", \"order\": 1, \"ttl_ms\": 5, \"steps\": -1.5}")));
    assertEquals("type", Shape.ofOrder("").badField(read("{\"order\": 1, \"ttl_ms\": 5}")));
  }

  @Test
  void countsCharactersAsTheWireDoes() throws IOException {
    String clefs = String.join("", Collections.nCopies(256, "\ud834\udd1e"));
    assertTrue(clefs.length() > 256);
    assertNull(Shape.CLAIM.badField(read("{\"job\": \"" + clefs + "\", \"lease_ms\": 3000}")));
  }
}
