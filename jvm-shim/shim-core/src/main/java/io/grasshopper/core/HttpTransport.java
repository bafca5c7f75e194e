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
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * POST over {@link HttpURLConnection}, each exchange on a daemon thread of its own.
 *
 * <p>Its time-outs bound single steps only, so an exchange that is abandoned has its connection closed from outside, until it has
 * ended. That ends it while it connects, writes, and reads the head. A body is read under a lock that closing would wait for; so it
 * must say how long it is, and is cut off between two reads. At most four threads exist for one transport; when all hang, further exchanges fail at
 * once.
 */
final class HttpTransport implements Transport {
  private static final Logger LOG = LoggerFactory.getLogger(HttpTransport.class);
  private static final int MAX_THREADS = 4;
  private static final int MAX_ANSWER_BYTES = 8 << 20;
  private static final long HANG_UP_AGAIN_NANOS = 20_000_000;

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
  public Exchange start(byte[] body, Runnable whenDone) throws IOException {
    CompletableFuture<byte[]> answer = new CompletableFuture<>();
    HttpURLConnection connection = connection();
    try {
      threads.execute(() -> {
        try {
          answer.complete(post(connection, body));
        } catch (Exception | LinkageError error) {
          answer.completeExceptionally(error);
        } finally {
          endIfOpen(answer);
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

      @Override
      public void abandon() {
        Daemons.named("grasshopper-hang-up").newThread(() -> hangUp(connection, answer)).start();
      }
    };
  }

  /** An error of the virtual machine goes on its way, but the exchange ends first, or its caller would wait for ever. */
  private static void endIfOpen(CompletableFuture<byte[]> answer) {
    if (!answer.isDone()) {
      answer.completeExceptionally(new IOException("the exchange broke off"));
    }
  }

  /** Between two of its steps a connection has nothing that could be closed, so once would not do. */
  private static void hangUp(HttpURLConnection connection, CompletableFuture<?> answer) {
    while (!answer.isDone()) {
      try {
        connection.disconnect();
      } catch (RuntimeException error) {
        LOG.debug("Grasshopper: the connection was about to change", error);
      }
      LockSupport.parkNanos(HANG_UP_AGAIN_NANOS);
    }
  }

  /** One that has not begun to connect. */
  private HttpURLConnection connection() throws IOException {
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
    return connection;
  }

  private byte[] post(HttpURLConnection connection, byte[] body) throws IOException {
    long deadlineNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMs);
    boolean complete = false;
    try {
      try (OutputStream out = connection.getOutputStream()) {
        out.write(body);
      }
      int status = connection.getResponseCode();
      if (status == 400 || status == 413 || status == 422) {
        throw new Rejected(status);
      }
      if (status == 401 || status == 403) {
        throw new Refused(status);
      }
      if (status == 404) {
        throw new Absent("status 404");
      }
      if (status != 200) {
        throw new IOException("status " + status);
      }
      if (connection.getContentLengthLong() < 0 || connection.getHeaderField("Transfer-Encoding") != null) {
        throw new IOException("the answer does not say how long it is");
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
