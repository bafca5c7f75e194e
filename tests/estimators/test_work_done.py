"""When will a task's rows have come out, by the pace at which they come?"""

import pytest

from controlplane.estimators.work_done import REPORT_GAP_S, rows_left_s

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
