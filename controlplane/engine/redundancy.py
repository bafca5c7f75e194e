"""What do speculators that act on expectations need to know beforehand? Written down with pools and stages."""

import numpy as np

from controlplane.engine.cycle import Cycle
from controlplane.model.cluster import SourceState
from controlplane.policies.redundancy.beforehand import factor, limit_s
from controlplane.policies.redundancy.relaunching import relaunch


def look_ahead(cycle: Cycle, source: SourceState) -> None:
    """Write down what the pool's speculator goes by: for small jobs their limit, for relaunches each stage's factor."""
    pools, stages, row = cycle.cluster.pools, cycle.cluster.stages, source.row
    policy, given = cycle.steering.speculator(source.name)
    tail_index = float(pools.tail_index[row])
    pools.at_start[row] = policy.at_start
    pools.small_demand_s[row] = limit_s(
        policy, given, slots=int(pools.slots[row]), offered_load=float(pools.offered_load[row]), tail_index=tail_index
    )
    if policy.kernel is relaunch:
        rows = np.fromiter(source.stages.values(), dtype=np.int64, count=len(source.stages))
        sizes, which = np.unique(stages.n_tasks[rows], return_inverse=True)
        stages.relaunch_factor[rows] = np.array([factor(policy, size, tail_index) for size in sizes.tolist()])[which]
