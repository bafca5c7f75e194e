"""What does a unit of work cost, and when will a task's rows have come out, by the pace at which they come?"""

import pytest

from controlplane.estimators.work_done import OBSERVED_S, REPORT_GAP_S, rows_left_s, running_cost
from controlplane.model.cluster import UNIT_BYTES

pytestmark = pytest.mark.unit

TASK = {"relative_size": 0.5}
STAGE = {"n_outs": 2, "rows_out_sum": 400.0}
"""Tasks of twice the size had 200 rows each."""


@pytest.mark.parametrize(("silent_s", "left_s"), [(0.0, 2.0), (REPORT_GAP_S, 2.0), (REPORT_GAP_S + 1.0, 3.0)])
def test_rows_come_out_as_fast_as_they_have(silent_s, left_s):
    """Half of 100 rows came within 2 s; only silence beyond the time between reports counts as slowness."""
    attempt = {"first_out_s": 1.0, "first_out": 0.0, "rows_out": 50.0, "out_s": 3.0}
    found = rows_left_s(now_s=3.0 + silent_s, attempt=attempt, task=TASK, stage=STAGE)
    assert found == pytest.approx((left_s, 0.5))


@pytest.mark.parametrize(
    ("seen_s", "gained", "left_s"),
    [(OBSERVED_S, 50.0, OBSERVED_S), (0.2, 50.0, 0.0), (2.0, 1.0, 100.0), (2.0, 0.0, 0.0)],
)
def test_a_pace_is_believed_once_rows_have_come_for_long_enough(seen_s, gained, left_s):
    """Half of 100 rows are out; a single one that has come meanwhile makes a pace, too."""
    attempt = {"first_out_s": 0.0, "first_out": 50.0 - gained, "rows_out": 50.0, "out_s": seen_s}
    found = rows_left_s(now_s=seen_s, attempt=attempt, task=TASK, stage=STAGE)
    assert found == pytest.approx((left_s, 0.5))


@pytest.mark.parametrize(
    ("total", "first_work", "cost_s"), [(1000.0, 10.0, 0.04), (1000.0, 50.0, 0.05), (100.0, 50.0, 0.2)]
)
def test_at_the_beginning_work_costs_what_it_did_since_launch_where_that_is_less(total, first_work, cost_s):
    """60 bytes came within 3 s, `first_work` of them in the first one. Later only the other two seconds count."""
    seen = {"start_s": 100.0, "first_s": 101.0, "advanced_s": 103.0, "unit": UNIT_BYTES}
    found = running_cost(now_s=103.0, total=total, attempt=seen | {"work": 60.0, "first_work": first_work})
    assert found == pytest.approx(cost_s)
