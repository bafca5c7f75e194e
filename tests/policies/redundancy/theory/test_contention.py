"""Does a load settle where slowdowns that grow with it say?"""

from dataclasses import replace
from functools import partial
from math import inf

import pytest
from scipy.optimize import brentq

from controlplane.policies.redundancy.theory.contention import contended, tail_index_at
from controlplane.policies.redundancy.theory.execution import Execution
from controlplane.policies.redundancy.theory.queue import busy_share
from controlplane.policies.redundancy.theory.redundant_small import redundant_small
from controlplane.policies.redundancy.theory.system import System, arrival_rate

pytestmark = pytest.mark.unit

SYSTEM = System()
FULL = 2.25


def spare(system: System, threshold_s: float) -> Execution:
    return redundant_small(system, 2.0, threshold_s)


@pytest.mark.parametrize("threshold_s", [0.0, 50.0, inf])
def test_the_load_reproduces_itself(threshold_s):
    """A root of (2) less the load, found by bisection, is where the steps from an empty cluster end."""
    rate = arrival_rate(SYSTEM, 0.4)

    def surplus(busy: float) -> float:
        system = replace(SYSTEM, slowdown_tail_index=tail_index_at(3.0, FULL, busy))
        return rate * spare(system, threshold_s).cost / SYSTEM.slots - busy

    settled, load = contended(SYSTEM, 0.4, FULL, partial(spare, threshold_s=threshold_s))
    busy = busy_share(settled, load, spare(settled, threshold_s))
    assert busy == pytest.approx(brentq(surplus, 0.0, 0.95), abs=1e-8)
    assert settled.slowdown_tail_index == pytest.approx(tail_index_at(3.0, FULL, busy), abs=1e-8)


def test_the_same_jobs_come():
    """The load is told in the settled system's terms, and means as many jobs a second."""
    settled, load = contended(SYSTEM, 0.4, FULL, partial(spare, threshold_s=0.0))
    assert arrival_rate(settled, load) == pytest.approx(arrival_rate(SYSTEM, 0.4))


def test_slowdowns_that_do_not_grow_change_nothing():
    """The tail index is then the same at every load."""
    assert contended(SYSTEM, 0.4, 3.0, partial(spare, threshold_s=inf)) == (SYSTEM, 0.4)


def test_a_load_that_feeds_itself_ends_with_all_slots_busy():
    """All jobs expanded are stable at 0.6 by (2), until their own contention counts."""
    settled, load = contended(SYSTEM, 0.6, FULL, partial(spare, threshold_s=inf))
    assert settled.slowdown_tail_index == FULL
    assert busy_share(settled, load, spare(settled, inf)) >= 1.0
    assert busy_share(SYSTEM, 0.6, spare(SYSTEM, inf)) < 1.0
