"""Does what Prometheus sees only grow?"""

import pytest

from controlplane.model.decisions import DecisionOutcome, Result
from controlplane.model.facts import Mode
from controlplane.model.snapshot import HostState, Snapshot
from controlplane.runtime.metrics import Metrics, pool_gauges
from tests.plane import attached, message

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(("result", "name"), [(Result.WON, "saved_seconds"), (Result.LOST, "wasted_core_seconds")])
def test_totals_never_shrink(result, name):
    """A copy that won later than its original would have ended has saved less than nothing: that is no saving."""
    metrics, seen = Metrics(), []
    for amount in (3.0, -5.0):
        outcome = DecisionOutcome(decision=1, result=result, at_s=1.0, saved_s=amount, cost_core_s=amount)
        metrics.count_outcomes([outcome])
        seen.append(metrics.registry.get_sample_value(f"grasshopper_{name}_total"))
    assert seen == [3.0, 3.0]


def test_sources_are_counted_when_somebody_asks(plane):
    for n in (1, 2):
        plane.reply(message(1, [attached()], full=True, source=f"app-{n}"))
        assert f"grasshopper_sources {n}.0" in plane.client.get("/metrics").text.splitlines()


def test_the_slowness_of_every_host_is_a_gauge():
    """One series a host, by its name."""
    host = HostState(host="worker-3", slowness=2.5, confidence=1.0, sick=True, slots=4, running=1)
    snapshot = Snapshot(cycle=1, now_s=0.0, mode=Mode.CONTROL, pools=[], hosts=[host], accuracy={})
    told = pool_gauges(snapshot).decode()
    assert 'grasshopper_host_slowness{host="worker-3"} 2.5' in told.splitlines()
