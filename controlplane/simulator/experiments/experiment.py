"""What is an experiment? One statement of a paper, the points to compute for it, and a judgement by its numbers.

A paper's file lists its experiments in EXPERIMENTS. A *point* is a frozen description of one computation, which takes
seconds on each of its seeds; experiments that need the same one share it. A *claim* is one thing that a paper says and
numbers decide.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from controlplane.simulator.experiments.points import Point


class Scale(StrEnum):
    """How much is computed: enough to see that everything works, or as much as the papers did."""

    SMOKE = "smoke"
    FULL = "full"


class Results:
    """What points measured, by their repr and seed."""

    def __init__(self, scale: Scale, found: Mapping[tuple[str, int], Any]) -> None:
        self.scale = scale
        self._found = found

    def __call__(self, point: Point) -> list[Any]:
        """A result for each seed, in order."""
        name = repr(point)
        return [self._found[name, seed] for seed in point.seeds]


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One line of a chart; a y that is not a number leaves a gap."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    """Where x is not a number either, the line ends and another begins."""
    error: Sequence[float] = ()
    """Standard errors, drawn as bars; with them the points are marked."""
    dashed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """One picture."""

    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One thing the paper says, whether our numbers say so, too, and these numbers."""

    statement: str
    held: bool | None
    """None if it was not tried."""
    numbers: str


class Verdict(StrEnum):
    """Whether all, some or none of an experiment's claims held, in the paper's own system or in a stand-in for it."""

    REPRODUCED = "reproduced"
    PARTLY = "partly"
    NOT = "not reproduced"
    STAND_IN_HOLDS = "holds in a stand-in"
    STAND_IN_PARTLY = "partly holds in a stand-in"
    STAND_IN_FAILS = "does not hold in a stand-in"
    NONE = "no verdict"
    """It claims nothing: its numbers are there to be read."""


OWN_SYSTEM = Verdict.REPRODUCED, Verdict.PARTLY, Verdict.NOT
STAND_IN = Verdict.STAND_IN_HOLDS, Verdict.STAND_IN_PARTLY, Verdict.STAND_IN_FAILS


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What came out of an experiment."""

    claims: Sequence[Claim] = ()
    charts: Sequence[Chart] = ()
    notes: Sequence[str] = ()
    """Numbers that decide nothing."""
    stand_in: bool = False
    """Whether another system than the paper's was measured."""

    @property
    def verdict(self) -> Verdict:
        """By its claims alone."""
        if not self.claims:
            return Verdict.NONE
        held = [claim.held for claim in self.claims]
        every, some, none = STAND_IN if self.stand_in else OWN_SYSTEM
        return every if all(held) else some if any(held) else none

    @property
    def ours(self) -> str:
        """Our numbers in one line."""
        return "; ".join([*(claim.numbers for claim in self.claims), *self.notes])


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """One row of a paper's report."""

    id: str
    """paper/figure-6, in words for file names."""
    source: str
    statement: str
    """What the paper says, in its terms."""
    method: str
    """How it is computed here."""
    points: Callable[[Scale], Sequence[Point]]
    judge: Callable[[Results], Finding]
    tried: str = ""
    """What was tried to see it come out, where it does not."""
    stand_in: str = ""
    """What stands for the paper's own system, and for what; empty where that one is simulated."""

    def finding(self, results: Results) -> Finding:
        """What came out of it."""
        return replace(self.judge(results), stand_in=bool(self.stand_in))

    @property
    def paper(self) -> str:
        """The part of the id before the slash."""
        return self.id.partition("/")[0]


def no_points(scale: Scale) -> Sequence[Point]:
    """For what formulas alone decide."""
    return ()


def experiment(
    paper: str,
    title: str,
    what: str,
    section: str,
    statement: str,
    method: str,
    judge: Callable[[Results], Finding],
    points: Callable[[Scale], Sequence[Point]] = no_points,
    tried: str = "",
    stand_in: str = "",
) -> Experiment:
    """The experiment on what is called `what` in the section of a paper, as in "Figure 6"; its id is made of that."""
    return Experiment(
        id=f"{paper}/{what.lower().replace(' ', '-')}",
        source=f"{title}, section {section}",
        statement=statement,
        method=method,
        points=points,
        judge=judge,
        tried=tried,
        stand_in=stand_in,
    )
