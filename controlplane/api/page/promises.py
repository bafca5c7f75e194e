"""How are promised probabilities of deadlines drawn beside the shares kept, and a job's own put in words?"""

from collections.abc import Iterator
from dataclasses import dataclass

from controlplane.api.formats import Figure, counted, number, share
from controlplane.estimators.calibration import Calibration
from controlplane.model.snapshot import PocdState
from controlplane.store.rows import EndedPromise

SIDE = 100.0
"""Units of the drawing from 0 to 1, on both axes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """One bin, with its place and size in units of the drawing."""

    x: float
    y: float
    radius: float
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """Shares kept, upwards, over probabilities promised, to the right; they agree on the diagonal."""

    title: str
    about: str
    dots: list[Dot]
    table: Calibration


def plot(title: str, about: str, found: Calibration) -> Plot:
    """A calibration with a dot for each bin; a bin with more jobs has a larger one."""
    most = max((each.jobs for each in found.bins), default=1)
    dots = [
        Dot(
            x=round(SIDE * each.mean_pocd, 2),
            y=round(SIDE * (1.0 - each.kept_share), 2),
            radius=round(1.5 + 3.0 * (each.jobs / most) ** 0.5, 2),
            label=f"{counted(each.jobs, 'job')}: {number(each.mean_pocd)} promised, {number(each.kept_share)} kept",
        )
        for each in found.bins
    ]
    return Plot(title=title, about=about, dots=dots, table=found)


def headline(jobs: int, kept: int) -> str:
    """How many deadlines were kept, in a sentence.

    >>> headline(4, 3), headline(0, 0)
    ('3 of 4 deadlines kept, 75 %.', 'No job with a deadline has ended.')
    """
    if not jobs:
        return "No job with a deadline has ended."
    return f"{kept} of {counted(jobs, 'deadline')} kept, {share(kept, jobs)}."


def deadline_figures(pocd: PocdState | None, ended: EndedPromise | None) -> Iterator[Figure]:
    """The probability that a live job keeps its deadline, or what an ended one was promised and came to."""
    if ended is not None:
        first, newest = ended.first_pocd, ended.newest_pocd
        never = "its probability was never known"
        promised = never if first is None or newest is None else f"promised {number(first)}, then {number(newest)}"
        yield Figure(name="Deadline", value="kept" if ended.kept else "missed", beside=promised)
    elif pocd is not None:
        value = "hopeless" if pocd.hopeless else number(pocd.choices[0].pocd) if pocd.choices else "unknown"
        yield Figure(name="PoCD", value=value, beside="chance to be in time")


def chosen(pocd: PocdState) -> list[str]:
    """The copies that tasks have been given, in words, a task each."""
    return [
        f"Task {each.index} of stage {each.stage}{f'.{each.stage_attempt}' if each.stage_attempt else ''}: "
        f"{counted(each.copies, 'copy')} running, {each.ordered_copies} ordered"
        for each in pocd.copied
    ]
