"""How many slots may each job hold? Weighted max-min fairness."""

from controlplane.compiled import kernel
from controlplane.model.columns import Record, Records
from controlplane.policies.row import ORDERING, Keeps, Kind, Row
from controlplane.policies.seen import Seen
from controlplane.policies.whole_slots import by_arrival, most_usable, share_out


@kernel
def fair(seen: Seen, settings: Record, answer: Records) -> None:
    """Slots in proportion to the weights; unusable ones go to the others in the same proportion.

    Odd slots go to the largest remainders; of equal ones, to the job that arrived first, then to the upper
    row.
    """
    slots, claimants = seen.slots, seen.claimants
    share_out(slots, claimants["weight"], most_usable(claimants), by_arrival(claimants), answer["target"])


ROW = Row(
    name="fair",
    kind=Kind.ALLOCATOR,
    kernel=fair,
    about="Slots in proportion to the jobs' weights.",
    needs=ORDERING,
    keeps=frozenset({Keeps.WORK_CONSERVING, Keeps.FAIR_FLOOR}),
)
