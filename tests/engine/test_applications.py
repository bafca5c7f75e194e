"""Do an application's driver and its queue's report make one whole, and only for as long as both belong together?"""

import math
from dataclasses import replace

import msgspec
import pytest

from controlplane.engine.budgets import Budgets
from controlplane.engine.decide import decide, read_snapshot
from controlplane.model import facts as f
from controlplane.model.cluster import SILENT_S
from controlplane.model.decisions import DecisionRecord
from controlplane.model.orders import ContainerGrant
from controlplane.model.parameters import EngineSettings
from controlplane.model.reasons import Action, Reason
from controlplane.model.snapshot import JobState
from tests.scenario import Scenario

pytestmark = pytest.mark.unit
CONTROL = EngineSettings(mode=f.Mode.CONTROL, allocator="hopper", allocator_settings={"fairness_epsilon": 1.0})
START_MS = 1_700_000_000_000
MINE, OTHER = f"application_{START_MS}_0001", f"application_{START_MS}_0002"
DRIVER, QUEUE, SECOND_QUEUE = f"spark:{MINE}", "yarn:c:root.q", "yarn:c:root.r"


class Whole(Scenario):
    """A driver of alice's, on four executors of two slots, and the queue of eight containers that it may be in."""

    def __init__(self, settings: EngineSettings = CONTROL, *, source: str = DRIVER, **more) -> None:
        super().__init__(settings, source=source, user="alice", **more)

    def listed(
        self, queue: str = QUEUE, *, user: str = "alice", start_ms: int = START_MS, **asked: tuple[int, int]
    ) -> dict[str, ContainerGrant]:
        """The queue reports applications as (running, pending) by id; returns its grants."""
        can = f.Capabilities(order_pending=True, hold_slots=True)
        applications = [
            f.QueuedApplication(job=id, user=user, running=running, pending=pending, age_ms=1000 - place)
            for place, (id, (running, pending)) in enumerate(asked.items())
        ]
        facts = [
            f.DriverAttached(application=queue, capabilities=can),
            f.QueueDemand(slots=8, applications=applications, cluster_unix_ms=start_ms),
        ]
        orders = self.tell(facts, full=True, source=queue).orders.get(queue, [])
        return {order.job: order for order in orders if isinstance(order, ContainerGrant)}

    def work(self, *n_tasks: int) -> None:
        """The driver begins one job of so many tasks each."""
        for stage, n in enumerate(n_tasks, start=1):
            self.stage(n, job=f"job {stage}", stage=stage)

    def state(self, id: str = MINE, source: str = QUEUE) -> JobState:
        """A job or application as the snapshot shows it."""
        (pool,) = (pool for pool in self.scheduler.snapshot(self.now_s).pools if pool.source == source)
        return next(job for job in pool.jobs if job.job == id)

    def joins(self) -> list[DecisionRecord]:
        """What was recorded about the driver's membership."""
        return [record for record in self.records() if record.action is Action.JOIN]

    def is_ordered(self) -> bool:
        """Whether a new job of the driver is claimed and granted slots."""
        self.now_s += 2.0
        before = len(self.scheduler.cluster.sources[self.source].jobs)
        decision = self.stage(4, job=f"job {before + 1}", stage=before + 1)
        assert bool(decision.claims[self.source]) == (self.source in decision.orders)
        return self.source in decision.orders


@pytest.mark.parametrize(("ratio", "factor"), [(4.0, 2.0), (0.0, 1.0), (math.inf, 1.0)])
def test_an_applications_virtual_size_is_the_sum_over_its_drivers_jobs_in_containers(ratio, factor):
    """Hopper, section 4.2: each job weighs its tasks with its own transfer ratio; two slots make a container."""
    whole = Whole()
    whole.work(6, 10)
    jobs = whole.scheduler.cluster.jobs
    rows = whole.scheduler.cluster.sources[DRIVER].jobs
    jobs.transfer_ratio[[rows["job 1"], rows["job 2"]]] = ratio, 0.25
    whole.listed(**{MINE: (1, 7)})
    per_task = max(2 / whole.state("job 1", DRIVER).tail_index, 1.0)
    assert whole.state().virtual_size == pytest.approx(per_task * (6 * factor + 10 * 0.5) / 2)


def test_the_application_with_less_to_do_goes_first_though_it_asks_for_more():
    """Containers asked for say little: what its driver's jobs still have to do decides."""
    whole = Whole()
    whole.work(2)
    grants = whole.listed(**{OTHER: (0, 6), MINE: (0, 8)})
    per_task = max(2 / whole.state("job 1", DRIVER).tail_index, 1.0)
    assert whole.state().virtual_size == pytest.approx(per_task * 2 / 2)
    assert grants[OTHER].target == 6
    assert grants[MINE].target == 2


def test_a_phase_that_follows_counts_for_who_goes_first():
    """Hopper's max(V, V'), in containers: a small job that feeds a large one is no small job."""
    whole = Whole(replace(CONTROL, allocator_settings={"fairness_epsilon": 1.0, "order_by_work": 0.0}))
    whole.work(2)
    whole.scheduler.cluster.jobs.downstream_tasks[whole.scheduler.cluster.sources[DRIVER].jobs["job 1"]] = 100
    assert whole.listed(**{MINE: (0, 8), OTHER: (0, 20)})[OTHER].target == 8


def test_nothing_is_given_beyond_what_is_asked_for():
    """YARN gives no container that nobody asks for, however much there is to do."""
    whole = Whole()
    whole.work(100)
    assert whole.listed(**{MINE: (1, 2), OTHER: (0, 20)})[MINE].target <= 3


def test_a_driver_without_jobs_wants_next_to_nothing():
    """What an idle session holds is no demand; yet it is not starved."""
    whole = Whole()
    grants = whole.listed(**{MINE: (4, 0), OTHER: (0, 20)})
    assert (whole.state().virtual_size, grants[MINE].target, grants[OTHER].target) == (0.0, 1, 7)


def test_slots_become_containers_by_what_the_driver_tells_until_executors_show_it():
    """Before the first executor is there, the configuration is all that is known."""
    whole = Whole(hosts=0)
    whole.tell([f.DriverAttached(application=MINE, user="alice", executor_slots=4)])
    whole.work(8)
    whole.listed(**{MINE: (0, 8)})
    told = whole.state().virtual_size
    whole.tell([f.ExecutorAdded(executor="e0", host="h0", slots=2)])
    whole.listed(**{MINE: (1, 7)})
    assert whole.state().virtual_size == pytest.approx(2 * told)


def test_an_application_counts_by_its_containers_once_its_driver_has_gone():
    """What a driver said last must not outlive it."""
    whole = Whole()
    whole.work(100)
    whole.listed(**{MINE: (2, 3)})
    assert whole.state().virtual_size > 5
    whole.tell([f.DriverDetached()])
    whole.listed(**{MINE: (2, 3)})
    assert whole.state().virtual_size == 5.0


@pytest.mark.parametrize("silent_s", [SILENT_S - 1, SILENT_S + 1])
def test_a_driver_that_falls_silent_counts_as_gone(silent_s):
    """Ten seconds are several reports."""
    whole = Whole()
    whole.work(100)
    whole.now_s = silent_s
    whole.listed(**{MINE: (2, 3)})
    assert (whole.state().virtual_size == 5.0) == (silent_s > SILENT_S)


def test_a_driver_that_uses_another_users_id_gets_no_orders_and_lends_it_no_size():
    """Recorded once, however often both report; and over when the queue says otherwise."""
    whole = Whole()
    whole.listed(user="bob", **{MINE: (2, 3)})
    assert not whole.is_ordered()
    assert not whole.is_ordered()
    assert [record.reason for record in whole.joins()] == [Reason.OTHER_USER]
    whole.listed(user="bob", **{MINE: (2, 3)})
    assert whole.state().virtual_size == 5.0
    whole.listed(**{MINE: (2, 3)})
    assert whole.is_ordered()
    assert [record.reason for record in whole.joins()] == [Reason.OTHER_USER, Reason.JOINED]


def test_a_driver_that_its_resource_manager_does_not_list_gets_no_orders():
    """Recorded once, and over as soon as it is listed."""
    whole = Whole()
    whole.listed(**{OTHER: (1, 1)})
    assert not whole.is_ordered()
    assert not whole.is_ordered()
    assert [record.reason for record in whole.joins()] == [Reason.UNLISTED]
    whole.listed(**{OTHER: (1, 1), MINE: (1, 1)})
    assert whole.is_ordered()


@pytest.mark.parametrize(
    ("source", "start_ms"),
    [
        pytest.param("spark:app-20261122000000-0001", START_MS, id="standalone"),
        pytest.param("spark:application_1700000000001_0001", START_MS, id="another cluster's"),
        pytest.param(DRIVER, 0, id="perhaps in a queue that does not report"),
    ],
)
def test_a_driver_that_no_resource_manager_need_know_is_steered_as_ever(source, start_ms):
    """A standalone cluster has none, and one that lists only some of its applications cannot tell."""
    whole = Whole(source=source)
    whole.listed(start_ms=start_ms, **{OTHER: (1, 1)})
    assert whole.is_ordered()
    assert whole.joins() == []


@pytest.mark.parametrize("how", ["good-bye", "silence"])
@pytest.mark.parametrize(("user", "id"), [("bob", MINE), ("alice", OTHER)])
def test_a_resource_manager_that_has_gone_forbids_nothing(user, id, how):
    """Its driver is then like one on a cluster without any."""
    whole = Whole()
    whole.listed(user=user, **{id: (1, 1)})
    assert not whole.is_ordered()
    if how == "silence":
        whole.now_s += SILENT_S
    else:
        whole.tell([f.DriverDetached()], source=QUEUE)
    assert whole.is_ordered()


def test_an_id_that_two_queues_list_is_joined_with_neither():
    """While it moves, or where two clusters gave the same id, nobody can say whose driver it is."""
    whole = Whole()
    whole.work(100)
    whole.listed(**{MINE: (2, 3)})
    whole.listed(SECOND_QUEUE, **{MINE: (1, 1)})
    whole.listed(**{MINE: (2, 3)})
    assert (whole.state().virtual_size, whole.state(source=SECOND_QUEUE).virtual_size) == (5.0, 2.0)
    assert whole.is_ordered()
    assert whole.joins()[-1].reason is Reason.LISTED_TWICE
    whole.listed(**{OTHER: (2, 3)})
    whole.listed(SECOND_QUEUE, **{MINE: (1, 1)})
    assert whole.state(source=SECOND_QUEUE).virtual_size > 2.0


def test_an_ended_application_is_forgotten_with_its_id():
    """A thousand applications a day must not add up."""
    whole = Whole()
    whole.listed(**{MINE: (2, 3), OTHER: (1, 1)})
    assert whole.scheduler.cluster.queued.keys() == {MINE, OTHER}
    whole.listed(**{OTHER: (1, 1)})
    assert whole.scheduler.cluster.queued.keys() == {OTHER}
    whole.tell([f.DriverDetached()], source=QUEUE)
    assert (whole.scheduler.cluster.queued, whole.scheduler.cluster.queues) == ({}, {})


@pytest.mark.parametrize("allocator", ["fifo", "fair", "srpt", "hopper"])
def test_grants_of_a_queue_never_exceed_its_slots(allocator):
    """Law 3, whatever drivers say of their jobs."""
    whole = Whole(replace(CONTROL, allocator=allocator, allocator_settings={}))
    whole.work(1000, 1)
    grants = whole.listed(**{MINE: (3, 20), OTHER: (3, 20)})
    assert sum(grant.target for grant in grants.values()) == 8


def test_the_snapshot_says_by_what_an_application_counts():
    """For whoever asks why it holds what it holds."""
    whole = Whole()
    whole.work(6, 10)
    whole.listed(**{MINE: (1, 7), OTHER: (2, 3)})
    mine, other = whole.state(), whole.state(OTHER)
    assert (mine.queued.driver, mine.queued.wanted, mine.queued.container_slots) == (DRIVER, 8.0, 2.0)
    assert (mine.remaining_tasks, mine.n_running, mine.queued.pending) == (16, 1, 7)
    assert mine.queued.sentence == "Its driver's jobs have 16 tasks to go, 2 at a time in one container."
    assert (other.queued.driver, other.queued.wanted, other.queued.reason) == ("", 5.0, "no_driver")
    whole.tell()
    driver = next(pool for pool in whole.scheduler.snapshot(0.0).pools if pool.source == DRIVER)
    assert (driver.listed.queue, driver.listed.reason, driver.is_queue) == (QUEUE, "joined", False)


@pytest.mark.parametrize("allocator", ["fifo", "fair", "hopper"])
@pytest.mark.parametrize("n_tasks", [(3, 5), ()])
def test_a_dump_of_a_queue_decides_as_the_engine_did(n_tasks, allocator):
    """`grasshopper decide` must not forget what applications are made of."""
    settings = replace(CONTROL, allocator=allocator, allocator_settings={})
    whole = Whole(settings)
    whole.work(*n_tasks)
    grants = whole.listed(**{MINE: (0, 7), OTHER: (1, 8)})
    dump = read_snapshot(msgspec.json.encode(whole.scheduler.snapshot(0.0)))
    advice = next(pool for pool in decide(dump, f"{allocator}+none", settings).pools if pool.source == QUEUE)
    assert {each.job: (each.target, each.virtual_size) for each in advice.targets} == {
        job: (grant.target, whole.state(job).virtual_size) for job, grant in grants.items()
    }


def test_a_queues_containers_allow_no_copies():
    """They are its drivers' slots, seen from the other side: counting them would double the copies that may run."""
    whole = Whole()
    whole.listed(**{MINE: (4, 0)})
    slots = Budgets.of(CONTROL, whole.scheduler.cluster, 0.0).slots_everywhere
    assert slots == 8
