// Where do measurements go? Into memory first, and to a file when the simulation is over.
package io.grasshopper.yarn;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Paths;

/** Files of {@code bench.folder}; whatever ends the process, they are whole. */
final class Rows {
  private static final int MEMORY_BYTES = 16 << 20;

  private Rows() {}

  static PrintStream to(String name) {
    try {
      PrintStream rows = new PrintStream(
          new BufferedOutputStream(Files.newOutputStream(Paths.get(System.getProperty("bench.folder"), name)), MEMORY_BYTES));
      Runtime.getRuntime().addShutdownHook(new Thread(rows::close));
      return rows;
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }
}
