"""What does applying one report need? Its source, its time, and what it has changed and named so far."""

from dataclasses import dataclass

from controlplane.model.changes import Changes
from controlplane.model.cluster import Cluster, SourceState
from controlplane.model.facts import (
    AttemptEnded,
    AttemptStarted,
    ExecutorAdded,
    ExecutorLost,
    JobEnded,
    JobSubmitted,
    ResourceRequested,
    StageEnded,
    StageSubmitted,
)

Aged = (
    AttemptEnded
    | AttemptStarted
    | ExecutorAdded
    | ExecutorLost
    | JobEnded
    | JobSubmitted
    | ResourceRequested
    | StageEnded
    | StageSubmitted
)


@dataclass(frozen=True, slots=True)
class Intake:
    """One report on its way into the cluster; `mentioned` collects the ids that it names, as (kind, id)."""

    cluster: Cluster
    source: SourceState
    received_s: float
    changes: Changes
    mentioned: set[tuple[str, object]]
    full: bool
    """Whether the report is full, so that asking for more would bring nothing."""

    def at_s(self, fact: Aged) -> float:
        """When a fact happened, on the engine's clock."""
        return self.received_s - fact.age_ms / 1000
