"""What does the shim cost a driver? 20,000 short tasks, half of their task sets without the shim, drawn at random."""

import re
import tempfile
from pathlib import Path

import numpy as np

from spark_listener.local_cluster import LocalCluster
from tests.integration.driver import Driver, plugged
from tests.integration.plane_process import Plane

STAGES, TASKS = 40, 500
GOAL = 1.02
LOCK_GOAL_PERCENT = 1.0
SAMPLE = re.compile(r"grasshopper sample: stage=\S+ swapped=(\d) wall_us=(\d+) cpu_us=(\d+)")


def rows() -> list[dict]:
    """Rows `driver-overhead` (CPU of the driver's scheduling threads and ours) and `lock-share`."""
    with tempfile.TemporaryDirectory() as folder, LocalCluster(log_dir=Path(folder) / "cluster") as cluster:
        place = Path(folder)
        with Plane(place / "plane", policy="hopper+ras") as plane:
            conf = plugged(plane.address) | {"spark.grasshopper.bench.sampleTaskSets": "7"}
            with Driver(cluster, place / "driver", **conf) as driver:
                driver.run("trivial", tasks=TASKS, times=4)
                begin = len(SAMPLE.findall(driver.log()))
                before = driver.run("shim_status")
                seconds = driver.run("trivial", tasks=TASKS, times=STAGES)
                after = driver.run("shim_status")
                samples = np.array(SAMPLE.findall(driver.log())[begin:], dtype=float)
    cpu_us = samples[:, 2]
    on, off = cpu_us[samples[:, 0] == 1], cpu_us[samples[:, 0] == 0]
    ratio = on.mean() / off.mean()
    error = ratio * np.hypot(
        on.std(ddof=1) / on.mean() / len(on) ** 0.5, off.std(ddof=1) / off.mean() / len(off) ** 0.5
    )
    upper = float(ratio + 2 * error)
    share = (after["lock_total_us"] - before["lock_total_us"]) / 1e6 / seconds * 100
    return [
        {
            "name": "driver-overhead",
            "value": round(float(on.mean() / TASKS), 1),
            "unit": "us/task",
            "peer": f"stock {off.mean() / TASKS:.1f}",
            "ratio": round(float(ratio), 3),
            "goal": GOAL,
            "met": upper <= GOAL,
            "runs": len(cpu_us),
            "spread": [round(float(ratio - 2 * error), 3), round(upper, 3)],
        },
        {
            "name": "lock-share",
            "value": round(share, 3),
            "unit": "% of time",
            "peer": None,
            "ratio": None,
            "goal": LOCK_GOAL_PERCENT,
            "met": share < LOCK_GOAL_PERCENT,
            "runs": 1,
            "spread": None,
        },
    ]
