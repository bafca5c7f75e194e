"""Views for policies, with everything filled in that a test does not care about."""

from collections.abc import Callable

import numpy as np
import pytest

from controlplane.model.columns import Records
from controlplane.policies.seen import CLAIMANT, Seen
from tests.seen import records, running


@pytest.fixture
def pool() -> Callable[..., tuple[int, Records]]:
    """Slots and claimants, from columns given as lists; without `usable`, jobs can use any number of slots."""

    def build(slots: int, remaining_tasks: list[float], **columns: list[float]) -> tuple[int, Records]:
        n = len(remaining_tasks)
        usual = {
            "arrival_s": np.arange(n),
            "weight": np.ones(n),
            "remaining_work_s": remaining_tasks,
            "usable": np.full(n, 1000),
            "tail_index": np.full(n, 1.5),
            "transfer_ratio": np.ones(n),
            "fixed_target": np.full(n, -1),
            "fixed_cap": np.full(n, -1),
        }
        return slots, records(CLAIMANT, n, usual | columns | {"remaining_tasks": remaining_tasks})

    return build


@pytest.fixture(name="running")
def running_tasks() -> Callable[..., Seen]:
    """`tests.seen.running`."""
    return running
