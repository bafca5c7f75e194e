// Is a job what its user would call one?
package io.grasshopper.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grasshopper.core.Fact;
import java.util.Collections;
import java.util.Properties;
import org.junit.jupiter.api.Test;

class JobKeyTest {
  private static JobKey key(String... pairs) {
    Properties properties = new Properties();
    for (int i = 0; i < pairs.length; i += 2) {
      properties.setProperty(pairs[i], pairs[i + 1]);
    }
    return JobKey.of(properties, 9);
  }

  @Test
  void rootExecutionComesBeforeGroupAndGroupBeforeSparkJob() {
    assertEquals("sql-3", key("spark.sql.execution.root.id", "3", "spark.sql.execution.id", "4", "spark.jobGroup.id", "g").key);
    assertEquals("sql-4", key("spark.sql.execution.id", "4").key);
    assertEquals("group-nightly", key("spark.jobGroup.id", "nightly").key);
    assertEquals("job-9", key().key);
    assertEquals("job-9", JobKey.of(null, 9).key);
  }

  /** The job would be reported under another key than the one that grants are looked up by. */
  @Test
  void aLongGroupHasTheKeyThatIsReported() {
    for (String filler : new String[] {"a", "aa", "\uD83D\uDE00", "a\uD83D\uDE00", "\uD83D"}) {
      StringBuilder group = new StringBuilder(filler);
      while (group.length() < 300) {
        group.append("\uD83D\uDE00");
      }
      String key = key("spark.jobGroup.id", group.toString()).key;
      assertEquals(key, Fact.key(key));
      assertEquals(key, Fact.timeless("job_submitted").withKey("job", key).get("job"));
      assertEquals(filler.equals("\uD83D"), key.contains("?"));
      assertTrue(key.length() == 255 || key.length() == 256);
    }
  }

  @Test
  void optionsAreLocalProperties() {
    JobKey job = key("spark.grasshopper.weight", "5", "spark.grasshopper.copies.enabled", "false",
        "spark.grasshopper.mode", "shadow", "sql.streaming.queryId", "q");
    assertEquals(5, job.weight);
    assertFalse(job.copiesEnabled);
    assertEquals("shadow", job.mode);
    assertTrue(job.isStreaming);
    assertEquals("", job.misread);
    assertEquals("", key("spark.grasshopper.mode", "off").misread);
  }

  @Test
  void optionsAreReadHoweverTheyAreSpelled() {
    JobKey job = key("spark.grasshopper.copies.enabled", "False", "spark.grasshopper.mode", "Shadow");
    assertFalse(job.copiesEnabled);
    assertEquals("shadow", job.mode);
    assertTrue(key("spark.grasshopper.copies.enabled", "True").copiesEnabled);
    assertEquals("control", key("spark.grasshopper.mode", "CONTROL").mode);
  }

  @Test
  void boundsAreReadAsSparkReadsDurationsAndShares() {
    JobKey exact = key();
    assertEquals("-1 0 ''", exact.deadlineMs + " " + exact.errorBound + " '" + exact.lateJob + "'");
    JobKey bounded = key("spark.grasshopper.deadline", "5min", "spark.grasshopper.error.bound", "0.1",
        "spark.grasshopper.late.job", "Kill");
    assertEquals("300000 100000 'kill'", bounded.deadlineMs + " " + bounded.errorBound + " '" + bounded.lateJob + "'");
    assertEquals(1500, key("spark.grasshopper.deadline", "1500").deadlineMs);
    assertEquals(0, key("spark.grasshopper.error.bound", "0.0").errorBound);
    assertEquals("", bounded.misread + exact.misread);
  }

  @Test
  void boundsThatCannotBeReadAreNone() {
    for (String text : new String[] {"soon", "0s", "-1", "-5s", "1e3", "99999999999d"}) {
      JobKey job = key("spark.grasshopper.deadline", text);
      assertEquals(-1, job.deadlineMs);
      assertEquals(" spark.grasshopper.deadline=" + text + " counts as none;", job.misread);
    }
    for (String text : new String[] {"1", "0.9999999", "-0.1", "NaN", "5%"}) {
      JobKey job = key("spark.grasshopper.error.bound", text);
      assertEquals(0, job.errorBound);
      assertEquals(" spark.grasshopper.error.bound=" + text + " counts as 0;", job.misread);
    }
    JobKey job = key("spark.grasshopper.late.job", "perhaps");
    assertEquals("keep", job.lateJob);
    assertEquals(" spark.grasshopper.late.job=perhaps counts as keep;", job.misread);
  }

  @Test
  void aSpeculatorIsNamedAsItIsWritten() {
    assertEquals("", key().speculator);
    assertEquals("shed-plus", key("spark.grasshopper.speculator", "shed-plus").speculator);
    for (String text : new String[] {"hopper+ras", "ras,grass", "two words", String.join("", Collections.nCopies(65, "x"))}) {
      JobKey job = key("spark.grasshopper.speculator", text);
      assertEquals("", job.speculator);
      assertEquals(" spark.grasshopper.speculator=" + text + " counts as none;", job.misread);
    }
  }

  @Test
  void nonsenseAllowsTheLeast() {
    JobKey job = key("spark.grasshopper.weight", "much", "spark.grasshopper.mode", "ON", "spark.grasshopper.copies.enabled", "no");
    assertEquals(1, job.weight);
    assertEquals("off", job.mode);
    assertFalse(job.copiesEnabled);
    assertEquals(1000, key("spark.grasshopper.weight", "999999").weight);
    assertEquals(" spark.grasshopper.weight=much counts as 1; spark.grasshopper.copies.enabled=no counts as false;"
        + " spark.grasshopper.mode=on counts as off;", job.misread);
  }
}
