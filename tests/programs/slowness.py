"""How slow, where, and which tasks deserve a copy for it? The one table of what is done to programs, and its labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from msgspec import Struct

from spark_listener.event_log import Attempt
from tests.programs.program import AT_END, Program

HOSTS = 4
SLOTS = 2
"""Of each host: cores, and so tasks at a time."""
WORTH_S = 2.0
"""A labelled task that ends sooner after its onset than this was not worth a copy: it does not count as missed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slowness:
    """One way to be slow. Whatever is zero or empty is not done."""

    stall: str = ""
    """`hang` or `gc`, inside the first attempt of the program's slow task."""
    seconds: float = 0.0
    """How long that, or the freeze, lasts."""
    place: float = 0.5
    """Where the stall comes, as a part of the task's rows; 1 for the end."""
    freeze_after_s: float = 0.0
    """From the program's start until all processes of `host` stop."""
    duty: float = 0.0
    """Share of each second in which processes of `host` run."""
    host: str = ""
    cold: bool = False
    """Whether executors have run nothing before."""
    slow_source_s: float = 0.0
    """Time that the slow task's original takes to read its split, where the others take `source_s`."""
    source_s: float = 0.0
    only: str = ""
    """Programs that it fits: `jvm`, `iterator`, `paced`, or all."""


SLOWNESS: dict[str, Slowness] = {
    "none": Slowness(),
    "hang": Slowness(stall="hang", seconds=20),
    "hang-first": Slowness(stall="hang", seconds=20, place=0),
    "hang-last": Slowness(stall="hang", seconds=20, place=1, only="iterator"),
    "gc": Slowness(stall="gc", seconds=15, only="jvm"),
    "slow-host": Slowness(host="127.0.0.4", duty=0.25),
    "freeze": Slowness(host="127.0.0.3", freeze_after_s=3, seconds=12),
    "slow-source": Slowness(slow_source_s=20, source_s=1.5, only="paced"),
    "cold": Slowness(cold=True),
}


class Label(Struct, frozen=True):
    """A task that deserves a copy from `onset_ms` on, on any host but `host`; wall clock."""

    stage: int
    stage_attempt: int
    task: int
    onset_ms: int
    host: str = ""


def fits(slowness: Slowness, program: Program) -> bool:
    """Whether a program can be slowed so."""
    kinds = {"jvm": not program.python, "iterator": program.iterator, "paced": program.paced}
    return kinds.get(slowness.only, True)


def stall_row(slowness: Slowness, program: Program) -> int:
    """The row of the slow task at which it stalls."""
    return AT_END if slowness.place == 1 else round(slowness.place * program.rows)


def labels(
    slowness: Slowness,
    program: Program,
    attempts: Sequence[Attempt],
    notes: Iterable[dict[str, int]],
    frozen_ms: tuple[int, int] | None,
) -> list[Label]:
    """Which tasks deserved a copy. `notes` are those of stalls, `frozen_ms` begin and end of the freeze.

    A stalled task does, and whatever ran beside garbage collection; so do all tasks that ran on a frozen host while it
    was, all that ran on a slow host, and the one whose source was slow. All others must not get one.
    """
    found: dict[tuple[int, int, int], Label] = {}

    def add(attempt: Attempt, onset_ms: int) -> None:
        key = (attempt.stage, attempt.stage_attempt, attempt.task)
        found.setdefault(key, Label(*key, onset_ms=onset_ms, host=attempt.host))

    originals = [attempt for attempt in attempts if not attempt.speculative]
    for note in notes:
        stalled = (note["stage"], note["stage_attempt"], note["task"])
        hit = [one for one in originals if (one.stage, one.stage_attempt, one.task) == stalled]
        found[stalled] = Label(*stalled, onset_ms=note["at_ms"], host=hit[0].host if hit else "")
        end_ms = note["at_ms"] + 1000 * slowness.seconds
        for one in originals if slowness.stall == "gc" else ():
            if hit and one.host == hit[0].host and one.launch_ms < end_ms and one.finish_ms > note["at_ms"]:
                add(one, max(note["at_ms"], one.launch_ms))
    for one in originals:
        if frozen_ms and one.host == slowness.host and one.launch_ms < frozen_ms[1] and one.finish_ms > frozen_ms[0]:
            add(one, max(frozen_ms[0], one.launch_ms))
        if slowness.duty and one.host == slowness.host:
            add(one, one.launch_ms)
        if slowness.slow_source_s and one.task == program.slow_task and one.stage == min(a.stage for a in originals):
            add(one, one.launch_ms)
    return sorted(found.values(), key=lambda label: (label.onset_ms, label.stage, label.task))
