"""What does the shim cost a driver that does nothing but schedule? With and without it, inside one driver."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from spark_listener.local_cluster import LocalCluster
from tests.bench.statistics import ratio_interval
from tests.integration import java_jar
from tests.integration.driver import Driver, plugged
from tests.integration.plane_process import Plane

PAIRS = 20
TASKS = 500
WARM_JOBS = 30
SETTLE_S = 0.3
GOAL_RATIO = 1.02
GOAL_LOCK_PERCENT = 1.0
SWITCH = Path(__file__).with_name("ShimSwitch.java")


def rows() -> list[dict]:
    """Rows `driver-overhead` (processor time of the driver, all threads, with the shim over without it; the spread is
    two standard errors either way, and its upper end has to meet the goal) and `driver-lock` (share of the jobs' time
    that our hooks are under its scheduler's lock). Warm: what a young JVM compiles for the shim is not counted.

    20,000 tasks of a few milliseconds: next to real work, the share of scheduling in a driver's time is far less.
    What the executor half sends about its running tasks is received in both cases.
    """
    with tempfile.TemporaryDirectory() as folder, LocalCluster(log_dir=Path(folder) / "cluster") as cluster:
        place = Path(folder)
        with Plane(place / "plane", policy="fair+ras") as plane:
            conf = plugged(plane.address)
            conf["spark.jars"] += f",{java_jar.build(SWITCH, cluster.spark_home, place)}"
            with Driver(cluster, place / "driver", **conf) as driver:
                for _ in range(WARM_JOBS):
                    driver.run("trivial", tasks=TASKS)
                told = driver.run("overhead", pairs=PAIRS, tasks=TASKS, settle_s=SETTLE_S, seed=1)
    return _rows(told)


def _rows(told: dict) -> list[dict]:
    shimmed, stock = zip(*told["spent"], strict=True)
    ratio, spread = ratio_interval(shimmed, stock)
    lock_percent = 100 * told["lock_s"] / told["wall_s"]
    return [
        {
            "name": "driver-overhead",
            "value": round(_per_task_us(shimmed), 1),
            "unit": "us/task",
            "peer": f"stock {_per_task_us(stock):.1f}",
            "ratio": round(ratio, 3),
            "goal": GOAL_RATIO,
            "met": spread[1] <= GOAL_RATIO,
            "runs": PAIRS,
            "spread": [round(bound, 3) for bound in spread],
        },
        {
            "name": "driver-lock",
            "value": round(lock_percent, 3),
            "unit": "% of time",
            "peer": None,
            "ratio": None,
            "goal": GOAL_LOCK_PERCENT,
            "met": lock_percent <= GOAL_LOCK_PERCENT,
            "runs": PAIRS,
            "spread": [],
        },
    ]


def _per_task_us(cpu_s: Sequence[float]) -> float:
    return 1e6 * sum(cpu_s) / (PAIRS * TASKS)
