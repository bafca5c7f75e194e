"""Does the engine stop where a policy breaks a law? A cycle that fails orders nothing, and hosts are stock."""

import numpy as np
import pytest

from controlplane.engine.admission import Admission
from controlplane.model.errors import LawBroken
from tests.scenario import Scenario

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("worst", [0.0, -1.0, np.nan])
def test_no_speculator_may_want_a_copy_without_a_positive_gain(monkeypatch, worst):
    """One of several is enough."""

    def speculate(code, tasks, finished, settings, answer):
        answer["wanted"], answer["score"] = True, 1.0
        answer["score"][:1] = worst

    scenario = Scenario()
    scenario.stage(4, input_bytes=1000)
    scenario.start_all(4)
    monkeypatch.setattr("controlplane.engine.speculation.dispatch.speculate", speculate)
    with pytest.raises(LawBroken, match="no copy without a positive gain: ras"):
        scenario.tell(progress=dict.fromkeys(range(4), 100))


@pytest.mark.parametrize(("target", "is_kept"), [([2, 2], True), ([3, 2], False), ([-1, 2], False)])
def test_no_allocator_may_give_more_than_there_is_or_less_than_nothing(target, is_kept):
    targets = np.array(target)
    if is_kept:
        Admission.check_allocation(4, targets)
    else:
        with pytest.raises(LawBroken):
            Admission.check_allocation(4, targets)
