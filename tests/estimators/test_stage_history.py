"""Is the memory of stages bounded, and does the one that was seen longest ago go first?"""

import pytest

from controlplane.estimators.stage_history import STAGES_KEPT, StageHistory, class_key, stage_key
from controlplane.model.facts import StageSubmitted

pytestmark = pytest.mark.unit


def stage(name):
    return StageSubmitted(job="j", stage=1, stage_attempt=0, n_tasks=8, name=name)


def test_as_many_stages_are_kept_as_are_said_and_the_latest_stay():
    """Their class, seen with each of them, is one of the 2,000."""
    history = StageHistory()
    for number in range(STAGES_KEPT):
        history.learn(stage(str(number)), 1.0, 0.0, 0.0)
    kept = history.dump()["stages"]
    assert len(kept) == STAGES_KEPT
    assert stage_key(stage("0")) not in kept
    assert {stage_key(stage("1")), class_key(stage("1"))} <= kept.keys()
