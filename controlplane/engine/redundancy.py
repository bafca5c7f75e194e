"""What do speculators that act on expectations need to know beforehand? Limits and ages, by load and tail index."""

from collections.abc import Mapping

import numpy as np

from controlplane.engine.cycle import Cycle
from controlplane.model.cluster import SourceState
from controlplane.policies import dispatch
from controlplane.policies.policy import Policy
from controlplane.policies.redundancy.of_pool import best_factor, small_demand_s

LOAD_STEPS = 20
TAIL_STEPS = 10
"""Loads and tail indices are told apart by 1 / so much, which bounds how many searches there ever are.

A tail index is one step at least: of the heaviest tails, as of a cluster that hangs, no moment exists either way.
"""
TASK_BITS = 6
"""A stage's number of tasks counts with its first so many binary digits, for the same end: exact below 64, above it off
by a 64th at most, which lengthens a stage by less than a thousandth."""


def look_ahead(cycle: Cycle, source: SourceState) -> None:
    """Write down what the pool's speculator goes by: for small jobs their limit, for relaunches each stage's factor."""
    pools, stages, row = cycle.cluster.pools, cycle.cluster.stages, source.row
    policy, given = cycle.steering.speculator(source.name)
    tail_index = float(pools.tail_index[row])
    pools.at_start[row] = policy.at_start
    pools.small_demand_s[row] = limit_s(
        policy, given, slots=int(pools.slots[row]), offered_load=float(pools.offered_load[row]), tail_index=tail_index
    )
    if policy.code == dispatch.RELAUNCH:
        rows = np.fromiter(source.stages.values(), dtype=np.int64, count=len(source.stages))
        sizes, which = np.unique(stages.n_tasks[rows], return_inverse=True)
        stages.relaunch_factor[rows] = np.array([factor(policy, size, tail_index) for size in sizes.tolist()])[which]


def limit_s(policy: Policy, given: Mapping[str, float], *, slots: int, offered_load: float, tail_index: float) -> float:
    """Demand up to which jobs of a pool start with copies; 0 under speculators that do not ask."""
    if policy.code != dispatch.REDUNDANT_SMALL:
        return 0.0
    return small_demand_s(
        policy.complete(given),
        slots=slots,
        offered_load=round(offered_load * LOAD_STEPS) / LOAD_STEPS,
        slowdown_tail_index=_stepped(tail_index),
    )


def factor(policy: Policy, stage_tasks: int, tail_index: float) -> float:
    """The best age to relaunch a stage's tasks at, over what they are expected to take; infinite likewise."""
    if policy.code != dispatch.RELAUNCH:
        return float("inf")
    return best_factor(_rounded(stage_tasks), _stepped(tail_index))


def _rounded(stage_tasks: int) -> int:
    """The number of tasks that stands for it.

    >>> [_rounded(tasks) for tasks in (63, 65, 67, 1_000_000)]
    [63, 64, 68, 999424]
    """
    unit = 2 ** max(stage_tasks.bit_length() - TASK_BITS, 0)
    return round(stage_tasks / unit) * unit


def _stepped(tail_index: float) -> float:
    return max(round(tail_index * TAIL_STEPS), 1) / TAIL_STEPS
