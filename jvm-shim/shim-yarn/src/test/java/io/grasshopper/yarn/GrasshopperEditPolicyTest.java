// Where does the plug-in find its secret, how long may things take, and what is said of what it cannot read?
package io.grasshopper.yarn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grasshopper.core.Settings;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.alias.CredentialProvider;
import org.apache.hadoop.security.alias.CredentialProviderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class GrasshopperEditPolicyTest {
  private static final String PREFIX = "yarn.scheduler.grasshopper.";

  private static Settings settings(Configuration conf) {
    GrasshopperEditPolicy policy = new GrasshopperEditPolicy();
    policy.init(conf, null, null);
    return new Settings(policy::lookup);
  }

  /** Whoever may read yarn-site.xml need not know it; what stands there is for trials. */
  @Test
  void aSecretOfTheCredentialProviderComesBeforeOneInClearText(@TempDir Path folder) throws Exception {
    Configuration conf = new Configuration(false);
    conf.set(PREFIX + "token", "in clear text");
    assertEquals("in clear text", settings(conf).token());
    conf.set("hadoop.security.credential.provider.path", "localjceks://file" + folder.resolve("secrets.jceks"));
    CredentialProvider provider = CredentialProviderFactory.getProviders(conf).get(0);
    provider.createCredentialEntry(PREFIX + "token", "from the provider".toCharArray());
    provider.flush();
    assertEquals("from the provider", settings(conf).token());
  }

  @Test
  void anExchangeIsOverBeforeTheNextTick() {
    Configuration conf = new Configuration(false);
    assertEquals(300, settings(conf).timeoutMs());
    conf.set(PREFIX + "tick-ms", "200");
    assertEquals(200, settings(conf).timeoutMs());
  }

  /** Whoever misspells a number in yarn-site.xml must be told which; and a tick of no length would end the ResourceManager. */
  @Test
  void namesEachNumberThatItCannotReadAndKeepsItsTick() {
    Configuration conf = new Configuration(false);
    conf.set(PREFIX + "server", "http://127.0.0.1:7272");
    for (String key : new String[] {"tick-ms", "timeout-ms", "plan-ttl-ms", "preemption"}) {
      conf.set(PREFIX + key, "soon");
      GrasshopperEditPolicy policy = new GrasshopperEditPolicy();
      policy.init(conf, null, null);
      String told = assertThrows(IllegalArgumentException.class, policy::verify).getMessage();
      assertTrue(told.contains(key + " is "), told);
      assertEquals(500, policy.getMonitoringInterval());
    }
  }

  @Test
  void aPlanLivesAMinuteAtMost() {
    Configuration conf = new Configuration(false);
    conf.set(PREFIX + "server", "http://127.0.0.1:7272");
    conf.set(PREFIX + "plan-ttl-ms", "86400000");
    GrasshopperEditPolicy policy = new GrasshopperEditPolicy();
    policy.init(conf, null, null);
    assertEquals(60_000_000_000L, policy.longestPlanNanos());
  }
}
