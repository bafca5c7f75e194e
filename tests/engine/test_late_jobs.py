"""Does a late job end if its user wants that, once, and does any other run on?"""

import pytest

from controlplane.engine.late_jobs import ASK_AGAIN_S
from controlplane.model import facts as f
from controlplane.model.orders import StopJob
from controlplane.model.parameters import EngineSettings
from controlplane.model.reasons import Action, Reason
from tests.scenario import SOURCE, SPARK, Scenario

pytestmark = pytest.mark.unit

CAN_STOP = f.Capabilities(**{name: getattr(SPARK, name) for name in SPARK.__struct_fields__} | {"stop_job": True})


def late(mode: f.Mode = f.Mode.CONTROL, capabilities: f.Capabilities = CAN_STOP, **job) -> Scenario:
    """A job of two tasks with a deadline of 5 s that runs for 6 s."""
    scenario = Scenario(EngineSettings(mode=mode), capabilities=capabilities)
    scenario.tell([f.JobSubmitted(job="job", deadline_ms=5000, **job)])
    scenario.stage(2)
    scenario.tell([scenario.started(0, 0), scenario.started(1, 1)])
    for second in (4.9, 5.0, 6.0):
        scenario.now_s = second
        scenario.tell()
    return scenario


def stops(scenario: Scenario) -> list[tuple[float, StopJob]]:
    return [
        (record.at_s, order)
        for decision in scenario.decisions
        for record in decision.records
        for order in decision.orders.get(SOURCE, [])
        if record.action is Action.STOP_JOB and isinstance(order, StopJob)
    ]


def test_a_late_job_is_ended_once_when_its_deadline_has_passed():
    scenario = late(kill_late=True)
    ((at_s, order),) = stops(scenario)
    assert (at_s, order.job) == (5.0, "job")
    (record,) = [record for record in scenario.records() if record.action is Action.STOP_JOB]
    assert (record.reason, record.job, record.order) == (Reason.LATE, "job", order.order)


@pytest.mark.parametrize(
    "how",
    [
        {"kill_late": False},
        {"kill_late": True, "mode": f.Mode.SHADOW},
        {"kill_late": True, "mode": f.Mode.OFF},
        {"kill_late": True, "capabilities": SPARK},
    ],
    ids=str,
)
def test_any_other_late_job_runs_on(how):
    """Its user has not said so, nothing is ordered in this mode, or the host cannot."""
    assert stops(late(**how)) == []


def test_an_order_that_was_lost_is_given_again():
    scenario = late(kill_late=True)
    scenario.now_s = 5.0 + ASK_AGAIN_S
    scenario.tell()
    assert [at_s for at_s, _ in stops(scenario)] == [5.0, 5.0 + ASK_AGAIN_S]


def test_a_job_that_has_ended_is_left_alone():
    scenario = late(kill_late=True)
    scenario.tell([f.JobEnded(job="job")])
    scenario.now_s = 6.0 + ASK_AGAIN_S
    scenario.tell()
    assert len(stops(scenario)) == 1
