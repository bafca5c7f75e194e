"""Are stragglers of real programs found, healthy tasks left alone, and jobs sooner done? From the cases that were run.

`python -m tests.programs all` runs them, for hours; what it has left in `build/programs` is looked at here.
"""

import statistics
from collections.abc import Callable

from tests.bench.statistics import ratio_interval
from tests.programs.__main__ import cases_in
from tests.programs.case import CONTROL, STOCK, TUNED, Case, Score, launched, score
from tests.programs.measures import beside_stock, delays_s
from tests.programs.runner import FOLDER

UNHURT = 1.05
"""Of stock's time, where nothing is slow."""
SPED_UP = 0.7
"""Of stock's time, where something is."""


def rows() -> list[dict]:
    """Rows `detect-recall`, `-precision`, `-delay` or `detect-healthy`, and `program-ratio`, by slowness."""
    cases = cases_in(FOLDER)
    found = []
    for kind in sorted({case.slowness for case in cases if case.contestant == CONTROL}):
        some = [case for case in cases if case.slowness == kind]
        commits = ", ".join(sorted({case.commit for case in some}))
        of_kind = [*_detection(kind, some), *_delay(kind, some), *_ratios(some)]
        found += [row | {"commit": commits} for row in of_kind]
    if not found:
        print("no case of the corpus was run")
    return found


def _detection(kind: str, cases: list[Case]) -> list[dict]:
    """Recall and precision, or, where nothing is slow, copies of healthy tasks; stock's beside ours."""
    scores = {
        name: score((case, launched(case)) for case in cases if case.contestant == name)
        for name in (CONTROL, STOCK, TUNED)
    }
    ours = scores[CONTROL]

    def peers(told: Callable[[Score], str]) -> str:
        return ", ".join(f"{name} {told(scores[name])}" for name in (STOCK, TUNED) if scores[name].cases)

    if not ours.deserving:
        value = round(200 * ours.copies / ours.healthy, 3)
        peer = peers(lambda one: f"{200 * one.copies / one.healthy:.2f}")
        unit = "copies a 200 healthy tasks"
        return [_row(f"detect-healthy {kind}", value, unit, peer, None, 1.0, value <= 1.0, ours.healthy, [])]
    units = {"recall": "of labelled tasks", "precision": "of copies"}
    rows = [
        ("recall", ours.found, ours.deserving, 0.95, peers(lambda one: f"{one.found} of {one.deserving}")),
        ("precision", ours.right, ours.copies, 0.85, peers(lambda one: f"{one.right} of {one.copies}")),
    ]
    return [
        _row(
            f"detect-{name} {kind}",
            round(part / whole, 3),
            units[name],
            peer,
            None,
            goal,
            part >= goal * whole,
            whole,
            [],
        )
        for name, part, whole, goal, peer in rows
        if whole
    ]


def _delay(kind: str, cases: list[Case]) -> list[dict]:
    ours, tuned = delays_s(cases, CONTROL), delays_s(cases, TUNED)
    both = sorted(ours.keys() & tuned.keys())
    if not both:
        return []
    value_s, peer_s = (statistics.median(found[one] for one in both) for found in (ours, tuned))
    peer = f"tuned stock {peer_s:.2f}; only ours found {len(ours) - len(both)}, only its {len(tuned) - len(both)}"
    ratio = round(value_s / peer_s, 3)
    return [_row(f"detect-delay {kind}", round(value_s, 2), "s", peer, ratio, 1.0, ratio <= 1.0, len(both), [])]


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
