// Does a misspelt key get one word, with the key that was meant?
package io.grasshopper.core;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

class UnknownKeysTest {
  private static final List<String> KNOWN = Arrays.asList("server", "token", "token.file");

  private static String told(String... given) {
    return UnknownKeys.told("spark.grasshopper.", Arrays.asList(given), KNOWN);
  }

  @Test
  void namesTheNearestKeyForEachUnknownOne() {
    assertEquals("spark.grasshopper.servr is no key of ours, did you mean spark.grasshopper.server?; "
        + "spark.grasshopper.tokenfile is no key of ours, did you mean spark.grasshopper.token.file?", told("tokenfile", "servr", "token"));
  }

  @Test
  void namesAllKeysForOneThatIsLikeNone() {
    assertEquals("spark.grasshopper.url is no key of ours, those are server, token, token.file", told("url"));
  }

  @Test
  void saysNothingOfKnownKeys() {
    assertEquals("", told("server", "token.file"));
    assertEquals("", UnknownKeys.told("x.", Collections.emptySet(), KNOWN));
  }

  /** Spark hands such a key over to nobody, so without a word its user believes that it holds. */
  @Test
  void namesTheKeyThatWasMeantWhereThePrefixIsMisspelt() {
    assertEquals("spark.graashoper.zzz is no key of ours, those are server, token, token.file; "
        + "spark.grashopper.server is no key of ours, did you mean spark.grasshopper.server?; "
        + "spark.grasshoppers.tokn is no key of ours, did you mean spark.grasshopper.token?",
        toldOfPrefixes("spark.grasshoppers.tokn", "spark.grashopper.server", "spark.graashoper.zzz"));
  }

  @Test
  void saysNothingOfOthersPrefixes() {
    assertEquals("", toldOfPrefixes("spark.grasshopper.servr", "spark.graasshopperss.server", "spark.shopper.server",
        "spark.grashopper", "spork.grashopper.server", "spark.sql.shuffle.partitions", "spark.sql", "spark.", ""));
  }

  private static String toldOfPrefixes(String... given) {
    return UnknownKeys.toldOfPrefixes("spark.grasshopper.", Arrays.asList(given), KNOWN);
  }

  @Test
  void countsTheCharactersThatDiffer() {
    assertEquals(0, UnknownKeys.distance("mode", "mode"));
    assertEquals(1, UnknownKeys.distance("servr", "server"));
    assertEquals(3, UnknownKeys.distance("kitten", "sitting"));
    assertEquals(4, UnknownKeys.distance("", "mode"));
  }
}
