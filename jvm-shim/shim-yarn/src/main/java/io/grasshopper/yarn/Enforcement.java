// What does an order of applications alone not bring about? Reservations that go with a plan, and targets below what is held.
package io.grasshopper.yarn;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.Function;
import java.util.function.ToIntFunction;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.ContainerPreemptEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEventType;

/** Acts on containers of a queue of the CapacityScheduler, by the events that its own preemption uses. */
final class Enforcement {
  /** Of a queue's slots, at most this part is taken back at one tick. */
  private static final int TICKS_FOR_ALL = 10;

  private final RMContext context;

  Enforcement(RMContext context) {
    this.context = context;
  }

  /** Drops reservations that do not go with the plan: of applications at their caps, and in the way of one below its target. */
  void dropReservations(CoveredQueue queue) {
    Plan plan = Plan.current();
    long now = System.nanoTime();
    for (QueuedApplication application : queue.applications) {
      Grant grant = plan.of(application.id(), now);
      if (grant != null && application.running >= grant.cap) {
        // The scheduler serves reservations without asking an ordering policy.
        application.reserved.forEach(this::drop);
      }
    }
    makeWay(queue, application -> plan.of(application.id(), now));
  }

  /**
   * Drops reservations of others where they alone keep the first application below its target from nodes with room.
   *
   * <p>Reservations count against the queue's limit, and the scheduler's round ends with the first application that the limit
   * refuses. Those after it could give a reservation back for such a node, but are not asked. One that has reservations of its own
   * gives them back by itself.
   */
  private void makeWay(CoveredQueue queue, Function<QueuedApplication, Grant> grants) {
    ToIntFunction<QueuedApplication> surplus = application -> {
      Grant grant = grants.apply(application);
      return application.running - (grant == null ? 0 : grant.target);
    };
    queue.applications.stream()
        .filter(application -> surplus.applyAsInt(application) < 0 && application.pending > 0)
        .min(Comparator.<QueuedApplication>comparingDouble(application -> grants.apply(application).precedence)
            .thenComparingInt(surplus))
        .filter(first -> first.reserved.isEmpty())
        .ifPresent(first -> queue.applications.stream()
            .sorted(Comparator.comparingInt(surplus).reversed())
            .flatMap(application -> application.reserved.stream())
            .limit(Math.min(queue.barred(first.ask), Math.min(-surplus.applyAsInt(first), first.pending)))
            .forEach(this::drop));
  }

  /** Ends the newest containers of applications above their targets, as far as others below theirs wait for room. */
  void preempt(CoveredQueue queue) {
    Plan plan = Plan.current();
    long now = System.nanoTime();
    List<QueuedApplication> planned = new ArrayList<>();
    List<Grant> grants = new ArrayList<>();
    for (QueuedApplication application : queue.applications) {
      Grant grant = plan.of(application.id(), now);
      if (grant != null) {
        planned.add(application);
        grants.add(grant);
      }
    }
    int[] surplus = new int[grants.size()];
    int[] waiting = new int[grants.size()];
    for (int i = 0; i < surplus.length; i++) {
      surplus[i] = planned.get(i).running - grants.get(i).target;
      waiting[i] = planned.get(i).pending;
    }
    int[] taken = takenBack(surplus, waiting, queue.room(), (queue.slots() + TICKS_FOR_ALL - 1) / TICKS_FOR_ALL);
    for (int i = 0; i < taken.length; i++) {
      QueuedApplication application = planned.get(i);
      if (taken[i] > 0) {
        newest(queue.containers(application), taken[i]).forEach(
            container -> send(container, SchedulerEventType.MARK_CONTAINER_FOR_KILLABLE));
      }
    }
  }

  /**
   * How many containers each application gives back.
   *
   * @param surplus held minus target
   * @param waiting asked for besides
   * @param room containers that fit without anybody's loss
   * @param most in all
   */
  static int[] takenBack(int[] surplus, int[] waiting, long room, long most) {
    long wanted = -room;
    for (int i = 0; i < surplus.length; i++) {
      wanted += Math.min(Math.max(0, -surplus[i]), waiting[i]);
    }
    long left = Math.max(0, Math.min(wanted, most));
    int[] taken = new int[surplus.length];
    for (int i = 0; i < surplus.length; i++) {
      taken[i] = (int) Math.min(Math.max(0, surplus[i]), left);
      left -= taken[i];
    }
    return taken;
  }

  static List<RMContainer> newest(List<RMContainer> containers, int count) {
    containers.sort(Comparator.comparingLong(RMContainer::getCreationTime).reversed());
    return containers.subList(0, Math.min(count, containers.size()));
  }

  private void drop(RMContainer reservation) {
    send(reservation, SchedulerEventType.KILL_RESERVED_CONTAINER);
  }

  @SuppressWarnings("unchecked")
  private void send(RMContainer container, SchedulerEventType what) {
    context.getDispatcher().getEventHandler().handle(
        new ContainerPreemptEvent(container.getApplicationAttemptId(), container, what));
  }
}
