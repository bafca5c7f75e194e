"""Views for policies, with everything filled in that a test does not care about."""

from collections.abc import Callable

import numpy as np
import pytest

from controlplane.model.columns import Records
from controlplane.policies.seen import CLAIMANT, RUNNING_TASK


def records(dtype: np.dtype, n: int, columns: dict[str, list]) -> Records:
    """Records with these columns."""
    found = np.zeros(n, dtype=dtype)
    for name, values in columns.items():
        found[name] = values
    return found


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


@pytest.fixture
def running() -> Callable[..., Records]:
    """Running tasks of one stage and pool, of equal rates, from columns given as lists."""

    def build(t_rem_s: list[float], t_new_s: list[float], **columns: list[float]) -> Records:
        n = len(t_rem_s)
        usual = {name: np.ones(n) for name in ("running_attempts", "elapsed_s", "progress_rate", "sibling_rate")}
        usual |= {"eligible": np.ones(n), "pool_slots": np.full(n, 100), "finished_from": np.full(n, -1)}
        return records(RUNNING_TASK, n, usual | columns | {"t_rem_s": t_rem_s, "t_new_s": t_new_s})

    return build
