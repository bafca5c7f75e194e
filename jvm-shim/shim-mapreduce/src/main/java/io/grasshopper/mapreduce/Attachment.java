// What did the job's user configure, and does the shim take part?
package io.grasshopper.mapreduce;

import io.grasshopper.core.Fact;
import io.grasshopper.core.Guard;
import io.grasshopper.core.Settings;
import io.grasshopper.core.UnknownKeys;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.attribute.PosixFilePermission;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.v2.app.AppContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Whatever fails here leaves Hadoop's own speculator as it is, with one warning. */
final class Attachment {
  static final String PREFIX = "mapreduce.grasshopper.";
  private static final Logger LOG = LoggerFactory.getLogger(Attachment.class);
  private static final List<String> MORE = Arrays.asList("token.alias", "deadline", "policy");
  private static final Set<PosixFilePermission> OWNERS =
      EnumSet.of(PosixFilePermission.OWNER_READ, PosixFilePermission.OWNER_WRITE);

  private Attachment() {}

  /** The host's side of a shim; null where the user has switched us off, or some setting cannot be read. */
  static MapReduceHost hostOf(Configuration conf, AppContext context, Guard guard) {
    try {
      tellUnknownKeys(conf);
      Settings settings = new Settings(key -> lookup(conf, key));
      if (settings.isSwitchedOff()) {
        LOG.info("Grasshopper is switched off by {}enabled or mode", PREFIX);
        return null;
      }
      settings.verify(() -> deadlineMs(settings));
      return new MapReduceHost(conf, context, settings, guard);
    } catch (IllegalArgumentException error) {
      LOG.warn("Grasshopper stays out of this job; under {}: {}", PREFIX, error.getMessage());
      return null;
    }
  }

  private static String lookup(Configuration conf, String key) {
    String alias = conf.getTrimmed(PREFIX + "token.alias", "");
    if (key.equals("token")) {
      return alias.isEmpty() ? null : secret(conf, alias);
    }
    String value = conf.getTrimmed(PREFIX + key);
    if (key.equals("token.file") && value != null && !value.isEmpty()) {
      if (!alias.isEmpty()) {
        return null;
      }
      verifyPrivate(Paths.get(value));
    }
    return value;
  }

  private static String secret(Configuration conf, String alias) {
    try {
      char[] found = conf.getPasswordFromCredentialProviders(alias);
      if (found == null) {
        throw new IllegalArgumentException("token.alias is " + alias + ", which no credential provider has");
      }
      return new String(found);
    } catch (IOException error) {
      throw new IllegalArgumentException("token.alias is " + alias + ", and the credential providers cannot be read: " + error);
    }
  }

  private static void verifyPrivate(Path file) {
    try {
      if (!OWNERS.containsAll(Files.getPosixFilePermissions(file))) {
        throw new IllegalArgumentException("token.file can be read by others, want mode 0600");
      }
    } catch (IOException error) {
      throw new IllegalArgumentException("token.file cannot be read: " + error);
    }
  }

  /** Milliseconds from the job's submission; -1 for no deadline. */
  static long deadlineMs(Settings settings) {
    if (settings.text("deadline", "").isEmpty()) {
      return -1;
    }
    long millis = settings.millis("deadline", "");
    if (millis < 1 || millis > Fact.MAX_AGE_MS) {
      throw new IllegalArgumentException("deadline is " + settings.text("deadline", "") + ", want a duration above 0");
    }
    return millis;
  }

  private static void tellUnknownKeys(Configuration conf) {
    List<String> known = new ArrayList<>(Settings.KEYS);
    known.remove("token");  // everybody who may see the job may see its configuration
    known.addAll(MORE);
    String unknown = UnknownKeys.told(PREFIX, conf.getPropsWithPrefix(PREFIX).keySet(), known);
    if (!unknown.isEmpty()) {
      LOG.warn("Grasshopper: {}", unknown);
    }
  }
}
