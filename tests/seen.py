"""What policies see, from columns, with everything filled in that a test does not care about."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from controlplane.model.columns import Records
from controlplane.policies.seen import JOB, POOL, RUNNING_TASK, STAGE, UNKNOWN_FINISHED, WAITING_TASK, Seen

NONE: Mapping[str, Any] = {}


def records(dtype: np.dtype, n: int, columns: Mapping[str, Any]) -> Records:
    """Records with these columns, each a list or one value for all."""
    found = np.zeros(n, dtype=dtype)
    for name, values in columns.items():
        found[name] = values
    return found


def running(
    t_rem_s: Any,
    t_new_s: Any,
    *,
    pools: Mapping[str, Any] = NONE,
    jobs: Mapping[str, Any] = NONE,
    stages: Mapping[str, Any] = NONE,
    finished: Records = UNKNOWN_FINISHED,
    waiting_s: Sequence[float] = (),
    **columns: Any,
) -> Seen:
    """Running tasks of equal rates, of one stage, job and pool unless columns number more; finished ones unknown.

    Originals that take `waiting_s` wait, of the first stage.
    """
    usual = dict.fromkeys(("running_attempts", "elapsed_s", "progress_rate", "sibling_rate", "eligible"), 1)
    usual["copies_left"] = 2
    tasks = records(RUNNING_TASK, len(t_rem_s), usual | columns | {"t_rem_s": t_rem_s, "t_new_s": t_new_s})

    unknown = {"deadline_s": np.inf, "prepared": np.nan, "finished_from": -1, "finished_to": -1}

    def groups(dtype: np.dtype, name: str, values: Mapping[str, Any]) -> Records:
        return records(dtype, int(tasks[name].max(initial=0)) + 1, values)

    return Seen(
        pools=groups(POOL, "pool", {"slots": 100} | pools),
        jobs=groups(JOB, "job", {"deadline_s": np.inf} | jobs),
        stages=groups(STAGE, "stage", unknown | stages),
        tasks=tasks,
        finished=finished,
        waiting=records(WAITING_TASK, len(waiting_s), {"t_new_s": waiting_s, "index": np.arange(len(waiting_s))}),
    )
