"""How many jobs with deadlines are late under tuned stock and under ours, and was that to be foreseen? Resumable."""

import os
import statistics
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from rich.console import Console

from spark_listener.demo.application import Outcome
from spark_listener.demo.contestants import Contestant
from spark_listener.demo.deadlines import (
    COMPETITORS,
    LOADS,
    OURS,
    SHED_PLUS,
    SIZE,
    TUNED,
    UNIFIED,
    calibration,
    deadline_of,
    deadline_rows,
    due,
    in_time,
    print_table,
    workload,
    write_json,
)
from spark_listener.demo.report import interval_95
from spark_listener.demo.runner import check_results
from spark_listener.demo.world import Workload, World
from tests.bench.__main__ import ROOT
from tests.bench.demo_rounds import measured, on_one_cluster
from tests.bench.sim_real import MODELS, PLACEMENTS, DemoPlay, Model, Overhead, mean_overhead

KINDS = ("independent", "half")
JOBS = 20
"""In a round."""
ROUNDS = int(os.environ.get("DEMO_ROUNDS", "6"))
ALONE_ROUNDS = 2
FIRST_SEED = 3001
"""The demo's seeds begin with 1, those that set deadlines with 1101."""
MOST_LATE = 0.5
"""Of what tuned stock has, where slowness is independent."""
WITHIN_POINTS = 10.0
SIMULATED = {
    TUNED.name: MODELS["stock-tuned"],
    SHED_PLUS.name: Model(allocator="fifo", speculator="shed-plus"),
    UNIFIED.name: MODELS["unified+unified"],
}


def rows() -> list[dict]:
    """Rows `deadline-demo-<world>-<load> <ours>`, and what the simulator foretells for each contestant."""
    return [row for kind, load in product(KINDS, LOADS) for row in _rows(kind, load)]


def _rows(kind: str, load: float) -> list[dict]:
    name = f"deadline-demo-{kind}-{load:g}"
    folder, work = ROOT / "build" / name, workload(load, JOBS)
    alone = measured(folder.with_name(f"{name}-alone"), ALONE_ROUNDS, [TUNED], partial(_run_alone, kind, work))
    work = due(work, deadline_of(alone[TUNED.name]))
    outcomes = measured(folder, ROUNDS, COMPETITORS, partial(_run_round, kind, work))
    table = deadline_rows(load, outcomes, kind)
    print_table(table, Console())
    write_json(table, folder.with_suffix(".json"))
    check_results([one.row for one in table])
    overhead = mean_overhead(folder, outcomes[TUNED.name], _worlds(kind))
    foretold = {one: foretold_late(model, work, _worlds(kind), overhead) for one, model in SIMULATED.items()}
    is_goal = kind == "independent"
    return [
        *(late_row(name, one, outcomes, is_goal=is_goal) for one in OURS),
        *(
            foretold_row(name, foretold[one.name], outcomes[one.name], is_goal=is_goal and one in OURS)
            for one in COMPETITORS
        ),
    ]


def _worlds(kind: str) -> list[World]:
    return [SIZE.world(seed=FIRST_SEED + number, kind=kind) for number in range(ROUNDS)]


def _run_alone(kind: str, work: Workload, number: int, work_dir: Path) -> dict[str, list[Outcome]]:
    world = calibration(kind, ALONE_ROUNDS)[number - 1]
    return on_one_cluster([TUNED], SIZE, world, work, number, work_dir)


def _run_round(kind: str, work: Workload, number: int, work_dir: Path) -> dict[str, list[Outcome]]:
    return on_one_cluster(COMPETITORS, SIZE, _worlds(kind)[number - 1], work, number, work_dir)


def late_percent(outcome: Outcome) -> float:
    """The share of a round's jobs that were late."""
    return 100 * (1 - in_time(outcome) / len(outcome.deadline_s))


def late_row(name: str, one: Contestant, outcomes: dict[str, list[Outcome]], *, is_goal: bool) -> dict:
    """Late jobs of one of ours over tuned stock's.

    The spread is the interval of what ours has beyond the goal's share of stock's, in percentage points and paired by
    round; the goal is met where all of it is at most 0, for which it takes two rounds.
    """
    ours, tuned = ([late_percent(one) for one in outcomes[each.name]] for each in (one, TUNED))
    beyond = [mine - MOST_LATE * theirs for mine, theirs in zip(ours, tuned, strict=True)]
    spread = interval_95(beyond) or ()
    return {
        "name": f"{name} {one.name}",
        "value": round(statistics.fmean(ours), 1),
        "unit": "% late",
        "peer": f"{TUNED.name} {statistics.fmean(tuned):.1f}",
        "ratio": round(statistics.fmean(ours) / statistics.fmean(tuned), 3) if any(tuned) else None,
        "goal": MOST_LATE if is_goal else None,
        "met": (bool(spread) and max(spread) <= 0) if is_goal else None,
        "runs": len(ours),
        "spread": [round(bound, 1) for bound in spread],
        "deadline_s": round(next(iter(outcomes[TUNED.name][0].deadline_s.values())), 2),
        "losing_core_s": {
            each: round(statistics.fmean(found.copies.losing_core_s for found in rounds), 1)
            for each, rounds in outcomes.items()
        },
    }


def foretold_late(model: Model, work: Workload, worlds: list[World], overhead: Overhead) -> float:
    """The share of jobs that are late in the simulator, in percent, given the draws of the rounds."""
    deadline_s = np.array([job.deadline_s for job in work.jobs])
    late = [
        DemoPlay(model, work.jobs, SIZE.cores_per_worker, world, overhead, at).job_s() > deadline_s
        for world in worlds
        for at in range(PLACEMENTS)
    ]
    return 100 * float(np.mean(late))


def foretold_row(name: str, foretold: float, outcomes: list[Outcome], *, is_goal: bool) -> dict:
    """What the simulator foretells beside what was measured; the goal bounds their distance in percentage points."""
    late = statistics.fmean(map(late_percent, outcomes))
    return {
        "name": f"{name} {outcomes[0].contestant} simulated",
        "value": round(foretold, 1),
        "unit": "% late",
        "peer": f"measured {late:.1f}",
        "ratio": None,
        "goal": WITHIN_POINTS if is_goal else None,
        "met": abs(foretold - late) <= WITHIN_POINTS if is_goal else None,
        "runs": len(outcomes),
        "spread": None,
    }
