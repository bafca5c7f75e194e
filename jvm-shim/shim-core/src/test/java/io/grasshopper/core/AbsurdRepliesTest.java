// Is the host its own again after a minute of silence, whatever the last reply has said?
package io.grasshopper.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class AbsurdRepliesTest {
  private static final int REPLIES = 10_000;
  private static final int HUGE_EVERY = 1_000;
  private static final String DAY = "86400000";
  private static final String GRANT = "{\"type\": \"container_grant\", \"order\": %d, \"ttl_ms\": " + DAY + ", \"job\": \"sql-1\", "
      + "\"target\": 0, \"cap\": 0}";
  private static final String CLAIM = ", \"claims\": [{\"job\": \"other\", \"lease_ms\": %s}]";
  /** What is put in a value's place. */
  private static final List<String> ABSURD = Arrays.asList(
      "-1", "0", "1", "2147483647", "2147483648", "4294967299", "1000000000", "1000000001", "1000000000000", "1000000000001",
      "9007199254740992", "9007199254740993", "4611686018427387904", "9223372036854775807", "9223372036854775808", "-9223372036854775809",
      "1e999", "1.5", "-0.0", "NaN", "null", "true", "false", "\"\"", "\"control\"", "\"shadow\"", "\"launch_copy\"", "\"\\ud800\"",
      "\"" + repeated("x", 257) + "\"", "[]", "{}", "[[]]", "[null]", "[-1]", "[\"\"]", "[{}]", repeated("[", 2000));
  private static final List<String> HUGE = Arrays.asList(
      "\"" + repeated("x", 10_000_000) + "\"", "[" + repeated("\"h\",", 1_000_000) + "\"h\"]", "[" + repeated("\"h\",", 100_000) + "\"h\"]",
      "[" + repeated("{},", 1_000_000) + "{}]");

  private final ScriptedPlane plane = new ScriptedPlane();

  private static String repeated(String text, int times) {
    return String.join("", Collections.nCopies(times, text));
  }

  private void hear(String more) {
    plane.hear(request -> FakePlane.acknowledging(request, more));
  }

  private void hearGrant(long order, String more) {
    hear(", \"orders\": [" + String.format(GRANT, order) + "]" + more);
    assertFalse(plane.held.isEmpty());
  }

  @Test
  void allThatWasOrderedEndsOneLeaseAfterTheLastValidReply() {
    hearGrant(1, String.format(CLAIM, "3000"));
    plane.pass(500);
    hear("");
    plane.pass(2900);
    assertFalse(plane.held.isEmpty(), "a reply that claims nothing leaves the lease as long as it was");
    plane.pass(100);
    assertTrue(plane.held.isEmpty());
  }

  @Test
  void noLeaseIsLongerThanAMinute() {
    hearGrant(1, String.format(CLAIM, DAY));
    assertTrue(plane.loop.leases().holds("other"));
    plane.pass(60_000);
    assertTrue(plane.held.isEmpty());
    assertFalse(plane.loop.leases().holds("other"));
  }

  /** It says nothing wrong; but what it ordered once was for a minute at most. */
  @Test
  void aControlPlaneThatOnlyAnswersKeepsNothingAlive() {
    hearGrant(1, "");
    for (int i = 0; i < 60; i++) {
      hear("");
      plane.pass(1000);
    }
    assertTrue(plane.held.isEmpty());
  }

  @Test
  void anOrderWithABadFieldIsRefusedByItsNameAndTheOthersCount() {
    String orders = ", \"orders\": [" + String.format(GRANT, 1).replace("\"cap\": 0", "\"cap\": 4611686018427387904") + ", "
        + String.format(GRANT, 2) + ", " + String.format(GRANT, 3).replace("\"target\": 0", "\"target\": 1.5") + "]";
    hear(orders);
    assertEquals("[2]", plane.held.stream().map(Order::id).collect(Collectors.toList()).toString());
    hear("");
    assertEquals("[1 refused bad_field:cap, 2 applied , 3 refused bad_field:target]", plane.outcomes.toString());
  }

  @Test
  void aReplyWithABadEnvelopeCountsForNothing() {
    hear(", \"want_full\": 1, \"orders\": [" + String.format(GRANT, 1) + "]");
    assertTrue(plane.held.isEmpty());
    hear(", \"orders\": [" + String.format(GRANT, 2) + ", " + String.format(GRANT, -1) + "]");
    assertTrue(plane.held.isEmpty(), "nobody could be told of an order without an id");
    hear(", \"orders\": [" + String.format(GRANT, 3) + "]" + String.format(CLAIM, "-1"));
    assertTrue(plane.held.isEmpty(), "nobody could be told of a claim");
  }

  /** Seeded: every field of a reply with all kinds of orders, at and beyond its limits, of wrong types, missing, contradictory. */
  @Test
  void anyReplyIsForgottenAfterAMinuteOfSilence() throws IOException {
    Random random = new Random(20261123);
    Object golden = raw(Json.read(WireTest.golden("reply_orders.json")));
    int everHeld = 0;
    for (int i = 1; i <= REPLIES; i++) {
      Map<String, Object> reply = reply(golden, i);
      int changes = random.nextInt(4);
      String absurd = i % HUGE_EVERY == 0 ? pick(HUGE, random) : null;
      plane.hear(request -> {
        reply.put("acknowledged", request.get("sequence"));
        for (int change = 0; change <= changes; change++) {
          spoil(reply, absurd != null ? absurd : pick(ABSURD, random), random);
        }
        return text(reply);
      });
      everHeld += plane.held.isEmpty() ? 0 : 1;
      plane.pass(60_000);
      assertTrue(plane.held.isEmpty(), "reply " + i);
      assertEquals(Long.MAX_VALUE, plane.loop.leases().nanosToNextEnd(), "reply " + i);
      assertEquals(0, plane.guard.errors(), "reply " + i);
    }
    assertTrue(everHeld > REPLIES / 4, "only " + everHeld + " replies had any effect");
    hearGrant(REPLIES * 100L, "");
  }

  /** The golden reply as a later answer of the same control plane. */
  @SuppressWarnings("unchecked")
  private static Map<String, Object> reply(Object golden, int number) {
    Map<String, Object> reply = (Map<String, Object>) raw(golden);
    reply.put("cycle", number);
    long order = number * 100L;
    for (Object each : (List<Object>) reply.get("orders")) {
      ((Map<String, Object>) each).put("order", order++);
    }
    return reply;
  }

  /** A copy that may be changed. */
  private static Object raw(Object value) {
    if (value instanceof Map) {
      Map<String, Object> copy = new LinkedHashMap<>();
      ((Map<?, ?>) value).forEach((name, field) -> copy.put((String) name, raw(field)));
      return copy;
    }
    return value instanceof List ? ((List<?>) value).stream().map(AbsurdRepliesTest::raw).collect(Collectors.toList()) : value;
  }

  /** JSON that is written as it stands. */
  private static final class Literal {
    final String text;

    Literal(String text) {
      this.text = text;
    }
  }

  private static String text(Object value) {
    if (value instanceof Map) {
      return ((Map<?, ?>) value).entrySet().stream().map(each -> "\"" + each.getKey() + "\": " + text(each.getValue()))
          .collect(Collectors.joining(", ", "{", "}"));
    }
    if (value instanceof List) {
      return ((List<?>) value).stream().map(AbsurdRepliesTest::text).collect(Collectors.joining(", ", "[", "]"));
    }
    return value instanceof Literal ? ((Literal) value).text : value instanceof String ? "\"" + value + "\"" : String.valueOf(value);
  }

  /** One field of an order, of a claim or of the envelope is exchanged, or an item of its list; or it is missing; or comes twice. */
  @SuppressWarnings("unchecked")
  private static void spoil(Map<String, Object> reply, String absurd, Random random) {
    Map<String, Object> fields = random.nextInt(5) > 0 ? oneOf(reply, random.nextInt(6) > 0 ? "orders" : "claims", random) : reply;
    String name = pick(new ArrayList<>(fields.keySet()), random);
    int how = random.nextInt(8);
    if (how == 0 && fields.size() > 1) {
      fields.remove(name);
    } else if (how < 4 && fields.get(name) instanceof List && !((List<?>) fields.get(name)).isEmpty()) {
      List<Object> items = (List<Object>) fields.get(name);
      items.add(how == 1 ? pick(items, random) : new Literal(absurd));
    } else {
      fields.put(name, new Literal(absurd));
    }
  }

  /** An order or a claim; the reply where an earlier change has left none. */
  @SuppressWarnings("unchecked")
  private static Map<String, Object> oneOf(Map<String, Object> reply, String name, Random random) {
    Object items = reply.get(name);
    Object item = items instanceof List ? pick((List<Object>) items, random) : null;
    return item instanceof Map ? (Map<String, Object>) item : reply;
  }

  private static <T> T pick(List<T> values, Random random) {
    return values.get(random.nextInt(values.size()));
  }
}
