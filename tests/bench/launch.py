"""How long does it take from a fact, or from a decision that no fact caused, to a launched copy on a real cluster?"""

import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from spark_listener.local_cluster import LocalCluster, installed_spark_home
from tests.integration.driver import Driver, plugged
from tests.integration.plane_process import Plane, eventually

ROOT = Path(__file__).parents[2]
SPARK_HOMES = {"4": installed_spark_home(), "3.5": ROOT / "build" / "spark-3.5" / "pyspark"}
COPIES = 60
OLD_ENOUGH_S = 1.5
"""At this age an attempt is no longer too new to be copied, so nothing but the fact decides when it is."""
GOAL_FACT_MS = 50.0
GOAL_DECISION_MS = 100.0
EAGER = {"GRASSHOPPER__ENGINE__SPECULATOR_SETTINGS": '{"quantile": 0.0, "multiplier": 1.0, "efficiency": 0.0}'}
"""Stock Spark's rule, by which a task is slow once one sibling has ended and it has run for longer than that one."""


def rows() -> list[dict]:
    """Rows `launch-fact-p99` and `launch-p99`, for both versions of Spark; all slots but a few are free.

    The first counts from a task's end, as the driver dates it, to the launch of the copy that it caused. The second
    counts from an operator's decision to the arrival of the news that the copy runs.
    """
    found = []
    for version, home in SPARK_HOMES.items():
        found.append(_row(f"launch-fact-p99 spark-{version}", GOAL_FACT_MS, measure(home, "fair+stock-spark", _fact)))
        found.append(_row(f"launch-p99 spark-{version}", GOAL_DECISION_MS, measure(home, "fixed+none", _decision)))
    return found


def measure(home: Path, policy: str, once: Callable[[Plane, Driver, Path], float], copies: int = COPIES) -> list[float]:
    """Milliseconds of each of so many launches by one driver, the first one in a cold JVM."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        with (
            LocalCluster(spark_home=home, log_dir=place / "cluster") as cluster,
            Plane(place / "plane", policy=policy, **EAGER if policy.endswith("stock-spark") else {}) as plane,
            Driver(cluster, place / "driver", **plugged(plane.address)) as driver,
        ):
            return [once(plane, driver, place / f"launch-{number}") for number in range(copies)]


def _row(name: str, goal: float, taken_ms: list[float]) -> dict:
    """The first launch is told apart: of 60, the 99th percentile would else be little but a cold JVM's first one."""
    first, *others = taken_ms
    p50, p99 = np.percentile(others, [50, 99])
    return {
        "name": name,
        "value": round(float(p99), 1),
        "unit": "ms",
        "peer": f"median {p50:.1f}, first {first:.1f}",
        "ratio": None,
        "goal": goal,
        "met": bool(p99 <= goal),
        "runs": len(others),
        "spread": [round(min(others), 1), round(max(others), 1)],
    }


def _fact(plane: Plane, driver: Driver, place: Path) -> float:
    """From the end of one of two tasks to the launch of the other one's copy, which it has caused."""
    group = place.name
    gates = [place.with_suffix(f".{task}") for task in range(2)]
    job = driver.start("straggler", group=group, gates=[str(gate) for gate in gates])
    try:
        plane.running(driver.source, group, 1)
        time.sleep(OLD_ENOUGH_S)
        gates[1].touch()
        plane.running(driver.source, group, 0, count=2)
    finally:
        for gate in gates:
            gate.touch()
    job.result(timeout=60)
    ended = plane.ended(driver.source, f"group-{group}")
    (cause,) = (attempt for attempt in ended if (attempt["index"], attempt["outcome"]) == (1, "success"))
    (copy,) = (attempt for attempt in ended if attempt["speculative"])
    return 1000 * (copy["start_s"] - cause["end_s"])


def _decision(plane: Plane, driver: Driver, place: Path) -> float:
    """From an operator's decision to the report of the copy's start."""
    group = place.name
    job = driver.start("squares", group=group, tasks=2, held=[0], gate=str(place), hold_copies=True)
    try:
        original = plane.running(driver.source, group, 0)[0]
        (decision,) = plane.copy(original, driver.source)["decisions"]
        told = partial(plane.call, "GET", f"/decisions/{decision['id']}")
        eventually(lambda: told()["result"] == "applied")
    finally:
        place.touch()
    job.result(timeout=60)
    plane.ended(driver.source, f"group-{group}")
    return 1000 * told()["outcomes"][0]["after_s"]
