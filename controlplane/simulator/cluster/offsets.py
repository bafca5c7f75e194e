"""How much of its task's work has a simulated attempt done, and where does a further one begin?

Attempts begin at the start of their task's input; where the host `resumes`, copies begin where the attempt that has
done most will stand once they work.
"""

from controlplane.compiled import rule
from controlplane.model.columns import Record
from controlplane.simulator.cluster.state import State
from controlplane.simulator.cluster.world import World

MOST = 1.0 - 1e-9
"""The last offset: the work that is left takes some time."""


@rule
def done_at(attempt: Record, launch_s: float, at_s: float) -> float:
    """Share of its task's work that an attempt will have done by then, if nothing stops it.

    >>> one = {"started_s": 2.0, "end_s": 7.0, "offset": 0.5}
    >>> [done_at(one, launch_s=1.0, at_s=at_s) for at_s in (2.5, 5.0, 9.0)]
    [0.5, 0.75, 1.0]
    """
    works_s = attempt["started_s"] + launch_s
    if at_s <= works_s:
        return attempt["offset"]
    done = min((at_s - works_s) / max(attempt["end_s"] - works_s, 1e-9), 1.0)
    return attempt["offset"] + (1.0 - attempt["offset"]) * done


@rule
def next_offset(world: World, state: State, original: int, at_s: float) -> float:
    """Share of its work at which a further attempt of the task begins: where the best one will stand at that time."""
    offset, at = 0.0, original if world.resumes else -1
    while at >= 0:
        offset = max(offset, done_at(state.slots[at], world.launch_s, at_s))
        at = state.slots[at]["newest"] if at == original else state.slots[at]["older"]
    return min(offset, MOST)
