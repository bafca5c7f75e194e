// What happens when our own code fails inside somebody else's process? It is counted, and the host goes on.
package io.grasshopper.core;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The one gate every hook body goes through.
 *
 * <p>A {@link VirtualMachineError} passes: the host must see it; except for a stack that was too deep, which is over once it is
 * caught. A {@link LinkageError} means that this host version is not the
 * one we were built for, so the shim switches itself off with one warning. Everything else is caught, counted, and warned about
 * once per hook and kind.
 */
public final class Guard {
  private static final Logger LOG = LoggerFactory.getLogger(Guard.class);

  private final Map<String, AtomicLong> errorsByKind = new ConcurrentHashMap<>();
  private final Runnable onOff;
  private volatile boolean on = true;

  /** @param onOff runs once when the shim switches itself off */
  public Guard(Runnable onOff) {
    this.onOff = onOff;
  }

  /** False once the shim has switched itself off; every hook then does what the host would do without it. */
  public boolean isOn() {
    return on;
  }

  /** Runs one hook body. */
  public void run(String hook, Runnable body) {
    if (!on) {
      return;
    }
    try {
      body.run();
    } catch (Throwable error) {
      caught(hook, error);
    }
  }

  /** Runs one hook body that answers something; the fallback is what the host would do without us. */
  public <T> T get(String hook, T fallback, Supplier<T> body) {
    if (!on) {
      return fallback;
    }
    try {
      return body.get();
    } catch (Throwable error) {
      caught(hook, error);
      return fallback;
    }
  }

  /** For hot paths that have their own try block: accounts for what they caught, or passes it on. */
  public void caught(String hook, Throwable error) {
    if (error instanceof VirtualMachineError && !(error instanceof StackOverflowError)) {
      throw (VirtualMachineError) error;
    }
    if (error instanceof LinkageError) {
      switchOff("this host version does not fit, found in " + hook, error);
      return;
    }
    String kind = hook + ": " + error.getClass().getName();
    if (errorsByKind.computeIfAbsent(kind, k -> new AtomicLong()).incrementAndGet() == 1) {
      LOG.warn("Grasshopper: an error in {}; the host is not affected, further ones of this kind are only counted", hook, error);
    }
  }

  /** Ends the shim's part in this process for good. */
  public synchronized void switchOff(String why, Throwable cause) {
    if (!on) {
      return;
    }
    on = false;
    LOG.warn("Grasshopper is off: {}. The host goes on as if it were not installed.", why, cause);
    try {
      onOff.run();
    } catch (Exception | LinkageError error) {
      LOG.debug("while switching off", error);
    }
  }

  /** How many errors were caught so far. */
  public long errors() {
    return errorsByKind.values().stream().mapToLong(AtomicLong::get).sum();
  }
}
