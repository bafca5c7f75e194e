"""Are Hopper's experiments complete, and does the exact one come out?"""

from dataclasses import replace
from functools import cache

import msgspec
import numpy as np
import pytest

from controlplane.simulator.cluster.scenario import ClusterScenario
from controlplane.simulator.cluster.summary import ClusterSummary
from controlplane.simulator.cluster.workloads import Facebook
from controlplane.simulator.experiments import journal
from controlplane.simulator.experiments.experiment import Scale, Verdict
from controlplane.simulator.experiments.hopper import EXPERIMENTS
from controlplane.simulator.experiments.hopper.comparisons import at_middle
from controlplane.simulator.experiments.hopper.conditions import BASELINES, BING_LIKE, DURATIONS, FACEBOOK, WORLDS
from controlplane.simulator.experiments.hopper.examples import (
    SCHEDULES,
    SLOTS_PER_TASK,
    knee_claims,
    knee_of,
    one_schedule,
)
from controlplane.simulator.experiments.points.cluster import ClusterRuns
from controlplane.simulator.experiments.points.learning import SHARES, TailLearned, TransferForetold

pytestmark = pytest.mark.unit

BY_ID = {one.id: one for one in EXPERIMENTS}
COMPARED = [
    "copies",
    "over-fair",
    "guidelines",
    *(f"figure-{name}" for name in ("6", "7", "8a", "8b", "9", "10", "12", "13")),
]


def test_table_1_is_reproduced(tmp_path):
    """Six numbers, which leave no room for noise."""
    table = BY_ID["hopper/table-1"]
    for point, seed in journal.missing([table], Scale.SMOKE, tmp_path):
        journal.keep(point, seed, point.measure(seed), Scale.SMOKE, tmp_path)
    assert journal.findings([table], Scale.SMOKE, tmp_path)[0][1].verdict is Verdict.REPRODUCED


@pytest.mark.parametrize(("name", "ends_s"), [(name, ends_s) for name, (_, ends_s) in SCHEDULES.items()])
def test_the_picture_of_table_1_is_a_schedule(name, ends_s):
    """Seven slots, never two attempts on one at a time, A's four tasks and B's five, until each job's printed end."""
    found = one_schedule(SCHEDULES[name][0]).scenario.schedule(1)
    assert {int(one) for one in found["slot"]} == set(range(7))
    for slot in range(7):
        mine = np.sort(found[found["slot"] == slot], order="started_s")
        assert (mine["started_s"][1:] >= mine["ended_s"][:-1]).all()
    for job, n_tasks in enumerate((4, 5)):
        mine = found[found["job"] == job]
        assert mine["ended_s"].max() == ends_s[job]
        assert np.count_nonzero(~mine["is_copy"]) == n_tasks
        assert mine["is_copy"].any()


@pytest.mark.parametrize("name", [name for name in BY_ID if name != "hopper/table-1"])
def test_every_point_says_all_that_it_depends_on(name):
    """Its repr is its name in the journal: two different points never share one."""
    points = BY_ID[name].points(Scale.SMOKE)
    assert points
    assert all("runs=" in repr(point) and ("policy=" in repr(point) or "source=" in repr(point)) for point in points)


@pytest.mark.parametrize("what", COMPARED)
def test_hopper_is_never_shown_without_both_baselines_in_both_worlds(what):
    """How good it looks depends on what copies of the baseline compete with, and on whether copies help at all."""
    scenarios = [point.scenario for point in BY_ID[f"hopper/{what}"].points(Scale.SMOKE)]
    shown = {(one.policy, one.speculator_settings.get("copy_priority"), one.shared_share) for one in scenarios}
    for base in BASELINES.values():
        priority = base.get("speculator_settings", {}).get("copy_priority")
        assert {(base["policy"], priority, world["shared_share"]) for world in WORLDS.values()} <= shown


@pytest.mark.parametrize("what", [*COMPARED, "equal-caps"])
@pytest.mark.parametrize("scale", list(Scale))
def test_all_contestants_may_have_as_many_attempts_and_all_or_none_kills(what, scale):
    """Every policy of a comparison is shown with two and with three, and kills where the others do."""
    usual = {"late": 0.0, "stock-spark": 0.0, "ras": 1.0, "mantri": "its own"}
    cases: dict = {}
    for point in BY_ID[f"hopper/{what}"].points(scale):
        one = point.scenario
        speculator = one.policy.partition("+")[2]
        ends = one.speculator_settings.get("end_beaten", usual[speculator])
        who = one.policy, *((name, value) for name, value in one.speculator_settings.items() if name != "end_beaten")
        where = one.shared_share, one.workload, one.offered_load, one.locality_percent, str(one.allocator_settings)
        cases.setdefault(where, {}).setdefault((one.max_copies, ends), set()).add(who)
    for by_case in cases.values():
        if what != "copies":
            assert {most for most, _ in by_case} == {1, 2}
        kills = {ends for _, ends in by_case} - {"its own"}
        assert kills == ({0.0, 1.0} if what == "equal-caps" else {0.0})
        shown = [some for (_, ends), some in by_case.items() if ends != "its own"]
        assert all(some == shown[0] for some in shown)


@pytest.mark.parametrize("what", COMPARED)
def test_comparisons_run_on_the_papers_cluster(what):
    """Facebook's do: on few slots a single large job fills them all, and it is another question who gets them."""
    scenarios = [one.scenario for one in BY_ID[f"hopper/{what}"].points(Scale.FULL)]
    bing_like = [one for one in scenarios if one.workload == BING_LIKE["workload"]]
    others = [one for one in scenarios if one.workload != BING_LIKE["workload"]]
    assert {(one.machines, one.slots_per_machine, one.jobs) for one in others} == {(200, 16, 6000)}
    assert {(one.machines, one.slots_per_machine, one.jobs) for one in bing_like} <= {(25, 16, 6000)}


def test_figure_9_shows_every_speculator_over_both_baselines():
    """Copies of RAS wait for all originals, too, where they are told to."""
    points = BY_ID["hopper/figure-9"].points(Scale.SMOKE)
    shown = {(one.scenario.policy, one.scenario.speculator_settings.get("copy_priority")) for one in points}
    speculators = ("late", "mantri", "ras")
    assert shown == {(f"hopper+{one}", None) for one in speculators} | {
        (f"srpt+{one}", priority) for one in speculators for priority in (None, 1.0)
    }


class Measured:
    """Results of runs that kept these shares of the slots busy, by offered load and share of slow data."""

    scale = Scale.SMOKE

    def __init__(self, shares: dict[tuple[float, float], float]) -> None:
        self._shares = shares

    def __call__(self, point: ClusterRuns) -> list:
        one = point.scenario
        share = self._shares[one.offered_load, one.shared_share]
        summary = one_job_summary()
        return [msgspec.to_builtins(replace(summary, busy_share=share + error)) for error in (-0.01, 0.01)]


@cache
def one_job_summary() -> ClusterSummary:
    return ClusterScenario(policy="srpt+late", jobs=1).simulate(1)


def test_a_figure_at_60_percent_is_judged_where_60_percent_were_measured():
    """Each world by itself: what is offered is not what slots are seen to do."""
    results = Measured({(0.6, 0.0): 0.4, (0.7, 0.0): 0.5, (0.8, 0.0): 0.61, (0.6, 0.5): 0.58, (0.7, 0.5): 0.65,
                        (0.8, 0.5): 0.7})  # fmt: skip
    loads = [at_middle(results, FACEBOOK, world)["offered_load"] for world in DURATIONS.values()]
    assert loads == [0.8, 0.6]


def test_the_learned_tail_index_comes_to_the_true_one():
    """With many durations kept, whether tasks run in waves or start at once, the longest to end last."""
    in_waves, at_once = (
        TailLearned(source=Facebook(), jobs=600, at_once=at_once, window=1 << 20).measure(1)
        for at_once in (False, True)
    )
    assert len(in_waves) == len(SHARES)
    assert max(abs(in_waves[-1]), abs(at_once[-1])) < 0.05


def test_a_transfer_is_foretold_best_where_the_same_was_seen():
    """A job that runs again with the same bytes moves the same share of them."""
    accuracy = TransferForetold(source=Facebook()).measure(1)
    assert np.mean(accuracy["recurring"]) > np.mean(accuracy["new"])


@pytest.mark.parametrize("knee", [0.8, 1.25, 1.43])
def test_a_knee_is_found_where_it_is(knee):
    """A time that falls with the slots up to a point and is nearly flat behind it, whatever it does before 0.5."""
    time_s = [20.0 - 10.0 * min(one, knee) - 0.5 * max(one - knee, 0.0) for one in SLOTS_PER_TASK]
    assert knee_of(np.array([99.0, 50.0, *time_s[2:]])) == pytest.approx(knee, abs=0.01)


def test_a_knee_that_is_there_is_learned_from_few_noisy_jobs():
    """So that it is the simulated jobs, and not the way it is looked for, that do not show it."""
    rng, slots = np.random.default_rng(1), np.array(SLOTS_PER_TASK)
    runs = (20.0 - 10.0 * np.minimum(slots, 1.25))[:, None] * rng.lognormal(sigma=0.05, size=(len(slots), 60))
    assert [claim.held for claim in knee_claims("LATE", 1.6, runs)] == [True, True]
    assert [claim.held for claim in knee_claims("LATE", 1.2, runs)] == [False, False]
