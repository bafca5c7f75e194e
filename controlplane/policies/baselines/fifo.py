"""How many slots may each job hold? First come, first served."""

from controlplane.compiled import kernel
from controlplane.model.columns import Record, Records
from controlplane.policies.row import ORDERING, Keeps, Kind, Row
from controlplane.policies.seen import Seen
from controlplane.policies.whole_slots import by_arrival, hand_out, most_usable


@kernel
def fifo(seen: Seen, settings: Record, answer: Records) -> None:
    """Each job all that it can use, in order of arrival; among jobs that came at once, the upper row first."""
    slots, claimants = seen.slots, seen.claimants
    answer["precedence"][:] = claimants["arrival_s"]
    hand_out(slots, most_usable(claimants), by_arrival(claimants), answer["target"])


ROW = Row(
    name="fifo",
    kind=Kind.ALLOCATOR,
    kernel=fifo,
    about="First come, first served.",
    needs=ORDERING,
    keeps=frozenset({Keeps.WORK_CONSERVING}),
)
