"""Does GRASS's own example come out: which of GS and RAS completes more tasks before a near and a far deadline?"""

import json
from pathlib import Path

import pytest

from tests.golden.grass_example import Example, Runs

pytestmark = pytest.mark.unit

FIGURE = json.loads(Path(__file__).with_name("grass_figure_1.json").read_text())


@pytest.mark.parametrize("deadline", FIGURE["done_by_deadline"])
@pytest.mark.parametrize("policy", ["gs", "ras"])
def test_figure_1(policy, deadline):
    """RAS is ahead in the long run, because it saves slot time; GS is where the deadline is near."""
    example = Example(
        policy=policy,
        slots=FIGURE["slots"],
        done=FIGURE["done"],
        running=[Runs([FIGURE["begins_s"] + FIGURE["t_rem_s"]], FIGURE["t_new_s"])],
        waiting_s=list(FIGURE["waiting_s"]),
        now_s=FIGURE["begins_s"],
        deadline_s=float(deadline),
    )
    assert example.play().done == FIGURE["done_by_deadline"][deadline][policy]
