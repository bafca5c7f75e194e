"""Are stragglers of real programs found, healthy tasks left alone, and jobs sooner done? From the cases that were run.

`python -m tests.programs all` runs them, for hours; what it has left in `build/programs` is looked at here.
"""

import statistics

from tests.bench.statistics import ratio_interval
from tests.programs.__main__ import cases_in
from tests.programs.case import CONTROL, TUNED, Case, launched, score
from tests.programs.measures import beside_stock, delays_s
from tests.programs.runner import FOLDER

UNHURT = 1.05
"""Of stock's time, where nothing is slow."""
SPED_UP = 0.7
"""Of stock's time, where something is."""


def rows() -> list[dict]:
    """Rows `detect-recall`, `detect-precision`, `detect-healthy`, `detect-delay`, and `program-ratio` by slowness."""
    cases = cases_in(FOLDER)
    ours = [case for case in cases if case.contestant == CONTROL]
    if not ours:
        print("no case of the corpus was run")
        return []
    commits = ", ".join(sorted({case.commit for case in cases}))
    return [row | {"commit": commits} for row in [*_detection(ours), *_delay(cases), *_ratios(cases)]]


def _detection(ours: list[Case]) -> list[dict]:
    whole = score((case, launched(case)) for case in ours)
    healthy = score((case, launched(case)) for case in ours if case.slowness == "none")
    found = [
        ("detect-recall", whole.recall, "of labelled tasks", 0.95, lambda value, goal: value >= goal, whole.deserving),
        ("detect-precision", whole.precision, "of copies", 0.85, lambda value, goal: value >= goal, whole.copies),
        (
            "detect-healthy",
            200 * healthy.copies / healthy.healthy if healthy.healthy else None,
            "copies a 200 tasks where nothing is slow",
            1.0,
            lambda value, goal: value <= goal,
            healthy.healthy,
        ),
    ]
    return [
        _row(name, round(value, 3), unit, None, None, goal, is_met(value, goal), n, [])
        for name, value, unit, goal, is_met, n in found
        if value is not None
    ]


def _delay(cases: list[Case]) -> list[dict]:
    ours, tuned = delays_s(cases, CONTROL), delays_s(cases, TUNED)
    both = sorted(ours.keys() & tuned.keys())
    if not both:
        return []
    value_s, peer_s = (statistics.median(found[one] for one in both) for found in (ours, tuned))
    peer = f"tuned stock {peer_s:.2f}; only ours found {len(ours) - len(both)}, only its {len(tuned) - len(both)}"
    ratio = round(value_s / peer_s, 3)
    return [_row("detect-delay", round(value_s, 2), "s", peer, ratio, 1.0, ratio <= 1.0, len(both), [])]


def _ratios(cases: list[Case]) -> list[dict]:
    found = []
    for kind, (values_s, peers_s) in beside_stock(cases, CONTROL).items():
        ratio, interval = ratio_interval(values_s, peers_s)
        goal = UNHURT if kind in ("none", "cold") else SPED_UP
        peer, is_met = f"stock {statistics.fmean(peers_s):.2f}", max([ratio, *interval]) <= goal
        spread = [round(bound, 3) for bound in interval]
        value = round(statistics.fmean(values_s), 2)
        found.append(
            _row(f"program-ratio {kind}", value, "s", peer, round(ratio, 3), goal, is_met, len(values_s), spread)
        )
    return found


def _row(*cells: object) -> dict:
    names = ("name", "value", "unit", "peer", "ratio", "goal", "met", "runs", "spread")
    return dict(zip(names, cells, strict=True))
