"""Does the cluster simulator, too, end Hopper's two jobs when the paper says?"""

import json
from math import inf
from pathlib import Path

import pytest

from controlplane.simulator.cluster.scenario import ClusterScenario
from controlplane.simulator.cluster.workloads import Listed

pytestmark = pytest.mark.unit

TABLE = json.loads(Path(__file__).with_name("hopper_table_1.json").read_text())


def ends_s(policy, settings):
    """When the jobs end, with durations, detection and slots as printed; a cycle at every event."""
    scenario = ClusterScenario(
        policy=policy,
        allocator_settings=settings,
        workload=Listed(original_s=tuple(map(tuple, TABLE["original_s"].values())), copy_s=TABLE["copy_s"]),
        jobs=2,
        machines=TABLE["slots"],
        slots_per_machine=1,
        slowdown_tail_index=inf,
        allocator_tail_index=TABLE["tail_index"],
        detect_s=TABLE["seen_after_s"],
        launch_s=0.0,
        cycle_s=0.0,
    )
    return scenario.run(1)[1].response_s.tolist()


@pytest.mark.parametrize("case", TABLE["cases"], ids=lambda case: case["name"])
def test_the_jobs_end_when_the_figures_say(case):
    assert ends_s(f"{case['allocator']}+ras", case["settings"]) == list(case["ends_s"].values())


@pytest.mark.parametrize(
    ("policy", "expected_s"),
    [
        ("hopper-as-printed+ras", [12.0, 22.0]),
        ("hopper-as-printed+late", [12.0, 30.0]),
        ("hopper+ras", [20.0, 30.0]),
    ],
)
def test_one_name_has_the_settings_of_the_printed_example(policy, expected_s):
    """Nobody need know which four settings they are; the live defaults lend the slot out, so A's copy waits."""
    assert ends_s(policy, {}) == expected_s
