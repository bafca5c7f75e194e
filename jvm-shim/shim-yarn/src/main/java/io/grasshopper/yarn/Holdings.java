// What does an ordering policy need to know of an application?
package io.grasshopper.yarn;

import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplicationAttempt;

/** Reads applications without a lock, because it is asked for each container that is placed. */
interface Holdings<S> {
  ApplicationId id(S application);

  /** Live containers, its master's not counted. */
  int containers(S application);

  /** Whether its next container is its master's, which no cap holds back. */
  boolean awaitsMaster(S application);

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

      private SchedulerApplicationAttempt attempt(S application) {
        return (SchedulerApplicationAttempt) application;
      }
    };
  }

  /** Live containers of an attempt, its master's not counted; an unmanaged master has none. */
  static int executors(SchedulerApplicationAttempt attempt) {
    int all = attempt.getLiveContainersMap().size();
    return attempt.getUnmanagedAM() ? all : Math.max(0, all - 1);
  }
}
