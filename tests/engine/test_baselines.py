"""Do stock Spark's rule and Mantri's go by what has finished, as their settings say?"""

from dataclasses import replace

import pytest

from controlplane.model import facts as f
from controlplane.model.parameters import EngineSettings
from controlplane.model.reasons import Reason
from tests.scenario import SOURCE, Scenario

pytestmark = pytest.mark.unit
SHADOW = EngineSettings(mode=f.Mode.SHADOW, startup_prior_s=0.1)


def under(speculator: str, **settings: float) -> Scenario:
    """Twenty hosts of one slot under one speculator."""
    return Scenario(replace(SHADOW, speculator=speculator, speculator_settings=settings), hosts=20, slots=1)


def reasons(scenario: Scenario) -> dict[int, Reason]:
    """By index, what the engine last thought of each running task."""
    tasks = scenario.scheduler.snapshot(scenario.now_s).pools[0].tasks
    return {task.index: Reason[task.reason.upper()] for task in tasks}


def run(scenario: Scenario, ends_s: dict[int, float], until_s: float, **stage) -> Reason:
    """What is thought of the first of ten tasks that still runs, once these others have ended, which took that long."""
    scenario.stage(10, **stage)
    scenario.start_all(10)
    for index, ended_s in sorted(ends_s.items(), key=lambda each: each[1]):
        scenario.now_s = ended_s
        scenario.tell([scenario.ended(index, ended_s)])
    scenario.now_s = until_s
    scenario.tell()
    found = reasons(scenario)
    return found[min(found)]


@pytest.mark.parametrize(
    ("quantile", "n_finished", "reason"),
    [
        (0.9, 8, Reason.TOO_FEW_FINISHED),
        (0.9, 9, Reason.RUNS_TOO_LONG),
        (0.5, 4, Reason.TOO_FEW_FINISHED),
        (0.5, 5, Reason.RUNS_TOO_LONG),
    ],
)
def test_stock_spark_waits_for_its_quantile(quantile, n_finished, reason):
    """Ten tasks, and those that have finished took a second: the others are old enough by far at ten."""
    scenario = under("stock-spark", quantile=quantile)
    assert run(scenario, dict.fromkeys(range(n_finished), 1.0), 10.0) is reason


@pytest.mark.parametrize(("at_s", "reason"), [(5.9, Reason.NOT_LONG_ENOUGH), (6.1, Reason.RUNS_TOO_LONG)])
def test_stock_spark_multiplies_the_median_and_no_mean(at_s, reason):
    """Of 1, 2 and 5.8 s the median is 2 and the mean 2.9: three medians are 6 s."""
    scenario = under("stock-spark", quantile=0.3, efficiency=0.0)
    assert run(scenario, {0: 1.0, 1: 2.0, 2: 5.8}, at_s) is reason


@pytest.mark.parametrize(
    ("executor_slots", "threshold_s", "reason"),
    [
        (10, 5.0, Reason.RUNS_TOO_LONG),
        (10, 15.0, Reason.NOT_LONG_ENOUGH),
        (9, 5.0, Reason.TOO_FEW_FINISHED),
        (0, 5.0, Reason.TOO_FEW_FINISHED),
    ],
)
def test_a_set_duration_is_for_stages_that_fit_the_drivers_executors(executor_slots, threshold_s, reason):
    """Ten tasks, ten seconds old, and none has finished; how large executors are is the driver's word."""
    scenario = under("stock-spark", duration_threshold_s=threshold_s)
    attached = f.DriverAttached(
        application="app", capabilities=scenario.attached.capabilities, executor_slots=executor_slots
    )
    scenario.tell([attached])
    assert run(scenario, {}, 10.0) is reason


@pytest.mark.parametrize(("confidence", "reason"), [(0.25, Reason.LIKELY_SAVES), (0.5, Reason.CHEAPER_TO_WAIT)])
def test_mantri_asks_for_the_chance_that_is_set(confidence, reason):
    """By a third of the siblings it takes 2 s, by the others 18; at 50 bytes a second 475 need 9.5 s, twice 4.75."""
    scenario = under("mantri", confidence=confidence)
    took_s = {0: 1.0, 1: 1.0, 2: 1.0} | dict.fromkeys(range(3, 9), 9.0)
    run(scenario, took_s, 9.5, input_bytes=[500] * 9 + [1000])
    scenario.now_s = 10.0
    scenario.tell(progress={9: 500})
    scenario.now_s = 10.5
    scenario.tell(progress={9: 525})
    assert reasons(scenario)[9] is reason


def test_mantri_promises_nothing_before_a_sibling_has_finished():
    """What the same stage took in earlier jobs is no chance of this one's."""
    assert run(under("mantri"), {}, 30.0) is Reason.TOO_FEW_FINISHED


def test_where_only_the_number_of_finished_tasks_is_known_the_estimate_stands_for_what_they_took():
    """A full report leaves the oldest ends of a large stage out. The estimate is the prior: 0.2 s, times three."""
    scenario = under("stock-spark", efficiency=0.0)
    stage = {"stage": 1, "stage_attempt": 0, "n_tasks": 10, "kind": "shuffle_map", "name": "stage 1"}
    facts = [f.JobSubmitted(job="job"), f.StageSubmitted(job="job", done=[(0, 8)], **stage), scenario.started(9, 9)]
    scenario.now_s = 1.0
    scenario.tell(facts)
    for now_s, reason in ((1.5, Reason.NOT_LONG_ENOUGH), (1.7, Reason.RUNS_TOO_LONG)):
        scenario.now_s = now_s
        scenario.tell()
        assert reasons(scenario)[9] is reason


@pytest.mark.parametrize(("n_finished", "reason"), [(9, Reason.RUNS_TOO_LONG), (8, Reason.TOO_FEW_FINISHED)])
def test_pools_with_other_speculators_are_asked_by_their_own(n_finished, reason):
    """One cycle, two pools: the finished attempts of one are none of the other's."""
    scenario = under("stock-spark")
    other = "spark:other"
    executor = f.ExecutorAdded(executor="e0", host="h0", slots=4)
    attached = f.DriverAttached(application="other", capabilities=scenario.attached.capabilities)
    scenario.scheduler.steering.set_policy(other, "hopper+ras")
    scenario.tell([attached, executor], full=True, source=other)
    scenario.tell(
        [
            f.JobSubmitted(job="job"),
            f.StageSubmitted(job="job", stage=1, stage_attempt=0, n_tasks=2, kind="shuffle_map"),
            scenario.started(0, 0),
        ],
        source=other,
    )
    assert run(scenario, dict.fromkeys(range(n_finished), 1.0), 10.0) is reason
    pools = {pool.source: pool for pool in scenario.scheduler.snapshot(scenario.now_s).pools}
    assert [len(each.duration_s) for each in pools[SOURCE].finished] == [n_finished]
    assert pools[other].finished == []
