"""How does MapReduce differ from other hosts? A container for each attempt, and a user who says what may run twice.

Hadoop's ApplicationMaster lets one attempt of a task commit its output, and Hadoop's own speculation copies all maps or
all reduces of a job that allows it, whatever they write. So does ours.
"""

from controlplane.hosts.kind import Kind, Verdict
from controlplane.model.facts import StageSubmitted
from controlplane.model.reasons import Reason

FEWEST_COPIES, COPY_SHARE = 10, 0.1
"""Copies for which one cycle asks: 10, or a tenth of the tasks where that is more, as Hadoop's own speculation has at a
time. The budgets of copies bound how many there are."""
CONTAINER_STARTS_MS = 60_000
"""YARN grants a container with the heartbeats of master and nodes, seconds each, and starts a JVM in it; several times
that on a busy cluster."""


def verdict(stage: StageSubmitted) -> Verdict:
    """Maps or reduces may run twice unless the job's user says that Hadoop shall not speculate on them.

    >>> verdict(StageSubmitted(job="j", stage=0, stage_attempt=0, n_tasks=1, copies_enabled=False)).label
    'unsafe'
    """
    if not stage.copies_enabled:
        return Verdict(Reason.OPTED_OUT, "mapreduce.map.speculative or mapreduce.reduce.speculative is false")
    return Verdict(Reason.NONE, "the ApplicationMaster lets one attempt commit")


def copies_to_come(executors: int, slots: int, tasks: int, limit: int) -> int:
    """Copies for which containers would start: each asks for one of its own.

    >>> [copies_to_come(executors=8, slots=1, tasks=tasks, limit=1_000) for tasks in (8, 500, 995)]
    [10, 50, 5]
    """
    del executors, slots
    return max(0, min(limit - tasks, max(FEWEST_COPIES, int(COPY_SHARE * tasks))))


MAPREDUCE = Kind(
    name="mapreduce",
    offers=frozenset({"max_copies", "stop_job"}),
    verdict=verdict,
    copies_to_come=copies_to_come,
    executor_starts_ms=CONTAINER_STARTS_MS,
)
