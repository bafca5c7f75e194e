// What does an ordering policy need to know of an application?
package io.grasshopper.yarn;

import java.lang.reflect.Field;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplicationAttempt;
import org.apache.hadoop.yarn.util.resource.Resources;

/** Reads applications without a lock, because it is asked for each container that is placed. */
interface Holdings<S> {
  ApplicationId id(S application);

  /** Live containers, its master's not counted. */
  int containers(S application);

  /** Whether its next container is its master's, which no cap holds back. */
  boolean awaitsMaster(S application);

  /** Whether it waits for any container; the scheduler would offer one to the others in vain. */
  boolean asks(S application);

  /** Reads what both schedulers have as applications. */
  static <S> Holdings<S> ofAttempts() {
    return new Holdings<S>() {
      @Override
      public ApplicationId id(S application) {
        return attempt(application).getApplicationId();
      }

      @Override
      public int containers(S application) {
        return executors(attempt(application));
      }

      @Override
      public boolean awaitsMaster(S application) {
        return attempt(application).isWaitingForAMContainer();
      }

      @Override
      public boolean asks(S application) {
        return !attempt(application).getSchedulerKeys().isEmpty();
      }

      private SchedulerApplicationAttempt attempt(S application) {
        return (SchedulerApplicationAttempt) application;
      }
    };
  }

  /**
   * Live containers of an attempt, its master's not counted. That need not be among them: an unmanaged master has none, executors
   * may outlive their attempt, and they may be back before their master after a restart of the ResourceManager.
   * The master of an earlier attempt counts for as long as it runs on.
   */
  static int executors(SchedulerApplicationAttempt attempt) {
    return attempt.getLiveContainersMap().size() - (liveMaster(attempt) == null ? 0 : 1);
  }

  /** What these take together. */
  static Resource resources(SchedulerApplicationAttempt attempt) {
    Container master = liveMaster(attempt);
    return Resources.subtractNonNegative(
        attempt.getCurrentConsumption(), master == null ? Resources.none() : master.getResource());
  }

  /** The master's container; null where it is not among the live ones. */
  static Container liveMaster(SchedulerApplicationAttempt attempt) {
    Container master = attempt.getUnmanagedAM() ? null : Master.of(attempt);
    return master != null && attempt.getLiveContainersMap().containsKey(master.getId()) ? master : null;
  }

  /** Knows the master's container without a look at all others, each of which would take its lock. */
  final class Master {
    private static final Field ATTEMPT = attempt();

    private Master() {}

    private static Field attempt() {
      try {
        Field attempt = SchedulerApplicationAttempt.class.getDeclaredField("appAttempt");
        attempt.setAccessible(true);
        return attempt;
      } catch (NoSuchFieldException error) {
        throw new NoSuchFieldError(error.getMessage());
      }
    }

    static Container of(SchedulerApplicationAttempt attempt) {
      try {
        return ((RMAppAttempt) ATTEMPT.get(attempt)).getMasterContainer();
      } catch (IllegalAccessException error) {
        throw new IllegalStateException(error);
      }
    }
  }
}
