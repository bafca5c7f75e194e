"""Which running tasks deserve one more attempt? Those whose copy saves slot time (GRASS's RAS)."""

from collections.abc import Mapping
from typing import TypeVar

import numpy as np

from controlplane.model.reasons import Reason
from controlplane.policies.interfaces import Floats, RunningTasks, Speculation
from controlplane.policies.skew import has_more_to_do
from controlplane.policies.whole_slots import TOLERANCE

Number = TypeVar("Number", float, Floats)


def ras_saving_s(running_attempts: Number, t_rem_s: Number, t_new_s: Number) -> Number:
    """Slot time saved by one more attempt; positive means speculating is cheaper than waiting.

    Waiting costs running_attempts * t_rem_s; speculating costs (running_attempts + 1) * t_new_s.
    Source: GRASS (NSDI'14), section 3.1, "resource savings".  Units: slot-seconds.

    >>> ras_saving_s(running_attempts=1, t_rem_s=5.0, t_new_s=2.0)
    1.0
    """
    return running_attempts * t_rem_s - (running_attempts + 1) * t_new_s


def ras(view: RunningTasks, settings: Mapping[str, float]) -> Speculation:
    """Resource Aware Speculative scheduling: tasks with a positive saving, the highest first.

    What rounding alone can make of two equal costs is no saving. The engine runs waiting originals as the
    paper's "default" does; here only copies are proposed. A slot that nobody waits for costs nothing: with
    `greedy_when_idle`, what ends sooner is then copied, too, as Greedy Speculative scheduling would (GS).
    Source: GRASS (NSDI'14), section 3.1, Pseudocodes 1 and 2 with OC set, and unset for idle slots.
    """
    known = np.isfinite(view.t_rem_s) & np.isfinite(view.t_new_s)
    t_rem_s = np.where(known, view.t_rem_s, 0.0)
    t_new_s = np.where(known, view.t_new_s, 0.0)
    attempts = view.running_attempts.astype(np.float64)
    saving_s = ras_saving_s(running_attempts=attempts, t_rem_s=t_rem_s, t_new_s=t_new_s)
    saves = saving_s > TOLERANCE * (attempts + 1) * t_new_s
    skew, on_schedule = has_more_to_do(view), t_rem_s <= t_new_s * (1.0 + TOLERANCE)
    is_free = (view.pool_idle > 0) & (settings["greedy_when_idle"] > 0)
    sooner = known & is_free & ~on_schedule & ~skew & ~saves
    reasons = (
        (~known, Reason.UNKNOWN_DEMAND),
        (saves, Reason.SAVES_SLOT_TIME),
        (skew, Reason.SKEW_NOT_STRAGGLER),
        (sooner, Reason.ENDS_SOONER),
        (on_schedule, Reason.ON_SCHEDULE),
    )
    reason = np.select([where for where, _ in reasons], [why for _, why in reasons], default=Reason.CHEAPER_TO_WAIT)
    return Speculation(wanted=(saves | sooner) & view.eligible, score=saving_s, reason=reason.astype(np.int16))
