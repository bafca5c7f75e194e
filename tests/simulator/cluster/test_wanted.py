"""Do simulated slots go to the tasks that the engine would choose, of those that a speculator wants?"""

import numpy as np
import pytest

from controlplane.policies.answer import FURTHEST, SOONEST
from controlplane.simulator.cluster.scenario import ClusterScenario
from controlplane.simulator.cluster.state import ORIGINAL, State, empty_state
from controlplane.simulator.cluster.turns import next_restart
from controlplane.simulator.cluster.wanted import NO_TASK, keep_wanted, next_copy, note_restart_room

pytestmark = pytest.mark.unit

POLICY = ClusterScenario(policy="fair+relaunch")._policy(np.ones(1, dtype=np.int64))


def reviewed(score: list[float], kill: bool, target: int = 5, jobs: tuple[int, ...] = (0, 0, 0), **job) -> State:
    """Running tasks of these jobs, each of which a review wants to copy, or to start again."""
    state = empty_state(8, max(jobs) + 1)
    state.jobs["originals"] = state.jobs["most_copies"] = -1
    state.jobs["target"] = target
    state.jobs["running"] = state.jobs["n_started"] = state.jobs["n_tasks"] = np.bincount(jobs)
    for name, value in job.items():
        state.jobs[name] = value
    state.counts["n_active"] = len(state.jobs)
    state.slots["use"][: len(jobs)], state.slots["job"][: len(jobs)] = ORIGINAL, jobs
    state.task_slots[: len(jobs)] = np.arange(len(jobs))
    answer = state.speculation[: len(jobs)]
    answer["copies"], answer["kill"], answer["score"] = 1, kill, score
    keep_wanted(state, len(jobs))
    note_restart_room(state)
    return state


@pytest.mark.parametrize(("keep", "kept"), [(SOONEST, 1), (FURTHEST, 0)])
def test_all_attempts_but_the_one_that_is_kept_are_marked_for_their_end(keep, kept):
    """Of three: the original is ahead, the older copy ends first. None is while one of them cannot be judged."""
    for last, marked in ((2, {0, 1, 2} - {kept}), (-1, set())):
        state = empty_state(8, 1)
        state.counts["n_active"] = 1
        one = state.slots
        one["use"][0], one["newest"][0], one["older"][2], one["older"][1] = ORIGINAL, 2, 1, -1
        one["last"][0], one["soonest"][0], one["furthest"][0] = last, 1, 0
        state.speculation["keep"][0] = keep
        keep_wanted(state, 1)
        assert set(np.flatnonzero(one["beaten"]).tolist()) == marked
        assert state.counts["n_beaten"][0] == len(marked)


def restarted(state: State) -> list[int]:
    """Tasks in the order in which they are started again, as far as that goes."""
    found: list[int] = []
    while (task := next_restart(POLICY, state)) != NO_TASK:
        slot = state.slots[state.task_slots[task]]
        slot["restarts"] = False
        state.jobs[slot["job"]]["restart_room"] -= 1
        found.append(int(task))
    return found


@pytest.mark.parametrize(("target", "tasks"), [(6, [1, 2, 0]), (5, [1, 2]), (3, [1]), (2, [1])])
def test_as_many_restarts_as_the_target_leaves_slots_and_one_in_any_case(target, tasks):
    """Three attempts run. Each restart gives its slot back; the highest score goes first, of equal ones the upper."""
    assert restarted(reviewed([1.0, 3.0, 3.0], kill=True, target=target)) == tasks


def test_the_best_restart_of_all_jobs_goes_first():
    """Whichever job came first."""
    assert restarted(reviewed([1.0, 3.0, 2.0, 5.0], kill=True, jobs=(0, 0, 1, 1))) == [3, 1, 2, 0]


def test_a_copy_budget_bounds_restarts_too():
    """An attempt that takes another's place is a copy until the other has ended."""
    assert restarted(reviewed([1.0, 3.0, 2.0], kill=True, most_copies=0)) == []
    assert restarted(reviewed([1.0, 3.0, 2.0], kill=True, most_copies=1, copies=1)) == []
    assert restarted(reviewed([1.0, 3.0, 2.0], kill=True, most_copies=1)) == [1, 2]


def test_copies_go_by_score_and_what_is_no_longer_wanted_is_passed_over():
    """The task in the middle has ended since; of the equal ones the upper goes first."""
    state = reviewed([2.0, 3.0, 2.0, 4.0], kill=False, jobs=(0, 0, 0, 1))
    state.slots["wanted"][1] = 0
    assert next_copy(state, state.jobs[0]) == 0
    state.slots["wanted"][0] = 0
    assert [int(next_copy(state, state.jobs[row])) for row in (0, 1)] == [2, 3]
