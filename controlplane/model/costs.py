"""How large are a fact's lists, and what do they cost? In elements, and in units of one fact without lists."""

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

from controlplane.model.facts import (
    MOST_TASKS_OF_STAGE,
    Fact,
    JobSubmitted,
    QueuedApplication,
    QueueDemand,
    ResourceRequested,
    StageSubmitted,
)

_NAME_CHARS = 64
"""Characters of a name that cost as much as one element: 256 take five times the memory of 8, 2.5 times the time."""


def _in_pairs(pairs: list[tuple[int, int]]) -> int:
    return 2 * len(pairs)


def _in_names(names: list[str]) -> int:
    """One for each `_NAME_CHARS` characters begun of a name."""
    if max(map(len, names), default=0) <= _NAME_CHARS:
        return len(names)
    return sum(max(1, -(-len(name) // _NAME_CHARS)) for name in names)


def _in_all(lists: list[list[str]]) -> int:
    return len(lists) + _in_names(list(chain.from_iterable(lists)))


def _in_tags(applications: list[QueuedApplication]) -> int:
    return _in_names([tag for application in applications for tag in application.tags])


_LISTS: dict[type, dict[str, Callable[[Any], int]]] = {
    JobSubmitted: {"host_ids": len, "stages": len, "stage_tasks": len, "edges": _in_pairs},
    StageSubmitted: {
        "partitions": len,
        "input_bytes": len,
        "relative_bytes": len,
        "preferred_hosts": _in_all,
        "done": _in_pairs,
        "committers": _in_names,
    },
    ResourceRequested: {"nodes": _in_names},
    QueueDemand: {"applications": len, "applications.tags": _in_tags},
}
_ELEMENTS_PER_FACT = 200
"""Elements of lists that cost as much as one fact."""
_ELEMENTS_PER_FACT_OF = {"applications": 2, "done": 20}
"""The same if an element is work of its own: an application is a job, and a run of tasks is looked up."""
_TASKS_PER_FACT = 10_000
"""Tasks in runs that cost as much as one more fact: each takes up to 1.8 ns to mark, a fact some 10 microseconds."""


def listed(fact: Fact) -> dict[str, int]:
    """How many numbers, names or applications the lists of a fact hold, by field; a long name counts as several.

    >>> listed(JobSubmitted(job="j", stages=[1, 2], edges=[(1, 2)]))
    {'host_ids': 0, 'stages': 2, 'stage_tasks': 0, 'edges': 2}
    """
    counts = _LISTS.get(type(fact), {})
    return {name: count(getattr(fact, name.partition(".")[0])) for name, count in counts.items()}


def cost_of_lists(facts: Iterable[Fact]) -> float:
    """Cost of the lists in facts, in units of one fact without lists.

    >>> cost_of_lists([JobSubmitted(job="j", stages=[1] * 300), JobSubmitted(job="k")])
    1.5
    >>> cost_of_lists([StageSubmitted(job="j", stage=1, stage_attempt=0, n_tasks=20_000, done=[(0, 19_999)])])
    2.1
    """
    return sum(_cost_of_lists(fact) for fact in facts if type(fact) in _LISTS)


def _cost_of_lists(fact: Fact) -> float:
    costs = [n / _ELEMENTS_PER_FACT_OF.get(name, _ELEMENTS_PER_FACT) for name, n in listed(fact).items()]
    if isinstance(fact, StageSubmitted):
        costs.append(_n_marked(fact.done) / _TASKS_PER_FACT)
    # The price of an application covers a hundred of its tags.
    return max(costs) if isinstance(fact, QueueDemand) else sum(costs)


def _n_marked(runs: list[tuple[int, int]]) -> int:
    """Most tasks that runs mark. Runs that do not ascend within their stage mark none, because they are refused."""
    return min(max(0, sum(last + 1 - first for first, last in runs)), MOST_TASKS_OF_STAGE)
