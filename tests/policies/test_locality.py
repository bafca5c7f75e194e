"""How many jobs may Hopper pass over for a task with its input at hand?"""

import pytest

from controlplane.policies.locality import LOCALITY_PERCENT, n_allowed

pytestmark = pytest.mark.unit


def test_the_allowance_is_a_share_of_all_jobs_rounded_up():
    """Section 4.4's smallest k %: at least one job is the smallest."""
    assert [n_allowed(n_jobs=n, locality_percent=LOCALITY_PERCENT) for n in (1, 33, 34, 100, 101)] == [1, 1, 2, 3, 4]


@pytest.mark.parametrize("n_jobs", [0, 1, 1000])
def test_no_allowance_changes_no_order(n_jobs):
    """k = 0 is Guideline 2 as it stands; 100 % is whoever has a local task."""
    assert n_allowed(n_jobs=n_jobs, locality_percent=0.0) == 0
    assert n_allowed(n_jobs=n_jobs, locality_percent=100.0) == n_jobs


def test_rounding_adds_no_job():
    """7 % of 100 jobs is 7, though 0.07 * 100 is a little more in floating point."""
    assert n_allowed(n_jobs=100, locality_percent=7.0) == 7
