"""Does what Prometheus sees only grow?"""

import pytest

from controlplane.model.decisions import DecisionOutcome, Result
from controlplane.runtime.metrics import Metrics

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
