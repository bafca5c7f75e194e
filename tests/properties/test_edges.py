"""Do policies, formulas and estimators survive the inputs at the edges of what they are for? A case each.

Expectations follow from the definitions: who asks for nothing gets nothing, what never ends is infinite, and no answer
is nan.
"""

from collections.abc import Callable
from dataclasses import replace
from math import inf, isnan, nan

import numpy as np
import pytest

from controlplane.estimators.running import starting_s
from controlplane.estimators.tail_index import TailIndex
from controlplane.estimators.work_done import share_done
from controlplane.model.columns import Records
from controlplane.model.parameters import EngineSettings
from controlplane.model.reasons import Reason
from controlplane.policies.hopper.virtual_size import copy_multiplier
from controlplane.policies.redundancy.relaunch import relaunch_reason
from controlplane.policies.redundancy.theory.execution import plain
from controlplane.policies.redundancy.theory.order_statistics import order_statistic, slot_time
from controlplane.policies.redundancy.theory.queue import queueing_probability, response_time_s
from controlplane.policies.redundancy.theory.redundant_small import best_threshold_s, expanded, redundant_small
from controlplane.policies.redundancy.theory.relaunch import (
    best_common_factor,
    latency_optimal_factor,
    relaunched,
    straggler_relaunch,
)
from controlplane.policies.redundancy.theory.system import System
from controlplane.policies.redundancy.thresholds import best_factor, small_demand_s
from controlplane.policies.registry import TABLE, allocator, speculator
from controlplane.policies.row import Keeps, Kind
from controlplane.policies.seen import CLAIMANT, Seen
from controlplane.policies.whole_slots import whole, whole_up
from tests.scenario import Scenario
from tests.seen import running as running_tasks

pytestmark = pytest.mark.unit

Case = Callable[[], None]
CASES: dict[str, Case] = {}

ALLOCATORS = [row for row in TABLE if row.kind is Kind.ALLOCATOR]
SPECULATORS = [row for row in TABLE if row.kind is Kind.SPECULATOR]
SYSTEM = System()
TWICE = expanded(SYSTEM, 2.0)
SMALL = {"attempts_at_start": 2.0, "max_tasks": 10.0, "min_service_s": 10.0, "service_tail_index": 3.0}
PRINTED = {"fairness_epsilon": 1.0, "round_up": 0.0}
"""Hopper without a promise of fairness, rounding down."""


def case(check: Case) -> Case:
    """Make a check a case, under its name."""
    CASES[check.__name__.replace("_", " ")] = check
    return check


def jobs(tasks: list[float], tail_index: float = 1.5) -> Records:
    """Jobs of so many waiting tasks of a second each, in order of arrival; each task may have two slots."""
    claimants = np.zeros(len(tasks), dtype=CLAIMANT)
    claimants["arrival_s"], claimants["weight"], claimants["transfer_ratio"] = np.arange(len(tasks)), 1.0, 1.0
    claimants["remaining_tasks"], claimants["remaining_work_s"], claimants["tail_index"] = tasks, tasks, tail_index
    claimants["usable"] = claimants["foreseen"] = 2 * np.array(tasks, dtype=np.int64)
    claimants["fixed_target"], claimants["fixed_cap"] = -1, -1
    return claimants


def running(t_rem_s: list[float], t_new_s: list[float]) -> Seen:
    """Running tasks of one stage, a minute old and equally fast, in a full pool."""
    return running_tasks(
        t_rem_s,
        t_new_s,
        expected_s=t_new_s,
        service_s=t_new_s,
        elapsed_s=60.0,
        attempts_started=1,
        pools={"slots": 10},
        jobs={"tasks": len(t_rem_s)},
        stages={"prepared": 3.0},
    )


def targets(name: str, slots: int, claimants: Records, settings: dict[str, float] | None = None) -> list[int]:
    """What an allocator gives to each."""
    return allocator(name).allocate(slots, claimants, settings or {})["target"].tolist()


def small_at(load: float, slots: int = 200, tail_index: float = 3.0) -> float:
    """The best threshold of `redundant-small` in a live pool."""
    return small_demand_s(SMALL, slots, load, tail_index)


@case
def zero_jobs() -> None:
    """Nobody to serve and nothing to copy."""
    assert all(len(row.allocate(9, jobs([]))) == 0 for row in ALLOCATORS)
    assert all(len(row.speculate(running([], []))) == 0 for row in SPECULATORS)


@case
def zero_tasks() -> None:
    """A job without tasks gets no slot; no time is the best to relaunch none of them."""
    assert all(targets(row.name, 9, jobs([0.0, 2.0]))[0] == 0 for row in ALLOCATORS)
    assert best_factor(0, 3.0) == inf


@case
def zero_slots() -> None:
    """None can be given; a pool that has lost its executors has a threshold all the same."""
    assert all(targets(row.name, 0, jobs([3.0, 4.0])) == [0, 0] for row in ALLOCATORS)
    assert small_at(0.2, slots=0) == small_at(0.2, slots=1)


@case
def fewer_slots_than_jobs() -> None:
    """All slots are used, and under Hopper by the smallest jobs."""
    many = jobs([5.0, 4.0, 3.0, 2.0, 1.0])
    assert all(sum(targets(row.name, 2, many)) == 2 for row in ALLOCATORS if Keeps.WORK_CONSERVING in row.keeps)
    assert targets("hopper", 2, many, PRINTED) == [0, 0, 0, 1, 1]


@case
def slots_are_the_sum_of_virtual_sizes() -> None:
    """Both guidelines give each its virtual size, 4/3 slots a task; one slot less is the larger job's loss."""
    assert targets("hopper", 12, jobs([3.0, 6.0]), PRINTED) == [4, 8]
    assert targets("hopper", 11, jobs([3.0, 6.0]), PRINTED) == [4, 7]


@case
def ties_of_jobs() -> None:
    """Of equal jobs the one that came first has the only slot, whatever the rows; at one moment the upper row."""
    for row in ALLOCATORS:
        assert targets(row.name, 1, jobs([2.0, 2.0, 2.0])) == [1, 0, 0], row.name
        assert targets(row.name, 1, jobs([2.0, 2.0, 2.0])[::-1].copy()) == [0, 0, 1], row.name
        at_once = jobs([2.0, 2.0, 2.0])
        at_once["arrival_s"] = 5.0
        assert targets(row.name, 1, at_once) == [1, 0, 0], row.name


@case
def ties_of_tasks() -> None:
    """Equal tasks score alike; where only one may have a copy, it is the upper row's."""
    view = running([50.0, 50.0, 50.0, 50.0, 9.0], [5.0] * 5)
    view.tasks["progress_rate"] = [0.1, 0.1, 0.1, 0.1, 1.0]
    for row in SPECULATORS:
        answer = row.speculate(view)
        assert len(set(answer["score"][:4].tolist())) == 1, row.name
        assert sorted(answer["copies"][:4], reverse=True) == answer["copies"][:4].tolist(), row.name
    one = speculator("late").speculate(view, {"copy_share": 0.1, "slow_task_share": 1.0})
    assert one["copies"].tolist() == [True, False, False, False, False]


@case
def floors_and_ceilings_of_floats() -> None:
    """29 of 100, 110 of 100 times 1.1, and 5 slots for three tasks at 2 / 1.2: none loses or wins one by rounding."""
    assert (whole(slots=0.29 * 100), whole_up(slots=100 * 1.1)) == (29, 110)
    assert targets("hopper", 10, jobs([3.0, 3.0], tail_index=1.2), PRINTED) == [5, 5]


@case
def tail_index_up_to_1() -> None:
    """2 / tail_index goes on growing; what is no positive number claims a slot a task."""
    assert [copy_multiplier(tail_index=each, cap=16.0) for each in (1.0, 0.5, 0.01)] == [2.0, 4.0, 16.0]
    assert [copy_multiplier(tail_index=each, cap=16.0) for each in (0.0, -1.0, nan)] == [1.0, 1.0, 1.0]


@case
def tail_index_from_2() -> None:
    """Never fewer slots than tasks, however light the tail; learned from equal durations it is a number."""
    assert [copy_multiplier(tail_index=each, cap=16.0) for each in (2.0, 9.0, inf)] == [1.0, 1.0, 1.0]
    assert targets("hopper", 6, jobs([2.0, 4.0], tail_index=inf), PRINTED) == [2, 4]
    learned = TailIndex()
    for _ in range(100):
        learned.observe(1.0)
    assert 2.0 < learned.estimate().tail_index < inf


@case
def slowdown_tail_index_up_to_1() -> None:
    """No mean without spare tasks, so a relaunch cannot be reckoned, and no policy of it or of copies is refused."""
    system = replace(SYSTEM, slowdown_tail_index=1.0)
    assert (order_statistic(5, 5, 1.0), slot_time(5, 5, 1.0)) == (inf, inf)
    assert latency_optimal_factor(10, 1.0) == best_factor(10, 0.7) == best_common_factor(system, 0.5) == inf
    assert {small_at(load, tail_index=each) for load in (0.0, 0.5, 0.99) for each in (0.3, 1.0)} <= {0.0, inf}


@case
def slowdown_tail_index_up_to_2() -> None:
    """No second moment: jobs without copies wait for ever by (11), so all start with copies, or none."""
    assert plain(5, 2.0).latency < plain(5, 2.0).latency_squared == inf
    assert {small_at(load, tail_index=2.0) for load in (0.1, 0.5, 0.95)} <= {0.0, inf}


@case
def infinite_moments() -> None:
    """Said as infinite, neither as nan nor by an exception; then no threshold is better than none."""
    heavy = replace(SYSTEM, service_tail_index=2.0)
    assert response_time_s(heavy, 0.5, redundant_small(heavy, 2.0, inf)) == inf
    assert best_threshold_s(heavy, 0.5, expanded(heavy, 2.0)) == 0.0


@case
def load_of_1_and_more() -> None:
    """The queue grows without end, so nothing is expanded; a relaunch that saves slot time has a little room left."""
    for load in (1.0, 1.2, 50.0, inf):
        assert response_time_s(SYSTEM, load, redundant_small(SYSTEM, 2.0, 0.0)) == inf
        assert best_threshold_s(SYSTEM, load, TWICE) == small_at(load) == 0.0
    best = best_common_factor(SYSTEM, 1.0)
    assert response_time_s(SYSTEM, 1.0, straggler_relaunch(SYSTEM, [best] * 10)) < inf
    assert [best_common_factor(SYSTEM, load) for load in (1.2, inf)] == [inf, inf]


@case
def load_of_0() -> None:
    """Nobody waits: redundancy for all is best, and the factor of the least latency."""
    assert response_time_s(SYSTEM, 0.0, redundant_small(SYSTEM, 2.0, 0.0)) == pytest.approx(29.9557, abs=5e-5)
    assert best_threshold_s(SYSTEM, 0.0, TWICE) == small_at(0.0) == inf
    best, others = best_common_factor(SYSTEM, 0.0), np.geomspace(1.0, 40.0, 200)
    least = min(straggler_relaunch(SYSTEM, [float(factor)] * 10).latency for factor in others)
    assert straggler_relaunch(SYSTEM, [best] * 10).latency <= least


@case
def servers_that_are_not_whole_and_thousands() -> None:
    """Between those of the whole numbers around; no power overflows."""
    chances = [queueing_probability(servers, 0.8) for servers in (3.0, 3.5, 4.0)]
    assert sorted(chances, reverse=True) == chances
    assert 0.0 < queueing_probability(5000.0, 0.999) < 1.0
    assert small_at(0.5, slots=100_000) == inf


@case
def threshold_below_every_demand() -> None:
    """As if there were no small jobs: the least demand is one task of the least service time."""
    assert redundant_small(SYSTEM, 2.0, 9.99) == redundant_small(SYSTEM, 2.0, 0.0)


@case
def threshold_without_end() -> None:
    """All jobs are small."""
    assert redundant_small(SYSTEM, 2.0, inf).latency == pytest.approx(18.4041, abs=5e-5)


@case
def relaunch_factor_of_0() -> None:
    """Everything is redrawn at once: as if nothing had been."""
    assert relaunched(5, 0.0, 3.0) == plain(5, 3.0)


@case
def relaunch_factor_up_to_1() -> None:
    """All tasks have run in vain for so long."""
    found, untouched = relaunched(5, 0.5, 3.0), plain(5, 3.0)
    assert (found.latency, found.cost) == pytest.approx((untouched.latency + 0.5, untouched.cost + 2.5))
    assert relaunch_reason(elapsed_s=2.0, expected_s=4.0, attempts_started=1, factor=0.5) == Reason.RELAUNCHED


@case
def relaunch_factor_without_end() -> None:
    """Never."""
    assert relaunched(5, inf, 3.0) == plain(5, 3.0)
    assert relaunch_reason(elapsed_s=inf, expected_s=4.0, attempts_started=1, factor=inf) == Reason.NOT_LONG_ENOUGH


@case
def progress_0() -> None:
    """Half of no progress says nothing of the rest: an attempt is judged by its age, which is a number."""
    assert share_done(work=0.0, total=1000.0) == 0.0
    assert starting_s(elapsed_s=4.0, startup_s=4.0, tail_index=1.5) == 8.0
    assert 0.0 < time_left_s(bytes_read=0) < inf


@case
def progress_1() -> None:
    """All is read and the end not reported: that says nothing of what is left, so the belief of all stages stands."""
    assert share_done(work=2000.0, total=1000.0) == 1.0
    assert 0.0 <= time_left_s(bytes_read=1000) < 2 * EngineSettings().startup_prior_s


@case
def progress_of_nothing_to_read() -> None:
    """A share of no input is no share, until there is work that its size does not explain."""
    assert isnan(share_done(work=0.0, total=0.0))
    assert share_done(work=1.0, total=0.0) == 1.0


@case
def a_copy_takes_as_long_as_what_is_left() -> None:
    """It would not end sooner: wanted neither for slot time nor on an idle slot, nor by probability."""
    view = running([7.0, 7.0], [7.0, 7.0])
    view.pools["idle"] = 5
    for name in ("ras", "mantri"):
        assert not speculator(name).speculate(view)["copies"].any(), name


@case
def saving_of_0() -> None:
    """As much slot time as waiting is no saving; on an idle slot it ends sooner."""
    view = running([14.0], [7.0])
    assert not speculator("ras").speculate(view)["copies"].any()
    view.pools["idle"] = 1
    assert speculator("ras").speculate(view)["reason"].tolist() == [Reason.ENDS_SOONER]


def time_left_s(bytes_read: int) -> float:
    """What the engine says of an attempt that has read so much of 1,000 bytes in three seconds."""
    scenario = Scenario()
    scenario.stage(1, input_bytes=1000)
    scenario.tell([scenario.started(0, 0)])
    for step in range(1, 31):
        scenario.now_s = step / 10
        scenario.tell(progress={0: min(bytes_read, 400 * step)})
    (attempt,) = scenario.scheduler.snapshot(scenario.now_s).pools[0].attempts
    return nan if attempt.t_rem_s is None else attempt.t_rem_s


@pytest.mark.parametrize("name", CASES)
def test_the_edges_are_survived(name):
    """One case each; its docstring says what must hold."""
    CASES[name]()
