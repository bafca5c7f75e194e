// How is an HTTP exchange kept from ever hanging or flooding the host?
package io.grasshopper.core;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.Proxy;
import java.net.URL;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * POST over {@link HttpURLConnection}, each exchange on a daemon thread of its own.
 *
 * <p>Its read time-out bounds each read only, so an answer that trickles is cut off between two reads, and whoever waits does
 * so by its own clock and walks away. At most four threads exist; when all hang, further exchanges fail at once.
 */
final class HttpTransport implements Transport {
  private static final int MAX_THREADS = 4;
  private static final int MAX_ANSWER_BYTES = 8 << 20;

  private final URL endpoint;
  private final String token;
  private final int connectTimeoutMs;
  private final int timeoutMs;
  private final ThreadPoolExecutor threads =
      new ThreadPoolExecutor(0, MAX_THREADS, 30, TimeUnit.SECONDS, new SynchronousQueue<>(), Daemons.named("grasshopper-http"));

  /** @param timeoutMs for a whole exchange */
  HttpTransport(Settings settings, URL endpoint, int timeoutMs) {
    this.endpoint = endpoint;
    this.token = settings.token();
    this.connectTimeoutMs = settings.connectTimeoutMs();
    this.timeoutMs = timeoutMs;
  }

  @Override
  public Exchange start(byte[] body, Runnable whenDone) {
    CompletableFuture<byte[]> answer = new CompletableFuture<>();
    try {
      threads.execute(() -> {
        try {
          answer.complete(post(body));
        } catch (Exception | LinkageError error) {
          answer.completeExceptionally(error);
        }
        whenDone.run();
      });
    } catch (RejectedExecutionException error) {
      answer.completeExceptionally(new IOException("earlier exchanges still hang"));
    }
    return new Exchange() {
      @Override
      public boolean isDone() {
        return answer.isDone();
      }

      @Override
      public byte[] answer() throws IOException {
        try {
          return answer.get();
        } catch (ExecutionException error) {
          throw error.getCause() instanceof IOException ? (IOException) error.getCause() : new IOException(error.getCause());
        } catch (InterruptedException error) {
          Thread.currentThread().interrupt();
          throw new IOException(error);
        }
      }
    };
  }

  private byte[] post(byte[] body) throws IOException {
    long deadlineNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMs);
    HttpURLConnection connection = (HttpURLConnection) endpoint.openConnection(Proxy.NO_PROXY);
    connection.setConnectTimeout(Math.min(connectTimeoutMs, timeoutMs));
    connection.setReadTimeout(timeoutMs);
    connection.setInstanceFollowRedirects(false);
    connection.setRequestMethod("POST");
    connection.setRequestProperty("Content-Type", "application/json");
    connection.setRequestProperty("Accept", "application/json");
    if (!token.isEmpty()) {
      connection.setRequestProperty("Authorization", "Bearer " + token);
    }
    connection.setDoOutput(true);
    boolean complete = false;
    try {
      try (OutputStream out = connection.getOutputStream()) {
        out.write(body);
      }
      int status = connection.getResponseCode();
      if (status == 400 || status == 413 || status == 422) {
        throw new Rejected(status);
      }
      if (status == 401 || status == 403 || status == 404) {
        throw new Absent(status);
      }
      if (status != 200) {
        throw new IOException("status " + status);
      }
      byte[] answer = readAll(connection.getInputStream(), deadlineNanos);
      complete = true;
      return answer;
    } finally {
      if (!complete) {
        connection.disconnect();
      }
    }
  }

  private static byte[] readAll(InputStream in, long deadlineNanos) throws IOException {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    byte[] buffer = new byte[16 << 10];
    for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
      all.write(buffer, 0, n);
      if (all.size() > MAX_ANSWER_BYTES) {
        throw new IOException("the answer is longer than " + MAX_ANSWER_BYTES + " bytes");
      }
      if (System.nanoTime() - deadlineNanos > 0) {
        throw new IOException("the answer trickles");
      }
    }
    in.close();
    return all.toByteArray();
  }
}
