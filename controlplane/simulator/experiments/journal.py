"""What has been computed already? Points' results, a line each, appended as they come: a killed run goes on from there.

Only lines of the same code count (`controlplane.simulator.provenance`).
"""

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from controlplane.simulator.experiments.experiment import Experiment, Finding, Point, Results, Scale
from controlplane.simulator.provenance import provenance


def missing(experiments: Iterable[Experiment], scale: Scale, folder: Path) -> list[Point]:
    """The experiments' points that are still to be measured, each once."""
    known = _read(scale, folder)
    points = {repr(point): point for one in experiments for point in one.points(scale)}
    return [point for name, point in points.items() if name not in known]


def measure(point: Point, scale: Scale, folder: Path) -> None:
    """Measure one point and keep its result."""
    started_s = time.perf_counter()
    result = point.measure()
    seconds = round(time.perf_counter() - started_s, 3)
    line = {"point": repr(point), **asdict(provenance()), "seconds": seconds, "result": result}
    folder.mkdir(parents=True, exist_ok=True)
    with _path(scale, folder).open("a") as file:
        file.write("\n" + json.dumps(line))


def findings(experiments: Sequence[Experiment], scale: Scale, folder: Path) -> list[tuple[Experiment, Finding]]:
    """Every experiment with what came out. Raises KeyError if a point of one is missing."""
    results = Results(scale, _read(scale, folder))
    return [(one, one.judge(results)) for one in experiments]


def _read(scale: Scale, folder: Path) -> dict[str, Any]:
    """Results by point. A line starts with its line break, so one torn by a kill spoils only itself."""
    path = _path(scale, folder)
    found: dict[str, Any] = {}
    for text in path.read_text().splitlines() if path.exists() else ():
        try:
            line = json.loads(text)
        except json.JSONDecodeError:
            continue
        if line["code"] == provenance().code:
            found[line["point"]] = line["result"]
    return found


def _path(scale: Scale, folder: Path) -> Path:
    return folder / f"{scale}.jsonl"
