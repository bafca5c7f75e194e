"""How many slots may each job hold? Shortest remaining processing time first."""

from controlplane.compiled import kernel
from controlplane.model.columns import Record, Records
from controlplane.policies.row import ORDERING, Keeps, Kind, Row
from controlplane.policies.seen import Seen
from controlplane.policies.whole_slots import by_key_and_arrival, hand_out, most_usable


@kernel
def srpt(seen: Seen, settings: Record, answer: Records) -> None:
    """Each job all that it can use, the one with the least work left first; unknown work goes last.

    Among equally short jobs, the one that arrived first goes first, then the upper row.
    """
    slots, claimants = seen.slots, seen.claimants
    answer["precedence"][:] = claimants["remaining_work_s"]
    order = by_key_and_arrival(claimants["remaining_work_s"], claimants)
    hand_out(slots, most_usable(claimants), order, answer["target"])


ROW = Row(
    name="srpt",
    kind=Kind.ALLOCATOR,
    kernel=srpt,
    about="The job with the least work left first.",
    foreseeing="The job with the least work left first, by its tasks' true durations.",
    needs=ORDERING,
    keeps=frozenset({Keeps.WORK_CONSERVING}),
)
