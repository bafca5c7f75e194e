"""How many slots may each job hold? First come, first served."""

from collections.abc import Mapping

import numpy as np

from controlplane.policies.interfaces import Allocation, PoolView
from controlplane.policies.whole_slots import by_arrival, hand_out, most_usable


def fifo(view: PoolView, settings: Mapping[str, float]) -> Allocation:
    """Each job all that it can use, in order of arrival; of jobs that came at once, the upper row first."""
    most = most_usable(view)
    return Allocation(
        target=hand_out(max(view.slots, 0), most, by_arrival(view)),
        virtual_size=view.remaining_tasks,
        cap=np.full(len(most), -1, dtype=np.int64),
    )
