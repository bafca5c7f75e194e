"""Does the engine take samples of jobs under `grass`, switch by them, keep them, and show them in a dump?"""

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from controlplane.engine.decide import decide
from controlplane.estimators.samples import FIRST, LEARNED, LENGTH, POINTS, SECOND, bucket, place_of
from controlplane.model import facts as f
from controlplane.model.errors import BadSetting
from controlplane.model.parameters import EngineSettings
from controlplane.model.reasons import Action, Reason
from tests.scenario import SOURCE, Scenario

pytestmark = pytest.mark.unit

SETTINGS = {"gs_on_free_slots": 0.0, "by_utilization": 0.0, "by_accuracy": 0.0}
GRASS = EngineSettings(mode=f.Mode.CONTROL, speculator="grass", speculator_settings=SETTINGS)

RAS = replace(GRASS, speculator="ras", speculator_settings={})


def learned(gs: float, ras: float) -> dict:
    """What is stored once jobs without a deadline took so many task times a wave under each."""
    values = np.zeros(LENGTH)
    for utilization in range(3):
        for policy, pace in ((FIRST, gs), (SECOND, ras)):
            at = place_of(bucket(False, 8, utilization, 0), policy)
            values[at : at + POINTS] = 9.0
            values[at + POINTS : at + 2 * POINTS] = 9.0 * pace * np.arange(1, POINTS + 1) / 2
    rows = values.reshape(-1, 2 * POINTS)
    return {"samples": {str(row): rows[row].tolist() for row in np.flatnonzero(rows.any(axis=1)).tolist()}}


def straggler(gs: float, ras: float, mode: f.Mode = f.Mode.CONTROL) -> Scenario:
    """A task needs less than twice what a copy takes: that saves time and no slot time; seven others have ended."""
    scenario = Scenario(replace(GRASS, mode=mode))
    scenario.scheduler.restore(learned(gs, ras))
    scenario.tell([f.JobSubmitted(job="job")])
    scenario.run_with_straggler(seconds=3.5)
    for step in range(1, 30):
        scenario.now_s = 3.5 + step / 10
        scenario.tell(progress={3: min(105 + 30 * step, 999)})
        if any(record.reason is Reason.SWITCHED_TO_GS for record in scenario.records()):
            break
    return scenario


@pytest.mark.parametrize(("gs", "ras", "is_switched"), [(1.0, 2.0, True), (2.0, 1.0, False)])
def test_a_job_switches_where_jobs_like_it_were_faster_under_gs(gs, ras, is_switched):
    scenario = straggler(gs, ras)
    launched = [record for record in scenario.records() if record.action is Action.LAUNCH_COPY]
    assert (Reason.SWITCHED_TO_GS in [record.reason for record in launched]) is is_switched
    if is_switched:
        (record,) = launched
        assert 0 < record.inputs["gain"] < record.inputs["price"], "task times of what is left"


def run_wholly(scenario: Scenario, *, job="job", stage=1, first=0, change_to=None, last=(), **submitted) -> None:
    """Four tasks of 2 s each on four hosts; settings may change when two of them have ended."""
    scenario.tell([f.JobSubmitted(job=job, **submitted)])
    scenario.stage(4, job=job, stage=stage)
    scenario.tell([scenario.started(first + at, at, index=at, stage=stage) for at in range(4)])
    scenario.now_s += 2.0
    scenario.tell([scenario.ended(first + at, 2.0, index=at, stage=stage) for at in range(2)])
    if change_to:
        scenario.scheduler.configure(change_to)
        scenario.tell()
    left = [scenario.ended(first + at, 2.0, index=at, stage=stage) for at in range(2, 4)]
    scenario.tell([*left, f.StageEnded(stage=stage, stage_attempt=0), f.JobEnded(job=job), *last])


@pytest.mark.parametrize(("share", "policies"), [(0.0, {LEARNED}), (1.0, {FIRST, SECOND})])
def test_jobs_become_samples_of_what_they_tried(share, policies):
    """Without explorers those of GRASS itself, which show what explorers cost."""
    scenario = Scenario(replace(GRASS, speculator_settings=SETTINGS | {"explorer_share": share}))
    for number in range(12):
        run_wholly(scenario, job=f"job-{number}", stage=number, first=4 * number)
    samples = scenario.scheduler.learned()["samples"]
    assert {int(row) % 3 for row in samples} == policies
    assert sum(points[0] for points in samples.values()) == pytest.approx(12, rel=0.15), "one is as long as its wave"


def test_jobs_that_were_not_steered_throughout_are_no_samples():
    """Shadow mode decides and orders nothing, a user may forbid copies, and a policy may come in the middle."""
    shadow = Scenario(replace(GRASS, mode=f.Mode.SHADOW))
    run_wholly(shadow)
    scenario = Scenario(GRASS)
    run_wholly(scenario, copies_enabled=False)
    for first, then in ((GRASS, RAS), (RAS, GRASS)):
        changed = Scenario(first)
        run_wholly(changed, change_to=then)
        assert changed.scheduler.learned()["samples"] == {}
    assert shadow.scheduler.learned()["samples"] == scenario.scheduler.learned()["samples"] == {}


def test_other_speculators_take_no_samples():
    scenario = Scenario(RAS)
    run_wholly(scenario)
    assert scenario.scheduler.learned()["samples"] == {}


def test_a_job_of_a_driver_that_comes_again_begins_anew():
    """The same names, and none of the time that the lost one took."""
    scenario = Scenario(GRASS)
    scenario.tell([f.JobSubmitted(job="job")])
    scenario.stage(4)
    scenario.tell([scenario.started(0, 0)])
    scenario.now_s = 50.0
    scenario.tell([scenario.ended(0, 50.0)])
    scenario.tell([scenario.attached, *scenario.executors], full=True, epoch=2)
    tallies = scenario.scheduler.learning.samples._tallies
    assert tallies == {}


def test_the_last_job_of_a_driver_becomes_a_sample_though_it_says_good_bye_at_once():
    """Else applications of one job would never teach anything."""
    scenario, as_usual = Scenario(GRASS), Scenario(GRASS)
    run_wholly(as_usual)
    run_wholly(scenario, last=[f.DriverDetached()])
    assert scenario.scheduler.learned()["samples"] == as_usual.scheduler.learned()["samples"] != {}


def test_a_job_of_a_driver_that_is_forgotten_leaves_no_tally():
    """It may come again under its names, with a newer epoch."""
    scenario = Scenario(GRASS)
    run_wholly(scenario, job="over")
    scenario.tell([f.JobSubmitted(job="job")])
    scenario.stage(4, job="job", stage=2)
    scenario.tell([scenario.started(9, 0, stage=2)])
    scenario.now_s = 50.0
    scenario.tell([scenario.ended(9, 50.0, stage=2)])
    scenario.scheduler.forget(SOURCE, scenario.now_s)
    assert scenario.scheduler.learning.samples._tallies == {}


def test_samples_survive_a_restart():
    scenario = Scenario(GRASS)
    run_wholly(scenario)
    stored = msgspec.json.decode(msgspec.json.encode(scenario.scheduler.learned()))
    again = Scenario(GRASS)
    assert again.scheduler.restore(stored) == []
    assert again.scheduler.learned()["samples"] == scenario.scheduler.learned()["samples"] != {}


@pytest.mark.parametrize(("gs", "ras", "is_switched"), [(1.0, 2.0, True), (2.0, 1.0, False)])
def test_decide_goes_by_the_samples_of_the_dump(gs, ras, is_switched):
    """A bug report has them."""
    scenario = straggler(gs, ras, f.Mode.SHADOW)
    snapshot = scenario.scheduler.snapshot(scenario.now_s)
    assert snapshot.samples == learned(gs, ras)["samples"]
    (pool,) = decide(snapshot, "fair+grass", GRASS).pools
    assert [copy.reason for copy in pool.copies] == [Reason.SWITCHED_TO_GS.label] * is_switched


def test_a_dump_with_samples_that_are_none_is_refused():
    snapshot = msgspec.structs.replace(straggler(1.0, 2.0).scheduler.snapshot(6.0), samples={"7": [1.0]})
    with pytest.raises(BadSetting, match=r"snapshot\.samples\.7"):
        decide(snapshot, "fair+grass", GRASS)
