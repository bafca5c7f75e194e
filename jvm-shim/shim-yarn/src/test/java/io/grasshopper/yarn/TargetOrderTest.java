// Does an order of applications follow plans forward only, and one application at a time?
package io.grasshopper.yarn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class TargetOrderTest {
  private final List<Thread> movers = Collections.synchronizedList(new ArrayList<>());
  private final CountDownLatch begun = new CountDownLatch(1);
  private final CountDownLatch mayGoOn = new CountDownLatch(1);
  private final TargetOrder<App> order = new TargetOrder<>(new App.FieldHoldings() {
    @Override
    public int containers(App application) {
      movers.add(Thread.currentThread());
      begun.countDown();
      try {
        assertTrue(mayGoOn.await(10, TimeUnit.SECONDS));
      } catch (InterruptedException error) {
        throw new IllegalStateException(error);
      }
      return super.containers(application);
    }
  });

  @AfterEach
  void noPlan() {
    Plan.withdrawAll();
  }

  private static Plan grant(App application, int target) {
    Grant grant = new Grant(target, Grant.NO_CAP, 0, System.nanoTime() + 60_000_000_000L);
    Plan.grant(Collections.singletonMap(application.id, grant));
    return Plan.current();
  }

  /** Two threads of the scheduler may read two plans and come here in the other order. */
  @Test
  void anOlderPlanIsNotFollowed() {
    mayGoOn.countDown();
    App app = new App(1);
    order.add(app);
    Plan older = grant(app, 2);
    Plan newer = grant(app, 5);
    order.follow(newer);
    order.follow(older);
    assertSame(newer, order.plan());
    assertEquals(-5, order.inTurn().next().surplus);
  }

  @Test
  void aPlanAfterAllWereWithdrawnIsNewer() {
    mayGoOn.countDown();
    App app = new App(1);
    order.add(app);
    order.follow(grant(app, 2));
    Plan.withdrawAll();
    order.follow(grant(app, 3));
    assertEquals(-3, order.inTurn().next().surplus);
  }

  /** Callbacks come under locks of the scheduler, for which all of its threads may wait. */
  @Test
  void aCallbackWaitsForOneApplicationToMoveAndNotForAll() throws InterruptedException {
    Plan plan = Plan.NONE;
    App last = null;
    for (int number = 1; number <= 4; number++) {
      last = new App(number);
      order.add(last);
      plan = grant(last, 2);
    }
    Plan all = plan;
    App changed = last;
    Thread follower = new Thread(() -> order.follow(all));
    Thread callback = new Thread(() -> order.update(changed));
    follower.start();
    assertTrue(begun.await(10, TimeUnit.SECONDS));
    callback.start();
    while (callback.isAlive() && callback.getState() != Thread.State.WAITING) {
      Thread.sleep(1);
    }
    mayGoOn.countDown();
    follower.join();
    callback.join();
    assertSame(callback, movers.get(1));
  }

  @Test
  void onePlanMovesEachApplicationOnce() {
    mayGoOn.countDown();
    App app = new App(1);
    order.add(app);
    Plan plan = grant(app, 2);
    order.follow(plan);
    order.follow(plan);
    assertEquals(1, movers.size());
  }
}
