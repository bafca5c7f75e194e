"""What do speculators that act on expectations need to know beforehand? Limits and ages, by load and tail index."""

from collections.abc import Mapping

from controlplane.engine.cycle import Cycle
from controlplane.model.cluster import SourceState
from controlplane.policies import dispatch
from controlplane.policies.redundancy.of_pool import best_factor, small_demand_s
from controlplane.policies.registry import Policy

LOAD_STEPS = 20
TAIL_STEPS = 10
"""Loads and tail indices are told apart by 1 / so much, which bounds how many searches there ever are."""


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
        for stage in source.stages.values():
            stages.relaunch_factor[stage] = factor(policy, int(stages.n_tasks[stage]), tail_index)


def limit_s(policy: Policy, given: Mapping[str, float], *, slots: int, offered_load: float, tail_index: float) -> float:
    """Demand up to which jobs of a pool start with copies; 0 under speculators that do not ask."""
    if policy.code != dispatch.REDUNDANT_SMALL:
        return 0.0
    return small_demand_s(
        policy.complete(given),
        slots=slots,
        offered_load=round(offered_load * LOAD_STEPS) / LOAD_STEPS,
        slowdown_tail_index=round(tail_index * TAIL_STEPS) / TAIL_STEPS,
    )


def factor(policy: Policy, stage_tasks: int, tail_index: float) -> float:
    """The best age to relaunch a stage's tasks at, over what they are expected to take; infinite likewise."""
    if policy.code != dispatch.RELAUNCH:
        return float("inf")
    return best_factor(stage_tasks, round(tail_index * TAIL_STEPS) / TAIL_STEPS)
