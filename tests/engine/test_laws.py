"""Does the engine stop where a policy breaks a law? A cycle that fails orders nothing, and hosts are stock."""

from contextlib import nullcontext

import numpy as np
import pytest

from controlplane.deciding.asking import ask_allocator, ask_speculator
from controlplane.model import facts as f
from controlplane.model.errors import LawBroken
from controlplane.model.reasons import Reason
from controlplane.policies.answer import SPECULATION
from controlplane.policies.seen import RUNNING_TASK, Seen
from tests.scenario import Scenario

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("worst", [0.0, -1.0, np.nan])
def test_no_speculator_may_want_a_copy_without_a_positive_gain(monkeypatch, worst):
    """One of several is enough."""

    def speculate(code, seen, settings, answer):
        answer["copies"], answer["score"] = 1, 1.0
        answer["score"][:1] = worst

    scenario = Scenario()
    scenario.stage(4, input_bytes=1000)
    scenario.start_all(4)
    monkeypatch.setattr("controlplane.deciding.asking.speculate", speculate)
    monkeypatch.setattr("controlplane.engine.speculation.call_speculator", ask_speculator)
    with pytest.raises(LawBroken, match="no copy without a positive gain: ras"):
        scenario.tell(progress=dict.fromkeys(range(4), 100))


def test_a_task_gets_no_more_copies_than_it_may_have_and_no_less_than_none(monkeypatch):
    """A policy from outside may answer anything; an impossible number would be a place in memory that is not ours."""

    def speculate(code, seen, settings, answer):
        answer["score"], answer["copies"], answer["reason"] = 1.0, [-3, 10**12, 10**12, 1], Reason.ENDS_SOONER
        answer["kill"] = [False, False, True, False]

    monkeypatch.setattr("controlplane.deciding.asking.speculate", speculate)
    tasks, answer = np.zeros(4, dtype=RUNNING_TASK), np.zeros(4, dtype=SPECULATION)
    tasks["copies_left"], tasks["standing"] = 2, [0, 0, 0, Reason.TOO_NEW]
    assert ask_speculator(0, Seen(tasks=tasks), np.zeros(0), answer)
    assert answer["copies"].tolist() == [0, 2, 1, 0]
    assert answer["reason"].tolist() == [Reason.ENDS_SOONER] * 3 + [Reason.TOO_NEW]


@pytest.mark.parametrize(("target", "is_kept"), [([2, 2], True), ([3, 2], False), ([-1, 2], False)])
def test_no_allocator_may_give_more_than_there_is_or_less_than_nothing(monkeypatch, target, is_kept):
    def allocate(code, seen, settings, answer):
        answer["target"] = target

    monkeypatch.setattr("controlplane.deciding.asking.allocate", allocate)
    monkeypatch.setattr("controlplane.engine.allocation.call_allocator", ask_allocator)
    scenario = Scenario(hosts=2, slots=2)
    with nullcontext() if is_kept else pytest.raises(LawBroken, match="never exceed a pool's capacity"):
        scenario.tell(
            f.StageSubmitted(job=job, stage=stage, stage_attempt=0, n_tasks=4, kind="result")
            for stage, job in enumerate(("one", "two"))
        )
