// What did the user configure? One reading of the keys that all shims share.
package io.grasshopper.core;

import java.io.IOException;
import java.net.MalformedURLException;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.UnaryOperator;

/** Settings under one prefix, for example {@code spark.grasshopper.}; a value that cannot be read is an error at attach. */
public final class Settings {
  /** All that can be set, but for what a host system's shim adds. */
  public static final List<String> KEYS = Collections.unmodifiableList(Arrays.asList("server", "enabled", "mode", "token", "token.file",
      "connect.timeout", "timeout", "copies.max", "queue.capacity", "progress.interval", "late.job"));
  private static final long LONGEST_TIMEOUT_MS = 3_600_000;

  private final UnaryOperator<String> lookup;

  /** @param lookup answers the value of a key without prefix, or null */
  public Settings(UnaryOperator<String> lookup) {
    this.lookup = lookup;
  }

  /** By {@code enabled=false} or {@code mode=off}. */
  public boolean isSwitchedOff() {
    return text("enabled", "").equals("false") || text("mode", "").equals("off");
  }

  /**
   * Reads every setting once.
   *
   * @param more the settings that a host system's shim has besides
   * @throws IllegalArgumentException that names all of those that cannot be read
   */
  public void verify(Runnable... more) {
    List<Runnable> all = new ArrayList<>(Arrays.asList(this::endpoint, () -> flag("enabled", true), this::mode, this::token,
        this::connectTimeoutMs, this::timeoutMs, this::maxCopies, this::queueCapacity, this::progressIntervalMs, this::endsLateJobs));
    all.addAll(Arrays.asList(more));
    Set<String> wrong = new LinkedHashSet<>();
    for (Runnable reading : all) {
      try {
        reading.run();
      } catch (IllegalArgumentException error) {
        wrong.add(error.getMessage());
      }
    }
    if (!wrong.isEmpty()) {
      throw new IllegalArgumentException(String.join("; ", wrong));
    }
  }

  /** The most the user allows: {@code off}, {@code shadow} or {@code control}; control where nothing is said. */
  public String mode() {
    String mode = text("mode", "control");
    if (!mode.equals("off") && !mode.equals("shadow") && !mode.equals("control")) {
      throw new IllegalArgumentException("mode is " + mode + ", want off, shadow or control");
    }
    return mode;
  }

  /** Where to send. */
  public URL endpoint() {
    return address("/shim/v1/sync");
  }

  /** Where to ask whether orders wait. */
  URL doorbell() {
    return address("/shim/v1/doorbell");
  }

  /** Where that is, for people: without a path, and without a secret that somebody may have put there. */
  public String address() {
    URL endpoint = endpoint();
    return endpoint.getProtocol() + "://" + endpoint.getHost() + (endpoint.getPort() < 0 ? "" : ":" + endpoint.getPort());
  }

  private URL address(String path) {
    if (text("server", "").isEmpty()) {
      throw new IllegalArgumentException("server names no control plane");
    }
    try {
      URL address = new URL(text("server", "").replaceAll("/+$", "") + path);
      if (!address.getProtocol().equals("http") && !address.getProtocol().equals("https")) {
        throw new IllegalArgumentException("server is not an address of http or https");
      }
      return address;
    } catch (MalformedURLException error) {
      throw new IllegalArgumentException("server is not an address: no protocol");
    }
  }

  /** The bearer token, given directly or by file; empty for none. */
  public String token() {
    String file = text("token.file", "");
    if (file.isEmpty()) {
      return text("token", "");
    }
    try {
      return new String(Files.readAllBytes(Paths.get(file)), StandardCharsets.UTF_8).trim();
    } catch (IOException error) {
      throw new IllegalArgumentException("token.file cannot be read: " + error);
    }
  }

  /** Whether we may end a job that cannot meet its deadline: {@code late.job} is {@code kill}, and not {@code keep}. */
  public boolean endsLateJobs() {
    String wish = text("late.job", "keep");
    if (!wish.equals("keep") && !wish.equals("kill")) {
      throw new IllegalArgumentException("late.job is " + wish + ", want keep or kill");
    }
    return wish.equals("kill");
  }

  public int connectTimeoutMs() {
    return timeout("connect.timeout");
  }

  /** For a whole exchange, from the first byte sent to the last one read. */
  public int timeoutMs() {
    return timeout("timeout");
  }

  /** Extra attempts one task may have running, whatever the control plane asks for. */
  public int maxCopies() {
    return (int) number("copies.max", 4, 0, 100);
  }

  /** Events and facts held at most; more are dropped and counted. */
  public int queueCapacity() {
    return (int) number("queue.capacity", 100_000, 100, 10_000_000);
  }

  public int progressIntervalMs() {
    return (int) Math.min(3_600_000, Math.max(20, millis("progress.interval", "200ms")));
  }

  public String text(String key, String otherwise) {
    String value = lookup.apply(key);
    return value == null || value.trim().isEmpty() ? otherwise : value.trim();
  }

  /** True or false, and nothing else. */
  public boolean flag(String key, boolean otherwise) {
    String value = text(key, Boolean.toString(otherwise));
    if (!value.equals("true") && !value.equals("false")) {
      throw new IllegalArgumentException(key + " is " + value + ", want true or false");
    }
    return value.equals("true");
  }

  /** A whole number, or the nearest that is allowed. */
  public long number(String key, long otherwise, long least, long most) {
    return Math.min(most, Math.max(least, parse(key, text(key, Long.toString(otherwise)))));
  }

  /** The JDK takes 0 as no time-out, and refuses less without naming the key. */
  private int timeout(String key) {
    long millis = millis(key, "2s");
    if (millis < 1 || millis > LONGEST_TIMEOUT_MS) {
      throw new IllegalArgumentException(key + " is " + text(key, "") + ", want 1ms to 60min");
    }
    return (int) millis;
  }

  /** Durations as Spark writes them: {@code 200ms}, {@code 2s}, {@code 1m}; a bare number is milliseconds. */
  public long millis(String key, String otherwise) {
    String value = text(key, otherwise);
    String digits = value.replaceAll("[a-z]+$", "");
    switch (value.substring(digits.length())) {
      case "":
      case "ms":
        return parse(key, digits);
      case "s":
        return parse(key, digits) * 1000;
      case "m":
      case "min":
        return parse(key, digits) * 60_000;
      default:
        throw new IllegalArgumentException(key + " is not a duration: " + value);
    }
  }

  private static long parse(String key, String digits) {
    try {
      return Long.parseLong(digits);
    } catch (NumberFormatException error) {
      throw new IllegalArgumentException(key + " is not a number: " + digits);
    }
  }
}
