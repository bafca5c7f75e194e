"""What does a policy do with jobs of each size on the master-worker system? All that its simulator knows of it."""

from dataclasses import dataclass, replace
from math import inf

import numpy as np

from controlplane.compiled import rule
from controlplane.model.columns import Floats, Ints
from controlplane.policies.redundancy.theory.execution import Execution, coded, small_and_large
from controlplane.policies.redundancy.theory.order_statistics import expanded_tasks
from controlplane.policies.redundancy.theory.relaunch import relaunched
from controlplane.policies.redundancy.theory.system import System
from controlplane.policies.whole_slots import TOLERANCE


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """Options of the master-worker system's policies; each policy takes those it has."""

    threshold_s: float | None = None
    """Largest demand that is expanded, slot-seconds; None for the policy's own."""
    expansion_rate: float = 2.0
    spare_tasks: int | None = None
    """Spare tasks for every job, instead of a rate."""
    relaunch_factor: float | None = None
    """Factor for all jobs; None for the policy's own."""

    def started(self, tasks: int) -> int:
        """Tasks that an expanded job of `tasks` starts, spare ones included.

        >>> Choices().started(3), Choices(spare_tasks=1).started(3)
        (6, 4)
        """
        return expanded_tasks(tasks, self.expansion_rate) if self.spare_tasks is None else tasks + self.spare_tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a policy does with a job of k tasks; columns of shape (max_tasks + 1,), row k."""

    expanded_tasks: Ints
    """Tasks started for a job within the threshold; others start k."""
    threshold_s: float
    """Largest estimated demand that is expanded; 0 for none, infinity for all."""
    relaunch_factor: Floats
    """Infinity for no relaunch."""

    def expanded(self, tail_index: float) -> tuple[Execution, ...]:
        """Runs of jobs of 1, 2, ... tasks within the threshold, per unit of service time."""
        return tuple(coded(k, started, tail_index) for k, started in enumerate(self.expanded_tasks.tolist()) if k)

    def execution(self, system: System) -> Execution:
        """An arbitrary job's run, were estimates exact and tasks cancelled at once."""
        tail_index = system.slowdown_tail_index
        large = [relaunched(k, factor, tail_index) for k, factor in enumerate(self.relaunch_factor.tolist()) if k]
        return small_and_large(system, self.threshold_s, self.expanded(tail_index), large)


@rule
def is_small(demand_s: float, threshold_s: float) -> bool:
    """Whether a job of this demand, slot-seconds, is within the threshold.

    Source: Redundancy and relaunch, section IV, "Redundant-small policy".

    >>> is_small(demand_s=0.1 + 0.2, threshold_s=0.3), is_small(demand_s=0.4, threshold_s=0.3)
    (True, False)
    """
    return demand_s <= threshold_s * (1.0 + TOLERANCE)


def plain_plan(system: System) -> Plan:
    """No job is expanded and none relaunched."""
    sizes = np.arange(system.max_tasks + 1)
    return Plan(expanded_tasks=sizes, threshold_s=0.0, relaunch_factor=np.full(len(sizes), inf))


def expanding_plan(system: System, choices: Choices) -> Plan:
    """Every job is expanded as was chosen."""
    plan = plain_plan(system)
    started = np.array([choices.started(tasks) for tasks in plan.expanded_tasks.tolist()])
    return replace(plan, expanded_tasks=started, threshold_s=inf)
