// Is garbage ever taken for an answer?
package io.grasshopper.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ReplyTest {
  private static final String VALID = "{\"protocol\": 1, \"plane_epoch\": 7, \"acknowledged\": 3, \"cycle\": 4, "
      + "\"next_interval_ms\": 100, \"mode\": \"control\"";

  private static Reply decode(String text) throws IOException {
    return Reply.decode(text.getBytes(StandardCharsets.UTF_8), 0);
  }

  @Test
  void ignoresFieldsItDoesNotKnow() throws IOException {
    assertEquals(3, decode(VALID + ", \"news\": {\"from\": [\"later\"]}}").acknowledged);
  }

  @ParameterizedTest
  @ValueSource(strings = {
    "", "null", "[]", "{}", "<html>502</html>", "{\"protocol\": 1}", VALID, VALID + "} {}", VALID + ", \"claims\": 5}",
    VALID + ", \"orders\": [1]}", VALID + ", \"orders\": [{\"type\": \"run_next\", \"ttl_ms\": 5}]}",
    VALID + ", \"claims\": [{\"job\": \"a\", \"lease_ms\": 1.5}]}", VALID + ", \"claims\": [{\"job\": \"a\", \"lease_ms\": -1}]}",
    VALID + ", \"claims\": [{\"job\": \"a\", \"lease_ms\": 99999999999999999999}]}",
  })
  void refusesGarbage(String garbage) {
    assertThrows(IOException.class, () -> decode(garbage));
  }

  @Test
  void refusesAnotherProtocol() {
    assertThrows(IOException.class, () -> decode(VALID.replace("\"protocol\": 1", "\"protocol\": 2") + "}"));
  }

  /** A stage of 2^32 + 3, cut to 32 bits, would be stage 3. */
  @Test
  void aNumberOf53BitsIsNoOtherNumberOf32() {
    Order order = Orders.of(FakePlane.order("run_next", 41).replace("\"stage\": 3", "\"stage\": 4294967299"));
    assertNull(order.badField());
    assertEquals(4294967299L, order.number("stage"));
    assertEquals(Integer.MAX_VALUE, order.integer("stage"));
  }

  @Test
  void takesAMillionWordsAndNoMore() throws IOException {
    String zeros = String.join("", Collections.nCopies(1_000_000, "0,"));
    IOException error = assertThrows(IOException.class, () -> decode(VALID + ", \"news\": [" + zeros + "0]}"));
    assertTrue(error.getMessage().contains("Token count"), error.getMessage());
    decode(VALID + ", \"news\": [" + zeros.substring(zeros.length() / 2) + "0]}");
  }
}
