"""Is the best schedule of a small job the best, how hard is it to find, and how far from it are GS and RAS?"""

from functools import cache
from itertools import combinations, combinations_with_replacement
from random import Random

import numpy as np
import pytest

from controlplane.policies.grass.theory.optimum import (
    SmallJob,
    Straggler,
    least_time_s,
    most_done,
    most_done_bound,
    most_done_by_attempts,
)
from tests.golden.grass_example import Example, Runs

pytestmark = pytest.mark.unit


def drawn(seed: int, running: int, waiting: int, slots: int, longest: int = 6) -> SmallJob:
    """Tasks of whole seconds; a straggler needs twice as long at most."""
    rng = Random(seed)
    stragglers = [Straggler(float(rng.randint(1, 2 * longest)), float(rng.randint(1, longest))) for _ in range(running)]
    waiting_s = tuple(float(rng.randint(1, longest)) for _ in range(waiting))
    return SmallJob(slots=slots, running=tuple(stragglers), waiting_s=waiting_s)


def played(job: SmallJob, policy: str, deadline_s: float) -> int:
    """Tasks that a policy has done by the deadline, by the shipped rules."""
    example = Example(
        policy=policy,
        slots=job.slots,
        done=0,
        running=[Runs([task.t_rem_s], task.t_new_s) for task in job.running],
        waiting_s=list(job.waiting_s),
        deadline_s=deadline_s,
    )
    return example.play().done


@cache
def by_the_clock(now_s: float, busy_s: tuple, running: tuple, waiting_s: tuple, slots: int, deadline_s: float) -> int:
    """Most tasks done if any slot may start anything, or nothing, at any second."""
    if now_s >= deadline_s:
        return 0
    then_s = now_s + 1.0
    left = tuple(task for task in running if task.t_rem_s > then_s)
    still_busy_s = tuple(end_s for end_s in busy_s if end_s > then_s)
    found = [len(running) - len(left) + by_the_clock(then_s, still_busy_s, left, waiting_s, slots, deadline_s)]
    if slots > len(busy_s) + len(running):
        for at, takes_s in enumerate(waiting_s):
            others_s, end_s = waiting_s[:at] + waiting_s[at + 1 :], now_s + takes_s
            after = by_the_clock(now_s, (*busy_s, end_s), running, others_s, slots, deadline_s)
            found.append((end_s <= deadline_s) + after)
        for at, task in enumerate(running):
            others, end_s = running[:at] + running[at + 1 :], now_s + task.t_new_s
            if end_s < task.t_rem_s:
                after = by_the_clock(now_s, (*busy_s, end_s, end_s), others, waiting_s, slots, deadline_s)
                found.append((end_s <= deadline_s) + after)
    return max(found)


@pytest.mark.parametrize("seed", range(40))
def test_no_schedule_by_the_clock_does_more_or_less(seed):
    """The search decides at ends alone and never waits; another one tries every second, with waiting."""
    job = drawn(seed, running=1 + seed % 2, waiting=3, slots=2 + seed % 2, longest=4)
    for deadline_s in (2.0, 4.0, 6.0):
        tried = by_the_clock(0.0, (), job.running, job.waiting_s, job.slots, deadline_s)
        assert most_done(job, deadline_s) == tried


@pytest.mark.parametrize("tasks", [4, 5, 6])
def test_partition_is_a_case_of_it(tasks):
    """NP-hard without any copy: two slots do all by half of their time if and only if they part into equal sums."""
    divisible = 0
    for sizes in combinations_with_replacement(range(1, 6), tasks):
        half = sum(sizes) / 2
        parts = any(sum(part) == half for n in range(tasks) for part in combinations(sizes, n))
        job = SmallJob(slots=2, waiting_s=tuple(map(float, sizes)))
        assert (most_done(job, half) == tasks) is parts
        divisible += parts
    assert divisible > 10


@pytest.mark.parametrize("seed", range(100))
def test_no_schedule_does_more_than_the_bound(seed):
    """It knows no order and no ends, only slot time."""
    job = drawn(seed, running=seed % 3, waiting=5, slots=3)
    for deadline_s in (3.0, 6.0, 9.0):
        assert most_done(job, deadline_s) <= most_done_bound(job, deadline_s)


def test_the_bound_is_often_met():
    """Else it would say little."""
    jobs = [drawn(seed, running=1, waiting=5, slots=2) for seed in range(100)]
    assert sum(most_done(job, 8.0) == most_done_bound(job, 8.0) for job in jobs) > 60


@pytest.mark.parametrize("slots", [2, 3])
@pytest.mark.parametrize("policy", ["gs", "ras"])
def test_without_stragglers_fewer_tasks_are_missed_than_there_are_slots(policy, slots):
    """Both start the shortest first. A next one, of p, fits on no slot: all are busy after deadline - p.

    The best schedule has the same tasks and others of p or longer, in less than slots * p.
    """
    for seed in range(60):
        job = drawn(seed, running=0, waiting=7, slots=slots)
        for deadline_s in (4.0, 8.0):
            best = most_done(job, deadline_s)
            assert best - (slots - 1) <= played(job, policy, deadline_s) <= best


def test_with_stragglers_gs_and_ras_miss_a_task_at_times():
    """No bound is known. RAS is nearer where time is left, for GS's copies cost others; neither beats the best."""
    for running, waiting, slots in ((1, 5, 2), (2, 4, 3), (2, 5, 2)):
        jobs = [drawn(seed, running, waiting, slots) for seed in range(100)]
        missed = {policy: [most_done(job, 8.0) - played(job, policy, 8.0) for job in jobs] for policy in ("gs", "ras")}
        assert all(one >= 0 for policy in missed.values() for one in policy)
        assert sum(missed["ras"]) < sum(missed["gs"]) < len(jobs)


@cache
def with_all_attempts(now_s: int, begun: tuple, takes_s: tuple, slots: int, deadline_s: int) -> int:
    """Most tasks done if any slot may start, at any second, the next attempt of any task; none ends before its task.

    `begun` has for each task when its attempts started, or None once it is done.
    """
    ended = [
        starts is not None and any(at + takes <= now_s for at, takes in zip(starts, takes_s[task], strict=False))
        for task, starts in enumerate(begun)
    ]
    begun = tuple(None if ended[task] else starts for task, starts in enumerate(begun))
    found = [sum(starts is None for starts in begun)]
    if now_s >= deadline_s:
        return found[0]
    found.append(with_all_attempts(now_s + 1, begun, takes_s, slots, deadline_s))
    if sum(len(starts) for starts in begun if starts is not None) < slots:
        for task, starts in enumerate(begun):
            if starts is not None and len(starts) < len(takes_s[task]):
                more = (*begun[:task], (*starts, now_s), *begun[task + 1 :])
                found.append(with_all_attempts(now_s, more, takes_s, slots, deadline_s))
    return max(found)


def drawn_attempts(seed: int) -> tuple[np.ndarray, int]:
    """Three tasks with two attempts of whole seconds, or two with three; and one slot to three."""
    rng = Random(seed)
    shape = [(3, 2), (2, 3)][seed % 2]
    return np.array([[float(rng.randint(1, 5)) for _ in range(shape[1])] for _ in range(shape[0])]), 1 + seed % 3


@pytest.mark.parametrize("seed", range(30))
def test_no_schedule_of_attempts_is_better_than_the_bounds(seed):
    """By any deadline it does no more tasks, and none sooner than the least time."""
    attempts_s, slots = drawn_attempts(seed)
    takes_s = tuple(tuple(int(one) for one in task) for task in attempts_s)
    nothing: tuple = ((),) * len(takes_s)
    by_deadline = [with_all_attempts(0, nothing, takes_s, slots, deadline_s) for deadline_s in range(1, 9)]
    for deadline_s, done in enumerate(by_deadline, start=1):
        assert done <= most_done_by_attempts(attempts_s, slots, float(deadline_s))
        assert all(least_time_s(attempts_s, slots, needed) <= deadline_s for needed in range(done + 1))


def test_the_bounds_of_attempts_are_often_met():
    """Else they would say little: with slots for all attempts of all tasks, the bound is what can be done."""
    met = 0
    for seed in range(30):
        attempts_s, slots = drawn_attempts(seed)
        takes_s = tuple(tuple(int(one) for one in task) for task in attempts_s)
        best = with_all_attempts(0, ((),) * len(takes_s), takes_s, slots, 4)
        met += best == most_done_by_attempts(attempts_s, slots, 4.0)
    assert met > 15
    attempts_s = np.array([[5.0, 2.0], [1.0, 9.0], [9.0, 9.0]])
    assert most_done_by_attempts(attempts_s, 6, 3.0) == 2
    assert least_time_s(attempts_s, 6, 3) == 9.0
