"""How many slots may each job hold? First come, first served."""

from controlplane.compiled import kernel
from controlplane.model.columns import Record
from controlplane.policies.interfaces import Records
from controlplane.policies.row import ORDERING, Keeps, Kind, Row
from controlplane.policies.whole_slots import by_arrival, hand_out, most_usable


@kernel
def fifo(slots: int, claimants: Records, settings: Record, answer: Records) -> None:
    """Each job all that it can use, in order of arrival; of jobs that came at once, the upper row first."""
    hand_out(slots, most_usable(claimants), by_arrival(claimants), answer["target"])


ROW = Row(
    name="fifo",
    kind=Kind.ALLOCATOR,
    kernel=fifo,
    about="First come, first served.",
    needs=ORDERING,
    keeps=frozenset({Keeps.WORK_CONSERVING}),
)
