// What does a control plane look like to a test that decides every byte of its answer?
package io.grasshopper.core;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** The JDK's own server on loopback; a test sets what it does with each request. */
public final class FakePlane implements AutoCloseable {
  /** Answers one request. */
  public interface Behaviour {
    void answer(HttpExchange exchange, Map<?, ?> request) throws IOException, InterruptedException;
  }

  public final BlockingQueue<Map<?, ?>> requests = new LinkedBlockingQueue<>();
  public volatile Behaviour behaviour = (exchange, request) -> reply(exchange, acknowledging(request, ""));
  public final BlockingQueue<Map<?, ?>> questions = new LinkedBlockingQueue<>();
  /** What is done with a question of the doorbell; a control plane of an older version has none. */
  public volatile Behaviour doorbell = (exchange, question) -> exchange.sendResponseHeaders(404, -1);
  private final HttpServer server;

  static {
    // Without it an answer, which is written in two parts, waits 40 ms for the first one to be acknowledged.
    System.setProperty("sun.net.httpserver.nodelay", "true");
  }

  public FakePlane() throws IOException {
    this(0);
  }

  /** @param port 0 for any that is free */
  public FakePlane(int port) throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
    server.setExecutor(Executors.newCachedThreadPool(Daemons.named("fake-plane")));
    serve("/shim/v1/sync", requests, (exchange, request) -> behaviour.answer(exchange, request));
    serve("/shim/v1/doorbell", questions, (exchange, question) -> doorbell.answer(exchange, question));
    server.start();
  }

  private void serve(String path, BlockingQueue<Map<?, ?>> seen, Behaviour answering) {
    server.createContext(path, exchange -> {
      Map<?, ?> request = (Map<?, ?>) Json.read(readAll(exchange.getRequestBody()));
      seen.add(request);
      try {
        answering.answer(exchange, request);
      } catch (InterruptedException error) {
        Thread.currentThread().interrupt();
      } finally {
        exchange.close();
      }
    });
  }

  public Settings settings(String... more) {
    return new Settings(key -> {
      for (int i = 0; i < more.length; i += 2) {
        if (more[i].equals(key)) {
          return more[i + 1];
        }
      }
      return key.equals("server") ? "http://127.0.0.1:" + server.getAddress().getPort() : null;
    });
  }

  public Map<?, ?> nextRequest() throws InterruptedException {
    Map<?, ?> request = requests.poll(5, TimeUnit.SECONDS);
    if (request == null) {
      throw new AssertionError("no request within 5 s");
    }
    return request;
  }

  /** A valid reply in mode control, with more fields put in, for example {@code "orders": [...]}. */
  public static String acknowledging(Map<?, ?> request, String more) {
    return "{\"protocol\": 1, \"plane_epoch\": 7, \"acknowledged\": " + request.get("sequence") + ", \"cycle\": "
        + request.get("sequence") + ", \"next_interval_ms\": 20, \"mode\": \"control\"" + more + "}";
  }

  /** An order about an attempt, with all that such orders need. */
  static String order(String type, long id) {
    return "{\"type\": \"" + type + "\", \"order\": " + id + ", \"ttl_ms\": 9000, \"job\": \"job-9\", \"stage\": 3, \"stage_attempt\": 0, "
        + "\"index\": 4, \"indices\": [4], \"attempt\": 9}";
  }

  public static void reply(HttpExchange exchange, String body) throws IOException {
    byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
    exchange.sendResponseHeaders(200, bytes.length);
    exchange.getResponseBody().write(bytes);
  }

  private static byte[] readAll(InputStream in) throws IOException {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    byte[] buffer = new byte[8192];
    for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
      all.write(buffer, 0, n);
    }
    return all.toByteArray();
  }

  @Override
  public void close() {
    server.stop(0);
  }
}
