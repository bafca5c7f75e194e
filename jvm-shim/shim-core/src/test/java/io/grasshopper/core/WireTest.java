// Do Java and Python mean the same bytes? The golden files are read here and by tests/wire/test_golden.py.
package io.grasshopper.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class WireTest {
  static byte[] golden(String name) throws IOException {
    Path folder = Paths.get("").toAbsolutePath();
    while (!Files.isDirectory(folder.resolve("tests/golden/wire"))) {
      folder = folder.getParent();
    }
    return Files.readAllBytes(folder.resolve("tests/golden/wire").resolve(name));
  }

  @Test
  void writesTheGoldenRequest() throws IOException {
    Map<?, ?> golden = (Map<?, ?>) Json.read(golden("request_spark.json"));
    List<Object> facts = new ArrayList<>();
    for (Object each : (List<?>) golden.get("facts")) {
      Map<?, ?> fields = (Map<?, ?>) each;
      long now = 10_000_000_000L;
      Long ageMs = (Long) fields.get("age_ms");
      Fact fact = ageMs == null ? Fact.timeless((String) fields.get("type"))
          : Fact.at((String) fields.get("type"), now - ageMs * 1_000_000);
      fields.forEach((name, value) -> {
        if (!name.equals("type") && !name.equals("age_ms")) {
          fact.with((String) name, value);
        }
      });
      facts.add(fact.toWire(now));
    }
    Map<String, Object> request = new LinkedHashMap<>();
    golden.forEach((name, value) -> request.put((String) name, value));
    request.put("facts", facts);
    assertEquals(golden, Json.read(Json.write(request)));
  }

  /** One number that the wire does not take would have the whole report refused, and the next full one, too. */
  @Test
  void saysThatAnAmountIsNotKnownWhereItCannotBe() {
    for (long told : new long[] {-1, -2, Long.MIN_VALUE, Long.MAX_VALUE}) {
      assertEquals(-1L, Fact.timeless("attempt_ended").withAmount("bytes_read", told).get("bytes_read"));
    }
    assertEquals(7L, Fact.amount(7));
  }

  /** Beyond any of them the whole report is refused, and the next full one, too. */
  @Test
  void keepsToTheBoundsOfTheWire() {
    Map<?, ?> definitions = (Map<?, ?>) ShapeTest.schema().get("$defs");
    assertEquals(field(definitions, "SyncRequest", "dropped_events").get("maximum"), (long) Fact.count(Long.MAX_VALUE));
    assertEquals(7, Fact.count(7));
    assertEquals(field(definitions, "StageSubmitted", "n_tasks").get("maximum"), (long) Fact.MAX_TASKS);
    assertEquals(field(definitions, "AttemptEnded", "duration_ms").get("maximum"), Fact.MAX_AGE_MS);
    for (String list : new String[] {"stages", "stage_tasks", "edges"}) {
      assertEquals(field(definitions, "JobSubmitted", list).get("maxItems"), (long) Fact.MAX_STAGES);
    }
  }

  private static Map<?, ?> field(Map<?, ?> definitions, String type, String name) {
    return (Map<?, ?>) ((Map<?, ?>) ((Map<?, ?>) definitions.get(type)).get("properties")).get(name);
  }

  @Test
  void readsTheGoldenReplyWithEveryKindOfOrder() throws IOException {
    Reply reply = Reply.decode(golden("reply_orders.json"), 0);
    assertTrue(reply.isControl());
    assertEquals("[launch_copy, launch_copy, run_next, kill_attempt, stop_job, container_grant, container_grant, avoid_hosts,"
            + " cap_executors, cap_executors]",
        reply.orders.stream().map(Order::type).collect(Collectors.toList()).toString());
    Order named = reply.orders.get(0);
    assertEquals("sql-4 12 0 3 node-2 [node-1] true 0", named.text("job") + " " + named.number("stage") + " "
        + named.number("stage_attempt") + " " + named.number("index") + " " + named.text("host") + " " + named.list("avoid_hosts")
        + " " + named.flag("before_waiting") + " " + named.number("byte_offset", 0));
    assertEquals(5_000_000_000L, named.expiresNanos());
    assertEquals(1048576, reply.orders.get(1).number("byte_offset", 0));
    assertEquals(6, reply.orders.get(5).number("cap", -1));
    assertEquals(4, reply.orders.get(5).number("originals", -1));
    assertEquals(-1, reply.orders.get(6).number("cap", -1));
    assertEquals("[node-3] [2]", reply.orders.get(7).list("hosts") + " " + reply.orders.get(7).list("waves"));
    assertEquals(2, reply.orders.get(8).number("executors", -1));
    assertEquals(-1, reply.orders.get(9).number("executors", -1));
    assertEquals("{sql-4=3000000000}", reply.claims.toString());
  }

  @Test
  void readsTheGoldenReplyOfAControlPlaneThatAsksForPatience() throws IOException {
    Reply reply = Reply.decode(golden("reply_wait.json"), 0);
    assertEquals(4200, reply.nextIntervalMs);
    assertEquals("shadow", reply.mode);
    assertTrue(reply.orders.isEmpty() && reply.claims.isEmpty());
  }
}
