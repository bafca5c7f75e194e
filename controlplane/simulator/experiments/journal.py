"""What has been computed already? A line for a point and a seed, appended as it comes: a killed run goes on from there.

Only lines of the same code count (`controlplane.simulator.provenance`). Sorted at the end, the file has the same bytes
wherever and in whatever order it was computed. Several runs may share a folder: by a lock, each waits for the other's
line or sorting.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Any

from controlplane.processes import write_whole
from controlplane.simulator.experiments.experiment import Experiment, Finding, Results, Scale
from controlplane.simulator.experiments.points import Point
from controlplane.simulator.provenance import provenance


def missing(experiments: Iterable[Experiment], scale: Scale, folder: Path) -> list[tuple[Point, int]]:
    """The experiments' points and seeds that are still to be measured, each once."""
    known = _read(scale, folder)
    points = {repr(point): point for one in experiments for point in one.points(scale)}
    return [(point, seed) for name, point in points.items() for seed in point.seeds if (name, seed) not in known]


def keep(point: Point, seed: int, result: Any, scale: Scale, folder: Path) -> None:
    """Write down what a point measured on a seed."""
    line = {"point": repr(point), "seed": seed, **asdict(provenance(with_engine=point.with_engine)), "result": result}
    with _alone(scale, folder), _path(scale, folder).open("a") as file:
        file.write("\n" + json.dumps(line))


def sort(scale: Scale, folder: Path) -> None:
    """Order the lines by code, point and seed, and drop torn ones."""
    with _alone(scale, folder):
        lines = _lines(_path(scale, folder))
        if lines:
            write_whole(_path(scale, folder), "\n".join(json.dumps(lines[key]) for key in sorted(lines)))


def findings(experiments: Sequence[Experiment], scale: Scale, folder: Path) -> list[tuple[Experiment, Finding]]:
    """Every experiment with what came out. Raises KeyError if a point of one is missing."""
    results = Results(scale, _read(scale, folder))
    return [(one, one.finding(results)) for one in experiments]


def _read(scale: Scale, folder: Path) -> dict[tuple[str, int], Any]:
    """Results of the running code, by point and seed."""
    lines = _lines(_path(scale, folder))
    codes = {provenance(with_engine=with_engine).code for with_engine in (False, True)}
    return {(point, seed): line["result"] for (code, point, seed), line in lines.items() if code in codes}


def _lines(path: Path) -> dict[tuple[str, str, int], dict[str, Any]]:
    """Lines by code, point and seed. A line starts with its line break, so one torn by a kill spoils only itself."""
    found = {}
    for text in path.read_bytes().splitlines() if path.exists() else ():
        try:
            line = json.loads(text)
            code, point, seed, _ = (line[name] for name in ("code", "point", "seed", "result"))
        except (ValueError, KeyError, TypeError):
            continue
        if isinstance(code, str) and isinstance(point, str) and isinstance(seed, int):
            found[code, point, seed] = line
    return found


@contextmanager
def _alone(scale: Scale, folder: Path) -> Iterator[None]:
    """Nobody else writes meanwhile. The lock has a file of its own, for sorting puts another in the journal's place."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{scale}.lock").open("a") as file:
        flock(file, LOCK_EX)
        yield


def _path(scale: Scale, folder: Path) -> Path:
    return folder / f"{scale}.jsonl"
