"""What becomes of a simulated task that loses an attempt and goes on with the others?

A task is the slot of its original. Where that one is killed, the newest copy is the original from there on.
"""

from controlplane.compiled import rule
from controlplane.simulator.cluster.state import ORIGINAL, State


@rule
def leave_task(state: State, slot: int) -> None:
    """Take an attempt out of its task, which has another one."""
    original = state.slots[slot]["original"]
    want_no_more(state, original)
    state.slots[original]["attempts"] -= 1
    if slot == original:
        hand_over(state, slot)
        return
    at, older = state.slots[original]["newest"], state.slots[slot]["older"]
    if at == slot:
        state.slots[original]["newest"] = older
        return
    while state.slots[at]["older"] != slot:
        at = state.slots[at]["older"]
    state.slots[at]["older"] = older


@rule
def hand_over(state: State, slot: int) -> None:
    """Make the newest copy of the original on this slot the task's original."""
    heir = state.slots[slot]["newest"]
    old, new = state.slots[slot], state.slots[heir]
    new["use"], new["newest"] = ORIGINAL, new["older"]
    new["attempts"], new["n_started"] = old["attempts"], old["n_started"]
    new["wanted"], new["restarts"], new["likeness"] = 0, False, old["likeness"]
    new["original"], at = heir, new["newest"]
    while at >= 0:
        state.slots[at]["original"] = heir
        at = state.slots[at]["older"]


@rule
def want_no_more(state: State, original: int) -> None:
    """Take back what was wanted for a task."""
    one, counts = state.slots[original], state.counts[0]
    state.jobs[one["job"]]["n_wanted"] -= one["wanted"]
    counts["n_wanted"] -= one["wanted"]
    counts["n_restarts"] -= one["restarts"]
    one["wanted"], one["restarts"] = 0, False
