// Does any behaviour of a server hang or flood the host?
package io.grasshopper.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HttpTransportTest {
  private FakePlane plane;

  @BeforeEach
  void open() throws IOException {
    plane = new FakePlane();
  }

  @AfterEach
  void close() {
    plane.close();
  }

  private static HttpTransport transport(Settings settings) {
    return new HttpTransport(settings, settings.endpoint(), settings.timeoutMs());
  }

  /** Runs one exchange to its end, which must come within the deadline and a little more. */
  private static byte[] exchange(Settings settings) throws IOException, InterruptedException {
    CountDownLatch done = new CountDownLatch(1);
    Transport.Exchange exchange = transport(settings).start("{\"sequence\": 1}".getBytes(), done::countDown);
    assertTrue(done.await(settings.timeoutMs() * 2L + 1000, TimeUnit.MILLISECONDS), "the exchange has no end");
    return exchange.answer();
  }

  @Test
  void bringsTheAnswerAndCarriesTheToken() throws Exception {
    plane.behaviour = (http, request) -> FakePlane.reply(http, http.getRequestHeaders().getFirst("Authorization")
        + " " + http.getRequestHeaders().getFirst("Content-Type"));
    byte[] answer = exchange(plane.settings("token", "secret"));
    assertEquals("Bearer secret application/json", new String(answer, StandardCharsets.UTF_8));
  }

  @Test
  void failsOnAnErrorOfTheServer() {
    plane.behaviour = (http, request) -> http.sendResponseHeaders(500, -1);
    assertThrows(IOException.class, () -> exchange(plane.settings()));
  }

  @Test
  void tellsARefusedTokenFromAnAddressThatIsNotThere() {
    plane.behaviour = (http, request) -> http.sendResponseHeaders(401, -1);
    assertThrows(Transport.Refused.class, () -> exchange(plane.settings()));
    plane.behaviour = (http, request) -> http.sendResponseHeaders(404, -1);
    assertEquals(Transport.Absent.class, assertThrows(Transport.Absent.class, () -> exchange(plane.settings())).getClass());
  }

  @Test
  void tellsARejectedMessageFromATroubledServer() {
    plane.behaviour = (http, request) -> http.sendResponseHeaders(422, -1);
    assertThrows(Transport.Rejected.class, () -> exchange(plane.settings()));
  }

  @Test
  void endsWithASilentServer() {
    plane.behaviour = (http, request) -> Thread.sleep(3000);
    assertThrows(IOException.class, () -> exchange(plane.settings("timeout", "200ms")));
  }

  @Test
  void cutsATrickleOff() {
    plane.behaviour = (http, request) -> {
      http.sendResponseHeaders(200, 100);
      for (int i = 0; i < 100; i++) {
        http.getResponseBody().write(' ');
        http.getResponseBody().flush();
        Thread.sleep(50);
      }
    };
    assertThrows(IOException.class, () -> exchange(plane.settings("timeout", "300ms")));
  }

  /** The length of a chunk may trickle as well, within one read that nothing from outside can end. */
  @Test
  void takesNoAnswerOfUnknownLength() {
    plane.behaviour = (http, request) -> http.sendResponseHeaders(200, 0);
    IOException error = assertThrows(IOException.class, () -> exchange(plane.settings()));
    assertEquals("the answer does not say how long it is", error.getMessage());
  }

  /** Each byte comes long before any read times out, so only closing the connection ends the exchange. */
  @ParameterizedTest
  @ValueSource(strings = {"HTTP/1.1 ", "HTTP/1.1 200 OK\r\nX: "})
  void anAbandonedExchangeEndsThoughItsHeadTrickles(String promptly) throws Exception {
    try (Trickle server = new Trickle(promptly)) {
      CountDownLatch done = new CountDownLatch(1);
      Transport.Exchange exchange = transport(server.settings("timeout", "300ms")).start(new byte[] {'{', '}'}, done::countDown);
      assertFalse(done.await(400, TimeUnit.MILLISECONDS), "no time-out of the connection's own ends it");
      exchange.abandon();
      assertTrue(done.await(1, TimeUnit.SECONDS), "its thread is pinned");
      assertThrows(IOException.class, exchange::answer);
    }
  }

  @Test
  void cutsAFloodOff() {
    plane.behaviour = (http, request) -> {
      http.sendResponseHeaders(200, 50 << 20);
      byte[] megabyte = new byte[1 << 20];
      for (int i = 0; i < 50; i++) {
        http.getResponseBody().write(megabyte);
      }
    };
    assertThrows(IOException.class, () -> exchange(plane.settings("timeout", "5s")));
  }

  @Test
  void failsAtOnceWhereNobodyListens() throws Exception {
    int port;
    try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = free.getLocalPort();
    }
    Settings settings = new Settings(key -> key.equals("server") ? "http://127.0.0.1:" + port : null);
    assertThrows(IOException.class, () -> exchange(settings));
  }

  @Test
  void neverHoldsMoreThanFourThreads() throws Exception {
    plane.behaviour = (http, request) -> Thread.sleep(1500);
    HttpTransport transport = transport(plane.settings("timeout", "1s"));
    for (int i = 0; i < 4; i++) {
      transport.start(new byte[] {'{', '}'}, () -> { });
    }
    Transport.Exchange fifth = transport.start(new byte[] {'{', '}'}, () -> { });
    assertTrue(fifth.isDone());
    assertThrows(IOException.class, fifth::answer);
  }
}
