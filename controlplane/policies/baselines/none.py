"""Which running tasks deserve one more attempt? None of them."""

from collections.abc import Mapping

import numpy as np

from controlplane.model.reasons import Reason
from controlplane.policies.interfaces import RunningTasks, Speculation


def none(view: RunningTasks, settings: Mapping[str, float]) -> Speculation:
    """No copies at all."""
    n_tasks = len(view.stage)
    return Speculation(
        wanted=np.zeros(n_tasks, dtype=bool),
        score=np.zeros(n_tasks),
        reason=np.full(n_tasks, Reason.NO_SPECULATOR, dtype=np.int16),
    )
