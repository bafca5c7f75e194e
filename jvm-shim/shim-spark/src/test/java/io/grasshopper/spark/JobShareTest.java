// Does a share last exactly as long as something of its job does?
package io.grasshopper.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grasshopper.core.Guard;
import java.util.Properties;
import org.junit.jupiter.api.Test;

class JobShareTest {
  private static final JobKey JOB = JobKey.of(new Properties(), 7);

  private final Control control = new Control(new Guard(() -> { }), null, null, 4);

  /** A task set that ends when the test says so. */
  private static final class Set implements JobShare.Part {
    boolean over;

    @Override
    public boolean isOver() {
      return over;
    }

    @Override
    public int waiting() {
      return over ? 0 : 3;
    }
  }

  private JobShare running(Set set) {
    JobShare share = control.share(JOB);
    share.add(set);
    share.started(false);
    return share;
  }

  /** A loser may be killed long after its job has its result; nobody else will ever look for the share. */
  @Test
  void aShareGoesWithTheLastAttemptWhereTheJobEndsFirst() {
    Set set = new Set();
    JobShare share = running(set);
    control.grant(share, 4, -1, -1, 0, Long.MAX_VALUE);
    control.jobEnded(JOB.key);
    assertSame(share, control.share(JOB.key));
    assertFalse(control.hasGrants());
    set.over = true;
    control.attemptEnded(JOB.key, share, false);
    assertTrue(control.shares().isEmpty());
  }

  @Test
  void aShareGoesWithItsJobWhereNothingRunsAnyMore() {
    Set set = new Set();
    JobShare share = running(set);
    set.over = true;
    control.attemptEnded(JOB.key, share, false);
    assertSame(share, control.share(JOB.key), "the job's next stage will want it");
    control.jobEnded(JOB.key);
    assertTrue(control.shares().isEmpty());
  }

  /** A job group is used again and again, and its end may be heard late. */
  @Test
  void aShareLivesOnForTheNextJobOfItsKey() {
    Set first = new Set();
    Set second = new Set();
    JobShare share = running(first);
    control.jobEnded(JOB.key);
    assertSame(share, running(second));
    first.over = true;
    control.attemptEnded(JOB.key, share, false);
    assertSame(share, control.share(JOB));
    assertEquals(3, share.waiting());
  }

  /** What ends late must not take the share of a job that came after it. */
  @Test
  void aLateAttemptLeavesTheShareOfANewJobAlone() {
    Set set = new Set();
    JobShare old = running(set);
    control.jobEnded(JOB.key);
    set.over = true;
    control.attemptEnded(JOB.key, old, false);
    JobShare next = running(new Set());
    assertNotSame(old, next);
    control.attemptEnded(JOB.key, old, false);
    assertSame(next, control.share(JOB.key));
  }
}
