"""How many events a second does the cluster simulator play, with 400 and with 10,000 slots?

An event is an arrival, an attempt's end, a phase's start or a cycle. Tasks take 3 s on average; a review every 0.1 s is
as often, for their length, as the live control plane's. The peer is the memory of the reviews alone: at each, one pass
that reads and writes the records of as many slots as are busy on average, and of as many tasks and answers. What the
ends and arrivals between two reviews read and write is not in it.
"""

import time

from controlplane.policies.answer import SPECULATION
from controlplane.policies.seen import RUNNING_TASK
from controlplane.simulator.cluster.bounds import Bounds
from controlplane.simulator.cluster.scenario import ClusterScenario
from controlplane.simulator.cluster.state import SLOT
from tests.bench.floor import floor_ms

RUNS = 3
SHED_PLUS = "fifo+shed-plus"
GOALS = {
    400: {"srpt+late": 1_500_000, "hopper+late": 1_500_000, SHED_PLUS: 800_000},
    10_000: {"srpt+late": 500_000, "hopper+late": 500_000},
}
"""Events a second, by slots and policy, for the shorter cycle."""
JOBS = {400: 15_000, 10_000: 10_000}
CYCLES_S = (0.1, 1.0)
DEADLINES = Bounds(slack=(0.02, 0.2), ideal_slots=100)
"""Of jobs under Shed+, which makes copies for no others; GRASS's, of waves on a quarter of 400 slots."""
REVIEWED = SLOT.itemsize + RUNNING_TASK.itemsize + SPECULATION.itemsize
"""Bytes of a running task that a review reads or writes."""


def rows() -> list[dict]:
    """Benchmark rows `sim-cluster-<slots>-<policy>-<cycle>`; a ratio is of the run's processor time over its floor."""
    return [_row(slots, policy, cycle_s) for slots, goals in GOALS.items() for policy in goals for cycle_s in CYCLES_S]


def _row(slots: int, policy: str, cycle_s: float) -> dict:
    scenario = ClusterScenario(
        policy=policy,
        jobs=JOBS[slots],
        machines=slots // 4,
        slots_per_machine=4,
        offered_load=0.8,
        cycle_s=cycle_s,
        bounds=DEADLINES if policy == SHED_PLUS else Bounds(),
    )
    scenario.simulate(1)
    per_s = []
    for _ in range(RUNS):
        started_s = time.process_time()
        ran = scenario.simulate(1)
        per_s.append(ran.events / (time.process_time() - started_s))
    per_s.sort()
    value, goal = per_s[RUNS // 2], GOALS[slots][policy] if cycle_s == CYCLES_S[0] else None
    least_s = ran.cycles * floor_ms(round(ran.busy_share * slots) * REVIEWED) / 1000
    return {
        "name": f"sim-cluster-{slots}-{policy}-{cycle_s:g}s",
        "value": round(value),
        "unit": "events/s",
        "peer": f"floor {least_s:.2f} s",
        "ratio": round(ran.events / value / least_s, 1),
        "goal": goal,
        "met": None if goal is None else value >= goal,
        "runs": RUNS,
        "spread": [round(per_s[0]), round(per_s[-1])],
    }
