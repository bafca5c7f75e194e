"""For how long has an attempt worked, start-up left out?"""

from math import nan

import pytest

from controlplane.estimators.lateness import net_age_s

pytestmark = pytest.mark.unit

USUAL = {"startup_mean_s": 2.0, "cold_startup_mean_s": 5.0}


@pytest.mark.parametrize(
    ("first_s", "cold", "idle", "age_s"),
    [
        (101.0, False, 0, 9.0),
        (104.0, False, 0, 6.0),
        (104.0, False, 1, 8.0),
        (nan, False, 0, 8.0),
        (101.0, True, 0, 5.0),
        (107.0, True, 0, 3.0),
        (101.0, True, 1, 9.0),
    ],
)
def test_start_up_is_no_age(first_s, cold, idle, age_s):
    """Ten seconds after the launch. Beyond the usual it counts while slots are idle; a cold one's may come later."""
    attempt = {"start_s": 100.0, "first_s": first_s, "cold": cold}
    assert net_age_s(now_s=110.0, attempt=attempt, pool=USUAL | {"idle": idle}) == age_s
