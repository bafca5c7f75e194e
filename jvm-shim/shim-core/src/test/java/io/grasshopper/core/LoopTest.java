// What do tests of the loop begin with? A host that notes what it is told, a scripted control plane, the loop between.
package io.grasshopper.core;

import java.io.IOException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

abstract class LoopTest {
  final RecordingHost host = new RecordingHost();
  FakePlane plane;
  SyncLoop loop;

  @BeforeEach
  void open() throws IOException {
    plane = new FakePlane();
  }

  @AfterEach
  void close() {
    loop.stop("test over");
    plane.close();
  }

  /** A loop that is not started yet. */
  void prepare(String... settings) {
    loop = new SyncLoop("spark", host, new Guard(() -> { }), plane.settings(settings));
    host.loop = loop;
  }

  void start(String... settings) {
    prepare(settings);
    loop.start("app-1", 5);
  }

  /** Exchanges are due once a minute. */
  void replySeldom() {
    plane.behaviour = (http, request) -> FakePlane.reply(http, seldom(FakePlane.acknowledging(request, "")));
  }

  static String seldom(String reply) {
    return reply.replace("\"next_interval_ms\": 20", "\"next_interval_ms\": 60000");
  }
}
