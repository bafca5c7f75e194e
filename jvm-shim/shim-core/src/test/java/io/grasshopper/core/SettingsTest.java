// Is what the user wrote read as it was meant, or refused by its name?
package io.grasshopper.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SettingsTest {
  private final Map<String, String> values = new HashMap<>();
  private final Settings settings = new Settings(values::get);

  @Test
  void needsAServerAndNoVeto() {
    assertEquals("server names no control plane", complaint());
    values.put("server", "http://127.0.0.1:8080/");
    settings.verify();
    assertFalse(settings.isSwitchedOff());
    assertEquals("http://127.0.0.1:8080/shim/v1/sync", settings.endpoint().toString());
    values.put("mode", "off");
    assertTrue(settings.isSwitchedOff());
    values.put("mode", "control");
    values.put("enabled", "false");
    assertTrue(settings.isSwitchedOff());
  }

  private String complaint() {
    return assertThrows(IllegalArgumentException.class, settings::verify).getMessage();
  }

  /** Whoever mends one mistake at a time starts an application for each. */
  @Test
  void namesAllThatItCannotReadAtOnce() {
    values.put("server", "ftp://host");
    values.put("enabled", "fals");
    values.put("mode", "maybe");
    values.put("timeout", "2 moons");
    values.put("copies.max", "many");
    values.put("late.job", "perhaps");
    values.put("token.file", "/nowhere");
    for (String key : values.keySet()) {
      assertTrue(complaint().contains(key), key + " in: " + complaint());
    }
  }

  /** An address may hold a password, and logs are read by many. */
  @Test
  void tellsTheAddressWithoutWhatIsSecretInIt() {
    values.put("server", "https://me:secret@host:7272/deep/");
    assertEquals("https://host:7272", settings.address());
    values.put("server", "http://host");
    assertEquals("http://host", settings.address());
  }

  @Test
  void readsDurationsAsSparkWritesThem() {
    assertEquals(2000, settings.timeoutMs());
    for (String[] pair : new String[][] {{"300", "300"}, {"250ms", "250"}, {"3s", "3000"}, {"1m", "60000"}, {"1min", "60000"}}) {
      values.put("timeout", pair[0]);
      assertEquals(Integer.parseInt(pair[1]), settings.timeoutMs());
    }
  }

  @Test
  void namesTheKeyItCannotRead() {
    values.put("copies.max", "many");
    assertTrue(assertThrows(IllegalArgumentException.class, settings::maxCopies).getMessage().contains("copies.max"));
    values.put("timeout", "2 moons");
    assertTrue(assertThrows(IllegalArgumentException.class, settings::timeoutMs).getMessage().contains("timeout"));
    values.put("mode", "maybe");
    assertThrows(IllegalArgumentException.class, settings::mode);
    for (String server : new String[] {"nonsense", "ftp://host:7272", "file:///tmp/plane"}) {
      values.put("server", server);
      assertTrue(assertThrows(IllegalArgumentException.class, settings::endpoint).getMessage().contains("server"));
    }
    values.put("server", "me:secret@plane:7272");
    assertFalse(assertThrows(IllegalArgumentException.class, settings::endpoint).getMessage().contains("secret"));
  }

  /** With 0 an exchange would be given up at once, and the JDK would wait for it without end. */
  @Test
  void refusesTimeoutsThatAreNone() {
    for (String value : new String[] {"0", "-5s", "3000000s", "9223372036854775807s"}) {
      for (String key : new String[] {"timeout", "connect.timeout"}) {
        values.clear();
        values.put(key, value);
        assertEquals(key + " is " + value + ", want 1ms to 60min", assertThrows(IllegalArgumentException.class,
            key.equals("timeout") ? settings::timeoutMs : settings::connectTimeoutMs).getMessage());
      }
    }
  }

  /** As an int, the longest of these would be negative, and executors would report nothing. */
  @Test
  void takesTheNearestIntervalThatIsAllowed() {
    for (String[] pair : new String[][] {{"5ms", "20"}, {"0", "20"}, {"-1s", "20"}, {"60min", "3600000"}, {"3000000s", "3600000"}}) {
      values.put("progress.interval", pair[0]);
      assertEquals(Integer.parseInt(pair[1]), settings.progressIntervalMs());
    }
  }

  @Test
  void aLateJobIsKeptUnlessItsUserSaysKill() {
    assertFalse(settings.endsLateJobs());
    values.put("late.job", "keep");
    assertFalse(settings.endsLateJobs());
    values.put("late.job", "kill");
    assertTrue(settings.endsLateJobs());
    values.put("late.job", "killed");
    assertTrue(assertThrows(IllegalArgumentException.class, settings::endsLateJobs).getMessage().contains("late.job"));
  }

  @Test
  void readsTheTokenFromItsFile(@TempDir Path folder) throws Exception {
    Path file = folder.resolve("token");
    Files.write(file, "secret\n".getBytes(StandardCharsets.UTF_8));
    values.put("token", "other");
    values.put("token.file", file.toString());
    assertEquals("secret", settings.token());
  }
}
