"""How do kinds of hosts differ? The fields of `Kind`; all other code treats hosts alike."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from controlplane.model.facts import StageSubmitted
from controlplane.model.reasons import Reason


@dataclass(frozen=True, slots=True)
class Verdict:
    """`reason` is `NONE` if copies are safe; `because` is the basis of the verdict."""

    reason: Reason
    because: str

    @property
    def label(self) -> str:
        """`safe`, `unknown` or `unsafe`."""
        if self.reason is Reason.NONE:
            return "safe"
        return "unknown" if self.reason is Reason.UNKNOWN_OUTPUT else "unsafe"


UNKNOWN_SINK = Verdict(Reason.UNKNOWN_OUTPUT, "unknown sink")


class HostAnswer(NamedTuple):
    """The sentence for a code, and whether the order came too late."""

    sentence: str
    is_moot: bool = False
    """Too late: the job, stage, task or attempt had ended."""


class CopiesToCome(Protocol):
    """For how many copies executors start; see `controlplane.hosts.spark.copies_to_come`."""

    def __call__(self, *, executors: int, slots: int, tasks: int, limit: int) -> int:
        """0 if none is asked for."""


def none_to_come(*, executors: int, slots: int, tasks: int, limit: int) -> int:
    """No copies: the sources of such a host have no executors to ask for."""
    del executors, slots, tasks, limit
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of host: a row of `KINDS`."""

    name: str
    """Prefix of its sources' names, as in `spark:app-1`."""
    is_queue: bool = False
    """Whether its sources are leaf queues, whose jobs are applications; else drivers, which run stages."""
    offers: frozenset[str] = frozenset()
    """Fields of `Capabilities` that its shims may have."""
    application_prefix: Callable[[int], str] = lambda _: ""
    """(start of a cluster, Unix milliseconds) -> how the ids of its applications begin; for leaf queues."""
    verdict: Callable[[StageSubmitted], Verdict] = lambda _: UNKNOWN_SINK
    """May the tasks of this stage run twice?"""
    copies_to_come: CopiesToCome = none_to_come
    """Copies for which further executors would start, beyond the tasks that run, wait or are ordered."""
    executor_starts_ms: int = 0
    """Least time to live of an order for a copy on an executor that has yet to start."""
    python_operators: tuple[str, ...] = ()
    """Parts of the names of operators that hand rows to Python workers."""
    answers: Mapping[str, HostAnswer] = field(default_factory=dict)
    """Why this kind of host may not carry out an order, by code, in addition to the answers of any host."""
