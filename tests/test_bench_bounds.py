"""Do the benchmarks of bounded jobs mean what they say? They are measured rarely."""

import json
from itertools import pairwise

import pytest

from spark_listener.demo.application import TIMEOUT_S, Outcome
from spark_listener.demo.deadlines import SHED_PLUS, TUNED, due, workload
from spark_listener.demo.world import World
from spark_listener.event_log import CopyCounts
from tests.bench import accuracy_demo, deadline_demo
from tests.bench.sim_real import Overhead, read_s

pytestmark = pytest.mark.unit


def outcome(contestant, n_late, n_jobs=10):
    """A round with `n_late` late jobs; the deadline is 10 s."""
    job_s = {f"job{at}": 11.0 if at < n_late else 9.0 for at in range(n_jobs)}
    copies = CopyCounts(launched=1, won=1, losing_core_s=2.0, core_s=100.0)
    deadline_s = dict.fromkeys(job_s, 10.0)
    return Outcome(
        contestant=contestant.name, seed=1, job_s=job_s, results={}, copies=copies, load=1.0, deadline_s=deadline_s
    )


def rounds(ours, tuned):
    """Rounds of both contestants, by the number of late jobs in each."""
    return {
        SHED_PLUS.name: [outcome(SHED_PLUS, n_late) for n_late in ours],
        TUNED.name: [outcome(TUNED, n_late) for n_late in tuned],
    }


def test_half_of_what_stock_misses_is_a_goal_for_the_whole_interval():
    """A single lucky round is no proof, and half-shared slowness has no goal."""
    row = deadline_demo.late_row("x", SHED_PLUS, rounds((1, 2, 1), (5, 6, 5)), is_goal=True)
    assert (row["value"], row["peer"], row["ratio"]) == (13.3, "stock-tuned 53.3", 0.25)
    assert row["spread"] == [-20.5, -6.2], "-15, -10 and -15 points, on two degrees of freedom"
    assert (row["met"], row["deadline_s"]) == (True, 10.0)
    assert row["losing_core_s"] == {SHED_PLUS.name: 2.0, TUNED.name: 2.0}
    unsure = deadline_demo.late_row("x", SHED_PLUS, rounds((0, 5, 1), (5, 6, 5)), is_goal=True)
    assert (unsure["ratio"], unsure["met"]) == (0.375, False)
    assert deadline_demo.late_row("x", SHED_PLUS, rounds((3, 3), (5, 5)), is_goal=True)["met"] is False
    assert deadline_demo.late_row("x", SHED_PLUS, rounds((1,), (5,)), is_goal=False)["met"] is None
    assert deadline_demo.late_row("x", SHED_PLUS, rounds((1,), (5,)), is_goal=True)["met"] is False
    assert deadline_demo.late_row("x", SHED_PLUS, rounds((0,), (0,)), is_goal=True)["ratio"] is None


def test_what_is_foretold_may_be_ten_points_off():
    measured = rounds((2, 4), (5, 5))[SHED_PLUS.name]
    assert deadline_demo.foretold_row("x", 39.0, measured, is_goal=True)["met"] is True
    row = deadline_demo.foretold_row("x", 41.0, measured, is_goal=True)
    assert (row["name"], row["value"], row["peer"], row["met"]) == (
        f"x {SHED_PLUS.name} simulated",
        41.0,
        "measured 30.0",
        False,
    )


@pytest.mark.parametrize("contestant", deadline_demo.SIMULATED)
def test_a_simulated_job_is_late_if_its_slowest_split_takes_longer_than_its_deadline(contestant, monkeypatch):
    """One job alone, and copies as slow as their originals: nobody can save anything, and overhead counts."""
    monkeypatch.setattr(deadline_demo, "PLACEMENTS", 1)
    world = World(seed=3, kind="data", sick_host="none")
    work, overhead = workload(0.4, 2), Overhead(attempt_s=0.25, job_s=1.0)
    takes_s = max(read_s(world, "job0", task, 0) for task in range(10)) + 2 * 0.25 + 1.0
    alone = type(work)(jobs=work.jobs[:1])
    model = deadline_demo.SIMULATED[contestant]
    late = [
        deadline_demo.foretold_late(model, due(alone, takes_s + more_s), [world], overhead) for more_s in (-0.2, 0.2)
    ]
    assert late == [100.0, 0.0]


def seen(contestant, *partitions, answer=7):
    """A round of approximate jobs, by the number of partitions that each has seen."""
    results = {
        f"part{at}": json.dumps({part: [answer, [[answer, 1]]] for part in range(n)}) for at, n in enumerate(partitions)
    }
    copies = CopyCounts(launched=1, won=1, losing_core_s=2.0, core_s=100.0)
    return Outcome(
        contestant=contestant.name, seed=1, job_s=dict.fromkeys(results, 17.8), results=results, copies=copies, load=1.0
    )


def test_accuracy_is_the_share_of_input_tasks_done_by_the_deadline():
    """15 % more is the goal, and surely more than nothing."""
    tuned = [seen(accuracy_demo.TUNED, 24, 24), seen(accuracy_demo.TUNED, 12, 36)]

    def row(*ours, is_goal=True):
        rounds = [seen(accuracy_demo.OURS, each, each) for each in ours]
        return accuracy_demo.accuracy_row(
            "x",
            {accuracy_demo.OURS.name: rounds, accuracy_demo.TUNED.name: tuned[: len(rounds)]},
            is_goal=is_goal,
        )

    assert accuracy_demo.seen_share(tuned[1]) == 0.5
    reached = row(30, 30)
    assert (reached["value"], reached["peer"], reached["ratio"]) == (0.62, "stock-tuned 0.50", 1.25)
    assert (reached["goal"], reached["met"]) == (1.15, True)
    assert row(26, 26)["met"] is False, "surely better, but not enough"
    unsure = row(24, 40)
    assert (unsure["ratio"] > 1.15, unsure["spread"][0] < 1, unsure["met"]) == (True, True, False)
    assert row(40)["met"] is False, "one round proves nothing"
    assert row(30, 30, is_goal=False)["met"] is None


def test_a_partition_has_one_answer_whoever_has_seen_it():
    """What one of them alone has seen cannot be compared."""
    ours, tuned = seen(accuracy_demo.OURS, 30, 1), seen(accuracy_demo.TUNED, 20, 2)
    assert not accuracy_demo.differs(ours, tuned)
    assert accuracy_demo.differs(seen(accuracy_demo.OURS, 30, 1, answer=8), tuned)


def test_approximate_jobs_have_more_than_five_waves_and_follow_one_another():
    """A deadline has passed before the next job comes, and all of them before a driver is taken to hang."""
    jobs = accuracy_demo.workload().jobs
    assert all(job.tasks >= 5 * accuracy_demo.SLOTS and job.is_approximate for job in jobs)
    assert 4 * accuracy_demo.SIZE.cores_per_worker == accuracy_demo.SLOTS
    (within_s,) = {job.deadline_s for job in jobs}
    assert within_s == pytest.approx(1.1 * 48 * 1.641 * 4 / 3 / 6.5, abs=0.05)
    gaps_s = [later.arrival_s - job.arrival_s for job, later in pairwise(jobs)]
    assert min(gaps_s) > within_s
    assert jobs[-1].arrival_s + within_s < TIMEOUT_S / 2
