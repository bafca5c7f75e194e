"""Views for policies, with everything filled in that a test does not care about."""

from collections.abc import Callable

import numpy as np
import pytest

from controlplane.policies.interfaces import PoolView, RunningTasks


@pytest.fixture
def pool() -> Callable[..., PoolView]:
    """Builds a pool from columns given as lists; without `usable`, jobs can use any number of slots."""

    def build(slots: int, remaining_tasks: list[float], **columns: list[float]) -> PoolView:
        n = len(remaining_tasks)
        floats = {
            "arrival_s": np.arange(n),
            "weight": np.ones(n),
            "remaining_tasks": remaining_tasks,
            "downstream_tasks": np.zeros(n),
            "remaining_work_s": remaining_tasks,
            "tail_index": np.full(n, 1.5),
            "transfer_ratio": np.ones(n),
        }
        ints = {
            "running": np.zeros(n),
            "usable": np.full(n, 1000),
            "fixed_target": np.full(n, -1),
            "fixed_cap": np.full(n, -1),
        }
        return PoolView(
            slots=slots,
            **{name: np.array(columns.get(name, column), dtype=float) for name, column in floats.items()},
            **{name: np.array(columns.get(name, column), dtype=np.int64) for name, column in ints.items()},
        )

    return build


@pytest.fixture
def running() -> Callable[..., RunningTasks]:
    """Builds running tasks of one stage and pool, of equal rates, from columns given as lists."""

    def build(t_rem_s: list[float], t_new_s: list[float], **columns: list[float]) -> RunningTasks:
        n = len(t_rem_s)
        floats = {"elapsed_s": np.ones(n), "progress_rate": np.ones(n), "sibling_rate": np.ones(n)}
        ints = {
            "stage": np.zeros(n),
            "running_attempts": np.ones(n),
            "pool_slots": np.full(n, 100),
            "pool_copies": np.zeros(n),
            "pool_idle": np.zeros(n),
            "pool": np.zeros(n),
        }
        return RunningTasks(
            t_rem_s=np.array(t_rem_s, dtype=float),
            t_new_s=np.array(t_new_s, dtype=float),
            eligible=np.array(columns.get("eligible", np.ones(n)), dtype=bool),
            **{name: np.array(columns.get(name, column), dtype=float) for name, column in floats.items()},
            **{name: np.array(columns.get(name, column), dtype=np.int64) for name, column in ints.items()},
        )

    return build
