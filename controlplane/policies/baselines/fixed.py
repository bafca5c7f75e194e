"""How many slots may each job hold? What an operator has set over REST; the others share the rest fairly."""

from collections.abc import Mapping

import numpy as np

from controlplane.policies.interfaces import Allocation, PoolView
from controlplane.policies.whole_slots import by_arrival, hand_out, most_usable, share_out


def fixed(view: PoolView, settings: Mapping[str, float]) -> Allocation:
    """Set targets first, in order of arrival while slots last; then the rest of the slots by weight.

    No target exceeds the job's cap or what it can use, so slots may stay free.
    """
    slots = max(view.slots, 0)
    order = by_arrival(view)
    most = most_usable(view)
    most = np.where(view.fixed_cap >= 0, np.minimum(most, view.fixed_cap), most)
    is_set = view.fixed_target >= 0
    target = hand_out(slots, np.where(is_set, np.minimum(most, view.fixed_target), 0), order)
    rest = share_out(slots - int(target.sum()), view.weight, np.where(is_set, 0, most), order)
    return Allocation(
        target=target + rest, virtual_size=view.remaining_tasks, cap=np.maximum(view.fixed_cap, -1)
    )
