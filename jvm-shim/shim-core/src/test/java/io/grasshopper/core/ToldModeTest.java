// Does the host's log say that we are attached, and in which mode, when it is so and not before?
package io.grasshopper.core;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import org.junit.jupiter.api.Test;

class ToldModeTest {
  private final ToldMode told = new ToldMode();

  private static Reply reply(String mode, String more) throws IOException {
    String body = FakePlane.acknowledging(Collections.singletonMap("sequence", 1), more).replace("\"control\"", '"' + mode + '"');
    return Reply.decode(body.getBytes(StandardCharsets.UTF_8), 0);
  }

  @Test
  void tellsTheFirstModeAndEachChange() throws IOException {
    assertTrue(told.isNews(reply("shadow", "")));
    assertFalse(told.isNews(reply("shadow", "")));
    assertTrue(told.isNews(reply("control", "")));
    assertFalse(told.isNews(reply("control", "")));
  }

  /** Its mode is no more than a precaution until the full report has come. */
  @Test
  void tellsNothingOfAnAnswerThatAsksForEverythingAgain() throws IOException {
    assertFalse(told.isNews(reply("shadow", ", \"want_full\": true")));
    assertTrue(told.isNews(reply("control", "")));
    assertFalse(told.isNews(reply("shadow", ", \"want_full\": true")));
    assertFalse(told.isNews(reply("control", "")));
  }
}
