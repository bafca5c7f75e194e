// How is the shim put into a driver, once, and taken out again?
package io.grasshopper.spark;

import io.grasshopper.core.Daemons;
import io.grasshopper.core.Guard;
import io.grasshopper.core.Settings;
import io.grasshopper.core.UnknownKeys;
import java.util.Arrays;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkContext$;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Tuple2;

/** One shim in one driver. Whatever fails while it is put in leaves Spark as it is, with one warning. */
final class Attachment {
  private static final Logger LOG = LoggerFactory.getLogger(Attachment.class);
  static final String PREFIX = "spark.grasshopper.";
  private static final long POLL_MS = 2;
  private static final long GIVE_UP_MS = 120_000;
  private static volatile Attachment latest;

  private final Guard guard = new Guard(() -> { });
  private final Settings settings;
  private final SparkHost host;
  private final boolean endsWithApplication;

  private Attachment(SparkConf conf, Settings settings, boolean endsWithApplication) {
    this.settings = settings;
    this.host = new SparkHost(conf, settings, guard);
    this.endsWithApplication = endsWithApplication;
  }

  /** For the plug-in, which is told about each step; null where the user has switched us off or something fails. */
  static Attachment forPlugin(SparkConf conf) {
    return create(conf, false);
  }

  /** For the listener alone, which has to look for its context; null where the plug-in is there, too. */
  static Attachment forListener(SparkConf conf) {
    if (conf.get("spark.plugins", "").contains(GrasshopperPlugin.class.getName())) {
      return null;
    }
    Attachment attachment = create(conf, true);
    if (attachment != null) {
      Daemons.named("grasshopper-attach").newThread(() -> attachment.installWhenReady(conf)).start();
    }
    return attachment;
  }

  private static Attachment create(SparkConf conf, boolean endsWithApplication) {
    try {
      tellUnknownKeys(conf);
      Settings settings = new Settings(key -> conf.get(PREFIX + key, null));
      if (settings.isSwitchedOff()) {
        LOG.info("Grasshopper is switched off by {}enabled or mode", PREFIX);
        return null;
      }
      settings.verify();
      return new Attachment(conf, settings, endsWithApplication);
    } catch (IllegalArgumentException error) {
      LOG.warn("Grasshopper stays out of this application; under {}: {}", PREFIX, error.getMessage());
    } catch (Exception | LinkageError error) {
      LOG.warn("Grasshopper stays out of this application: {}", error.toString());
    }
    return null;
  }

  /** What is meant for single jobs is no key of an application: there it would keep nothing back. */
  private static void tellUnknownKeys(SparkConf conf) {
    Set<String> all = new TreeSet<>();
    Set<String> given = new TreeSet<>();
    for (Tuple2<String, String> each : conf.getAll()) {
      all.add(each._1());
      if (each._1().startsWith(PREFIX)) {
        given.add(each._1().substring(PREFIX.length()));
      }
    }
    for (String option : JobKey.OPTIONS) {
      if (!Settings.KEYS.contains(option) && given.remove(option)) {
        LOG.warn("Grasshopper: {}{} has no effect here, it is a local property of single jobs", PREFIX, option);
      }
    }
    for (String unknown : Arrays.asList(
        UnknownKeys.told(PREFIX, given, Settings.KEYS), UnknownKeys.toldOfPrefixes(PREFIX, all, Settings.KEYS))) {
      if (!unknown.isEmpty()) {
        LOG.warn("Grasshopper: {}", unknown);
      }
    }
  }

  Guard guard() {
    return guard;
  }

  SparkHost host() {
    return host;
  }

  int progressIntervalMs() {
    return settings.progressIntervalMs();
  }

  /** Puts the hooks in place; called when the context is complete and before the first job. */
  void install(SparkContext context) {
    try {
      host.install(context, settings.mode());
      latest = this;
      LOG.info("Grasshopper {} is loaded for {}, at most {} by this application",
          SparkAttached.SHIM_VERSION, settings.address(), settings.mode());
    } catch (Exception | LinkageError error) {
      guard.switchOff("it could not be put into Spark " + context.version(), error);
    }
  }

  private void installWhenReady(SparkConf conf) {
    for (long waitedMs = 0; waitedMs < GIVE_UP_MS; waitedMs += POLL_MS) {
      SparkContext context = Scala.orNull(SparkContext$.MODULE$.getActive());
      if (context != null && context.conf() == conf) {
        install(context);
        return;
      }
      try {
        Thread.sleep(POLL_MS);
      } catch (InterruptedException error) {
        return;
      }
    }
    guard.switchOff("no SparkContext has appeared for its listener", null);
  }

  void applicationEnded() {
    if (endsWithApplication) {
      stop();
    }
  }

  void stop() {
    host.stop("application ended");
    LOG.info("Grasshopper is detached: {}", status());
  }

  /** What the shim has cost and caught so far, as JSON; of the latest application in this driver. */
  static String latestStatus() {
    Attachment attachment = latest;
    return attachment == null ? "{}" : attachment.status();
  }

  private String status() {
    LockMeter meter = host.control().meter;
    return String.format(
        "{\"on\": %b, \"errors\": %d, \"jobs\": %d, \"lock_calls\": %d, \"lock_total_us\": %d, \"lock_longest_us\": %d}",
        guard.isOn(), guard.errors(), host.control().shares().size(), meter.calls(), meter.totalNanos() / 1000,
        meter.longestNanos() / 1000);
  }
}
