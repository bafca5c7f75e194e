"""How many slots may each job hold? Shortest remaining processing time first."""

from collections.abc import Mapping

import numpy as np

from controlplane.policies.interfaces import Allocation, PoolView
from controlplane.policies.whole_slots import hand_out, most_usable


def srpt(view: PoolView, settings: Mapping[str, float]) -> Allocation:
    """Each job all that it can use, the one with the least work left first; unknown work goes last.

    Of jobs equally short, the one that arrived first goes first, then the upper row.
    """
    most = most_usable(view)
    order = np.lexsort((view.arrival_s, view.remaining_work_s))
    return Allocation(
        target=hand_out(max(view.slots, 0), most, order),
        virtual_size=view.remaining_tasks,
        cap=np.full(len(most), -1, dtype=np.int64),
    )
