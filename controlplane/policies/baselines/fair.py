"""How many slots may each job hold? Weighted max-min fairness."""

from collections.abc import Mapping

import numpy as np

from controlplane.policies.interfaces import Allocation, PoolView
from controlplane.policies.whole_slots import by_arrival, most_usable, share_out


def fair(view: PoolView, settings: Mapping[str, float]) -> Allocation:
    """Slots in proportion to the weights; what one cannot use goes to the others in the same proportion.

    Odd slots go to the largest remainders; of equal ones, to the job that arrived first, then to the upper
    row.
    """
    most = most_usable(view)
    return Allocation(
        target=share_out(max(view.slots, 0), view.weight, most, by_arrival(view)),
        virtual_size=view.remaining_tasks,
        cap=np.full(len(most), -1, dtype=np.int64),
    )
