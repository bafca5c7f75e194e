// What does a server look like that answers for ever, one byte at a time?
package io.grasshopper.core;

import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/** Whoever connects gets the same beginning at once, and then a letter every 20 ms, for ten seconds; also after the end of the server. */
final class Trickle implements AutoCloseable {
  private final ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
  private final Thread accepting = Daemons.named("trickle").newThread(this::serve);
  private final byte[] promptly;

  Trickle(String promptly) throws IOException {
    this.promptly = promptly.getBytes(StandardCharsets.US_ASCII);
    accepting.start();
  }

  int port() {
    return server.getLocalPort();
  }

  Settings settings(String key, String value) {
    return new Settings(asked -> asked.equals("server") ? "http://127.0.0.1:" + port() : asked.equals(key) ? value : null);
  }

  private void serve() {
    while (!server.isClosed()) {
      try {
        Socket socket = server.accept();
        Daemons.named("trickle").newThread(() -> drip(socket)).start();
      } catch (IOException error) {
        return;
      }
    }
  }

  private void drip(Socket socket) {
    try (Socket closing = socket; OutputStream out = socket.getOutputStream()) {
      out.write(promptly);
      for (int i = 0; i < 500; i++) {
        out.write('H');
        Thread.sleep(20);
      }
    } catch (IOException | InterruptedException error) {
      return;
    }
  }

  /** Another server can have the port only once nobody accepts here. */
  @Override
  public void close() throws IOException {
    server.close();
    try {
      accepting.join();
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
    }
  }
}
