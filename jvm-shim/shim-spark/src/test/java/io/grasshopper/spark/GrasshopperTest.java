// Is a bound that a user sets from Scala or Java the one that the shim reads, and is nonsense refused?
package io.grasshopper.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Collections;
import java.util.Locale;
import java.util.Properties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

class GrasshopperTest {
  private static JobKey key(String property, String value) {
    Properties properties = new Properties();
    properties.setProperty(property, value);
    return JobKey.of(properties, 9);
  }

  private static void assertRefused(String property, String got, Executable setting) {
    String message = assertThrows(IllegalArgumentException.class, setting).getMessage();
    assertTrue(message.startsWith(property + ": got " + got + ", want "), message);
  }

  @Test
  void aDeadlineIsTheOneThatTheShimReads() {
    String[] texts = {"90s", " 5MIN ", "2m", "3h", "1d", "1500us", "1ms", "11574d"};
    long[] wantedMs = {90_000, 300_000, 120_000, 10_800_000, 86_400_000, 1, 1, 999_993_600_000L};
    for (int i = 0; i < texts.length; i++) {
      JobKey job = key(Grasshopper.DEADLINE, Grasshopper.deadlineText(texts[i]));
      assertEquals(wantedMs[i], job.deadlineMs);
      assertEquals("", job.misread);
    }
  }

  @Test
  void aDeadlineThatIsNoneIsRefusedByName() {
    String[] texts = {null, "", "soon", "90", "0s", "-5s", "1.5s", "1e3s", "999us", "11575d", "5 s", "3parsecs",
        "999999999999999999d", "9999999999999999999s", "\u0665s"};
    for (String text : texts) {
      assertRefused(Grasshopper.DEADLINE, text, () -> Grasshopper.deadlineText(text));
    }
  }

  @Test
  void anErrorBoundIsTheOneThatTheShimReadsInEveryLanguage() {
    Locale before = Locale.getDefault();
    Locale.setDefault(Locale.GERMANY);
    try {
      double[] shares = {0, 0.1, 0.0000004, 0.999999};
      int[] wanted = {0, 100_000, 0, 999_999};
      for (int i = 0; i < shares.length; i++) {
        JobKey job = key(Grasshopper.ERROR_BOUND, Grasshopper.shareText(shares[i]));
        assertEquals(wanted[i], job.errorBound);
        assertEquals("", job.misread);
      }
    } finally {
      Locale.setDefault(before);
    }
  }

  @Test
  void anErrorBoundThatIsNoShareIsRefusedByName() {
    for (double share : new double[] {-0.1, 1, 0.9999999, 5, Double.NaN, Double.POSITIVE_INFINITY}) {
      assertRefused(Grasshopper.ERROR_BOUND, Double.toString(share), () -> Grasshopper.shareText(share));
    }
  }

  @Test
  void aSpeculatorIsOneName() {
    assertEquals("shed-plus", key(Grasshopper.SPECULATOR, Grasshopper.nameText("shed-plus")).speculator);
    String tooLong = String.join("", Collections.nCopies(65, "x"));
    for (String name : new String[] {null, "", "hopper+ras", "ras,grass", "two words", tooLong}) {
      assertRefused(Grasshopper.SPECULATOR, name, () -> Grasshopper.nameText(name));
    }
  }
}
