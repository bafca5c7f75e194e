"""How many tasks can be done before a deadline at best? Every schedule of a small job, by exhaustive search.

All times are known, a task that runs at the beginning may get one copy, and nothing is killed but the loser of a race.
That is NP-hard, even without copies: two slots do all tasks by half of their total time only if these can be divided
into two equal sums (PARTITION). So the search is for small jobs, and for others there are bounds, two of which know
what each attempt of a task would take.
Source: GRASS (NSDI'14), section 2.2.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate
from math import inf
from typing import TypeVar

import numpy as np

from controlplane.model.columns import Floats
from controlplane.policies.whole_slots import TOLERANCE

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Straggler:
    """A running task with one attempt: what that needs yet, and what a copy would take.  Units: seconds."""

    t_rem_s: float
    t_new_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallJob:
    """Tasks of a job that are not done."""

    slots: int
    """Those of running tasks included."""
    running: tuple[Straggler, ...] = ()
    waiting_s: tuple[float, ...] = ()
    """What each waiting task takes."""


def most_done(job: SmallJob, deadline_s: float) -> int:
    """The most tasks that any schedule finishes by the deadline, from now.

    A free slot takes at once what it takes next, for a later start helps nobody: so the search decides at ends alone.
    Only running tasks get copies: any other's would take as long as the task.

    >>> most_done(SmallJob(slots=2, running=(Straggler(5.0, 2.0),), waiting_s=(1.0,) * 6 + (3.0,)), deadline_s=5.0)
    7
    """
    free_s = (0.0,) * (job.slots - len(job.running))
    state = _State(free_s=free_s, running=job.running, waiting_s=tuple(sorted(job.waiting_s)))
    return _most_done(state, deadline_s)


def most_done_bound(job: SmallJob, deadline_s: float) -> int:
    """At least `most_done`, without a search: as many tasks as the slots' time until the deadline is enough for.

    A running task costs its t_rem_s, with a copy at least 2 t_new_s, and the whole time on its slot if it does not end.

    >>> most_done_bound(SmallJob(slots=2, running=(Straggler(5.0, 2.0),), waiting_s=(1.0,) * 7), deadline_s=5.0)
    7
    """
    left_s = job.slots * deadline_s
    costs_s = [cost_s for cost_s in job.waiting_s if cost_s <= deadline_s]
    for task in job.running:
        left_s -= deadline_s
        if min(task.t_rem_s, task.t_new_s) <= deadline_s:
            costs_s.append(min(task.t_rem_s if task.t_rem_s <= deadline_s else inf, 2.0 * task.t_new_s) - deadline_s)
    return sum(spent_s <= left_s + TOLERANCE * deadline_s for spent_s in accumulate(sorted(costs_s)))


def most_done_by_attempts(attempts_s: Floats, slots: int, deadline_s: float) -> int:
    """An upper bound on the tasks of a job that any schedule without kills ends by the deadline.

    `attempts_s`, (n_tasks, n_attempts), is what each attempt of each task would take, in the order in which they start.
    An attempt that ends its task has started no sooner than those before it, none of which ends before: all have run
    for at least as long as it has. So a task that the n-th ends costs n times what that takes, which is no more than
    the deadline. All tasks that are done in time have spent no more than the slots' time up to it.  Units: seconds.

    >>> most_done_by_attempts(np.array([[1.0, 5.0], [9.0, 2.0], [9.0, 9.0]]), slots=2, deadline_s=3.0)
    2
    >>> most_done_by_attempts(np.array([[1.0, 5.0], [9.0, 2.0], [9.0, 9.0]]), slots=1, deadline_s=3.0)
    1
    """
    costs_s = _least_costs_s(np.where(attempts_s <= deadline_s * (1.0 + TOLERANCE), attempts_s, inf))
    return int((np.cumsum(costs_s) <= slots * deadline_s * (1.0 + TOLERANCE)).sum())


def least_time_s(attempts_s: Floats, slots: int, needed: int) -> float:
    """A lower bound on the time in which any schedule without kills ends `needed` tasks of a job.  Units: seconds.

    By then each of them has had its fastest attempt, and all have cost as much as in `most_done_by_attempts`.

    >>> least_time_s(np.array([[1.0, 5.0], [9.0, 2.0], [9.0, 9.0]]), slots=2, needed=2)
    2.5
    """
    if needed == 0:
        return 0.0
    fastest_s, costs_s = np.sort(attempts_s.min(axis=1)), _least_costs_s(attempts_s)
    return max(float(fastest_s[needed - 1]), float(costs_s[:needed].sum()) / slots)


def _least_costs_s(attempts_s: Floats) -> Floats:
    """The slot time that each task costs at least, ascending; infinite for one that no attempt ends."""
    return np.sort((attempts_s * np.arange(1, attempts_s.shape[1] + 1)).min(axis=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """When slots come free, the running tasks without a copy, with their ends for t_rem_s, and the waiting ones."""

    free_s: tuple[float, ...]
    running: tuple[Straggler, ...]
    waiting_s: tuple[float, ...]


@cache
def _most_done(state: _State, deadline_s: float) -> int:
    now_s = min(state.free_s, default=inf)
    first_s = min((task.t_rem_s for task in state.running), default=inf)
    if min(now_s, first_s) > deadline_s:
        return 0
    if first_s <= now_s:
        ended = next(task for task in state.running if task.t_rem_s == first_s)
        free_s = _in_order(state.free_s, first_s)
        return 1 + _most_done(replace(state, free_s=free_s, running=_without(state.running, ended)), deadline_s)
    return max(done + _most_done(after, deadline_s) for done, after in _choices(state, deadline_s))


def _choices(state: _State, deadline_s: float) -> Iterator[tuple[int, _State]]:
    """What the first free slot may do: nothing more, a waiting task, or a copy; and how many tasks that finishes."""
    now_s, free_s = state.free_s[0], state.free_s[1:]
    yield 0, replace(state, free_s=free_s)
    for takes_s in set(state.waiting_s):
        if now_s + takes_s <= deadline_s:
            waiting_s = _without(state.waiting_s, takes_s)
            yield 1, replace(state, free_s=_in_order(free_s, now_s + takes_s), waiting_s=waiting_s)
    for task in set(state.running):
        end_s = now_s + task.t_new_s
        if end_s < task.t_rem_s and end_s <= deadline_s:
            yield 1, replace(state, free_s=_in_order(free_s, end_s, end_s), running=_without(state.running, task))


def _in_order(times_s: tuple[float, ...], *more_s: float) -> tuple[float, ...]:
    return tuple(sorted(times_s + more_s))


def _without(every: tuple[T, ...], one: T) -> tuple[T, ...]:
    at = every.index(one)
    return every[:at] + every[at + 1 :]
