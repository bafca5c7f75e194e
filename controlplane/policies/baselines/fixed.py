"""How many slots may each job hold? What an operator has set over REST; the others share the rest fairly."""

import numpy as np

from controlplane.compiled import kernel
from controlplane.model.columns import Record, Records
from controlplane.policies.row import ORDERING, Kind, Row
from controlplane.policies.seen import Seen
from controlplane.policies.whole_slots import by_arrival, hand_out, most_usable, share_out


@kernel
def fixed(seen: Seen, settings: Record, answer: Records) -> None:
    """Set targets first, in order of arrival while slots last; then the rest of the slots by weight.

    No target exceeds the job's cap or what it can use, so slots may stay free.
    """
    slots, claimants = seen.slots, seen.claimants
    order, most, cap = by_arrival(claimants), most_usable(claimants), claimants["fixed_cap"]
    most = np.where(cap >= 0, np.minimum(most, cap), most)
    is_set = claimants["fixed_target"] >= 0
    target = answer["target"]
    left = hand_out(slots, np.where(is_set, np.minimum(most, claimants["fixed_target"]), 0), order, target)
    others = np.zeros(len(most), dtype=np.int64)
    share_out(left, claimants["weight"], np.where(is_set, 0, most), order, others)
    target += others
    answer["cap"][:] = np.maximum(cap, -1)


ROW = Row(
    name="fixed",
    kind=Kind.ALLOCATOR,
    kernel=fixed,
    about="Targets and caps set over REST; jobs without one share the rest fairly.",
    needs=ORDERING,
    by_fixed=True,
)
