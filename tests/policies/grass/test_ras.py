"""Does RAS copy what saves slot time, and say why it leaves the rest alone?"""

import json
from math import inf, nan
from pathlib import Path

import pytest

from controlplane.model.reasons import Reason
from controlplane.policies.registry import speculator

pytestmark = pytest.mark.unit

FIGURE = json.loads((Path(__file__).parents[2] / "golden/grass_figure_1.json").read_text())
ras = speculator("ras")


def test_figure_1_saves_one_unit(running):
    """T1 of the paper's example is worth a copy, by exactly one slot-second."""
    view = running([FIGURE["t_rem_s"]], [FIGURE["t_new_s"]], running_attempts=[FIGURE["running_attempts"]])
    speculation = ras.speculate(view)
    assert speculation["copies"].tolist() == [True]
    assert speculation["score"].tolist() == [FIGURE["saving_s"]]


@pytest.mark.parametrize(
    ("attempts", "t_rem_s", "t_new_s", "reason"),
    [
        (1, 4.0, 2.0, Reason.CHEAPER_TO_WAIT),
        (2, 0.9, 0.6, Reason.CHEAPER_TO_WAIT),
        (1, 3.0, 2.0, Reason.CHEAPER_TO_WAIT),
        (1, 2.0, 2.0, Reason.ON_SCHEDULE),
        (1, 0.0, 0.0, Reason.ON_SCHEDULE),
        (1, 0.0, 2.0, Reason.ON_SCHEDULE),
        (1, inf, 2.0, Reason.UNKNOWN_DEMAND),
        (1, 2.0, inf, Reason.UNKNOWN_DEMAND),
        (1, inf, inf, Reason.UNKNOWN_DEMAND),
        (1, nan, nan, Reason.UNKNOWN_DEMAND),
        (2, 4.0, 2.0, Reason.SAVES_SLOT_TIME),
        (1, 2.0, 0.0, Reason.SAVES_SLOT_TIME),
    ],
)
def test_ras_copies_only_what_strictly_saves(running, attempts, t_rem_s, t_new_s, reason):
    """A saving of exactly nothing, or of a rounding error, is none; unknown times promise nothing."""
    speculation = ras.speculate(running([t_rem_s], [t_new_s], running_attempts=[attempts]))
    assert speculation["reason"].tolist() == [reason]
    assert speculation["copies"].tolist() == [reason is Reason.SAVES_SLOT_TIME]


def test_ras_prefers_the_highest_saving(running):
    """The order among candidates is the saving, not the time to the end."""
    score = ras.speculate(running([20.0, 9.0], [9.0, 1.0]))["score"]
    assert score[1] > score[0]


def test_ras_leaves_ineligible_tasks_alone(running):
    """The engine has a reason of its own, for example that the stage is unsafe to copy."""
    assert ras.speculate(running([50.0], [1.0], eligible=[False]))["copies"].tolist() == [False]


def test_nothing_running_gives_empty_columns(running):
    """An idle cluster is no special case."""
    assert len(ras.speculate(running([], []))["copies"]) == 0


@pytest.mark.parametrize("free", [{"pools": {"idle": 1}}, {"jobs": {"room": 1}}])
def test_a_slot_that_no_original_waits_for_costs_nothing(running, free):
    """Idle, or given to the job beyond its waiting tasks: what ends sooner by a copy is worth such a slot."""
    columns = {"sibling_rate": [2.0], "elapsed_s": [1.0]}
    assert not ras.speculate(running([3.0], [2.0], **columns))["copies"][0]
    columns |= free
    assert ras.speculate(running([3.0], [2.0], **columns))["copies"][0]
    assert not ras.speculate(running([3.0], [2.0], **columns), {"gs_on_free_slots": 0.0})["copies"][0]
    assert not ras.speculate(running([2.0], [2.0], **columns))["copies"][0]
