"""How many slots may each job hold? Originals share all but a fixed reserve, which is for copies alone."""

import numpy as np

from controlplane.compiled import kernel, rule
from controlplane.model.columns import Record, Records
from controlplane.policies.row import ORDERING, Kind, Row, Setting
from controlplane.policies.seen import Seen
from controlplane.policies.whole_slots import by_key_and_arrival, hand_out, most_usable, whole


@rule
def reserved_slots(slots: int, reserved_share: float) -> int:
    """Slots kept for copies: a share of all, at least one, but never the last one of the originals.

    >>> [reserved_slots(slots=slots, reserved_share=0.1) for slots in (40, 7, 1)]
    [4, 1, 0]
    >>> reserved_slots(slots=7, reserved_share=3 / 7)
    3
    """
    if slots <= 1 or reserved_share <= 0:
        return 0
    return min(max(whole(slots=reserved_share * slots), 1), slots - 1)


@kernel
def budgeted(seen: Seen, settings: Record, answer: Records) -> None:
    """The least work first, twice: for originals over the unreserved slots, then for copies over the reserve.

    The cap is the target, so the reserve stays idle while there is nothing to copy.
    Source: Hopper (SIGCOMM'15), section 3.1, "Budgeted Speculation".
    """
    slots, claimants = seen.slots, seen.claimants
    answer["precedence"][:] = claimants["remaining_work_s"]
    order, most = by_key_and_arrival(claimants["remaining_work_s"], claimants), most_usable(claimants)
    tasks, copies = most.copy(), np.zeros(len(most), dtype=np.int64)
    for row in range(len(claimants)):
        tasks[row] = min(most[row], whole(slots=claimants[row]["remaining_tasks"]))
    reserved = reserved_slots(slots=slots, reserved_share=settings["reserved_share"])
    answer["originals"][:] = 0
    hand_out(slots - reserved, tasks, order, answer["originals"])
    hand_out(reserved, most - tasks, order, copies)
    answer["target"][:] = answer["originals"] + copies
    answer["cap"][:] = answer["target"]


ROW = Row(
    name="budgeted",
    kind=Kind.ALLOCATOR,
    kernel=budgeted,
    about="The least work left first, and a fixed share of the slots for copies alone.",
    source="Hopper (SIGCOMM'15), section 3.1",
    needs=ORDERING,
    settings=(
        Setting(
            name="reserved_share",
            default=0.1,
            low=0.0,
            high=1.0,
            about="Share of the pool's slots that originals may not use (at least one, never the last).",
        ),
    ),
)
