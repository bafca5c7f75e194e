// What do tests of the loop begin with? A host that notes what it is told, a scripted control plane, the loop between.
package io.grasshopper.core;

import static org.junit.jupiter.api.Assertions.assertNotNull;

import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
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

  String nextCall() throws InterruptedException {
    String call = host.calls.poll(5, TimeUnit.SECONDS);
    assertNotNull(call, "the host was not called within 5 s");
    return call;
  }

  /** Puts `more` into the reply to the first request only. */
  void replyOnce(String more) {
    AtomicInteger count = new AtomicInteger();
    plane.behaviour = (http, request) ->
        FakePlane.reply(http, FakePlane.acknowledging(request, count.getAndIncrement() == 0 ? more : ""));
  }
}
