"""How are the corpus's results read? As lines for a case, and as tables over many."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from rich.console import Console
from rich.table import Table

from tests.bench.statistics import ratio_interval
from tests.programs.case import CONTROL, SHADOW, TUNED, Case, Copy, could_be_copied, launched, score, task_key
from tests.programs.measures import beside_stock, delays_s
from tests.programs.replay import Wanted

_console = Console(width=160, highlight=False)
T = TypeVar("T")
Judged = tuple[Case, Sequence[Copy]]


def print_case(told: str, case: Case) -> None:
    """One line of a case that has just been run."""
    one = score([(case, launched(case))])
    wrong = one.copies - one.right
    _console.print(
        f"{told}: {case.job_s:.1f} s, {len(case.attempts)} attempts, {len(case.labels)} labelled,"
        f" {one.found} of {one.deserving} found, {wrong} copies of healthy tasks, load {case.load:.1f}",
        soft_wrap=True,
    )


def print_wanted(case: Case, wanted: Sequence[Wanted]) -> None:
    """What a replay would have copied, and which labelled tasks it would have missed."""
    _console.print(f"\n{case.program} {case.slowness} ({case.operator}), {case.job_s:.1f} s", soft_wrap=True)
    for one in wanted:
        copy = one.copy
        onset = "" if copy.delay_s is None else f", {copy.delay_s:.1f} s after onset"
        numbers = " ".join(f"{name}={value:.3g}" for name, value in one.inputs.items() if value is not None)
        _console.print(
            f"  {copy.verdict:<6} {copy.stage}.{copy.stage_attempt}/{copy.task} on {one.host}"
            f" at {(copy.at_ms - case.begun_ms) / 1000:.1f} s{onset}: {one.reason}  {numbers}",
            soft_wrap=True,
        )
    found = {task_key(one.copy) for one in wanted if one.copy.verdict != "wrong"}
    for label in case.labels:
        if task_key(label) not in found and could_be_copied(case, label):
            at_s = (label.onset_ms - case.begun_ms) / 1000
            _console.print(f"  missed {label.stage}.{label.stage_attempt}/{label.task} slow from {at_s:.1f} s on")


def print_scores(pairs: Sequence[Judged], title: str) -> None:
    """A row for each kind of slowness, and one for all."""
    rows = _table(title)
    for kind, some in _by(pairs, lambda pair: pair[0].slowness).items():
        _add(rows, kind, some)
    _add(rows, "all", pairs)
    _console.print(rows)


def print_matrix(cases: Sequence[Case]) -> None:
    """The scores of each contestant, its detection beside tuned stock's, and its job times beside stock's default."""
    speculating = [case for case in cases if case.contestant != SHADOW]
    for contestant, some in _by(speculating, lambda case: case.contestant).items():
        print_scores([(case, launched(case)) for case in some], contestant)
    _print_delays(cases)
    _print_ratios(cases)
    _print_results(cases)


def _print_delays(cases: Sequence[Case]) -> None:
    """Detection from onset over the tasks that both found."""
    ours, tuned = delays_s(cases, CONTROL), delays_s(cases, TUNED)
    both = ours.keys() & tuned.keys()
    if both:
        _console.print(
            f"detect-delay, median over {len(both)} tasks that both found:"
            f" control {statistics.median(ours[one] for one in both):.2f} s,"
            f" tuned {statistics.median(tuned[one] for one in both):.2f} s;"
            f" only control found {len(ours) - len(both)}, only tuned {len(tuned) - len(both)}"
        )


def _print_ratios(cases: Sequence[Case]) -> None:
    """`program-ratio`: job time over stock's with default speculation, geometric mean with its interval, by kind."""
    rows = Table("program-ratio", "slowness", "cases", "ratio", "interval")
    for contestant in (CONTROL, TUNED):
        for kind, (values_s, peers_s) in beside_stock(cases, contestant).items():
            ratio, interval = ratio_interval(values_s, peers_s)
            rows.add_row(
                contestant, kind, str(len(values_s)), f"{ratio:.2f}", " to ".join(f"{bound:.2f}" for bound in interval)
            )
    _console.print(rows)


def _print_results(cases: Sequence[Case]) -> None:
    """Say where contestants came to different results."""
    for (program, _), some in _by(cases, lambda case: (case.program, case.spark)).items():
        if len({case.result for case in some}) > 1:
            _console.print(
                f"{program}: results differ: {[(case.name, case.result[:8]) for case in some]}", soft_wrap=True
            )


def _table(title: str) -> Table:
    names = ("cases", "recall", "precision", "copies", "of healthy", "per 200 healthy tasks", "median delay s")
    return Table("slowness", *names, title=title, title_justify="left")


def _add(rows: Table, kind: str, pairs: Sequence[Judged]) -> None:
    one = score(pairs)
    wrong = one.copies - one.right
    rows.add_row(
        kind,
        str(one.cases),
        "-" if one.recall is None else f"{one.recall:.2f} ({one.found}/{one.deserving})",
        "-" if one.precision is None else f"{one.precision:.2f}",
        str(one.copies),
        str(wrong),
        f"{200 * wrong / one.healthy:.2f}" if one.healthy else "-",
        f"{statistics.median(one.delays_s):.1f}" if one.delays_s else "-",
    )


def _by(items: Sequence[T], key: Callable[[T], Any]) -> dict[Any, list[T]]:
    """The items by their key, keys ascending."""
    groups: dict[Any, list[T]] = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return dict(sorted(groups.items()))
