"""How long does it take from a decision to a launched copy, on a real cluster with free slots?"""

import tempfile
from pathlib import Path

import numpy as np

from spark_listener.local_cluster import LocalCluster
from tests.integration.driver import Driver, plugged
from tests.integration.plane_process import Plane, eventually

COPIES = 60
GOAL_MS = 100.0


def rows() -> list[dict]:
    """Row `launch-p99`: decision to the fact that the copy has started, for decisions that no fact caused.

    The order waits for the driver's next sync, the copy for Spark's next offer, the fact for its way back: all counts.
    """
    with tempfile.TemporaryDirectory() as folder, LocalCluster(log_dir=Path(folder) / "cluster") as cluster:
        place = Path(folder)
        with Plane(place / "plane") as plane, Driver(cluster, place / "driver", **plugged(plane.address)) as driver:
            for number in range(COPIES):
                _one_copy(plane, driver, place / f"gate-{number}", f"launch-{number}")
            launches = plane.decisions(driver.source, action="launch_copy")
    applied = [out["after_s"] * 1000 for one in launches for out in one["outcomes"] if out["result"] == "applied"]
    p50, p99 = np.percentile(applied, [50, 99])
    return [
        {
            "name": "launch-p99",
            "value": round(float(p99), 1),
            "unit": "ms",
            "peer": f"median {p50:.1f}",
            "ratio": None,
            "goal": GOAL_MS,
            "met": bool(p99 <= GOAL_MS),
            "runs": len(applied),
            "spread": [round(min(applied), 1), round(max(applied), 1)],
        }
    ]


def _one_copy(plane: Plane, driver: Driver, gate: Path, group: str) -> None:
    job = driver.start("squares", group=group, tasks=2, held=[0], gate=str(gate), hold_copies=True)
    try:
        original = plane.running(driver.source, group, 0)[0]
        plane.copy(original, driver.source)
        plane.running(driver.source, group, 0, count=2)
    finally:
        gate.touch()
    job.result(timeout=60)
    eventually(lambda: not plane.attempts(driver.source, group))
