"""Which running tasks deserve one more attempt? Those whose copy saves slot time (GRASS's RAS)."""

from collections.abc import Mapping
from dataclasses import replace

from controlplane.compiled import kernel, rule
from controlplane.model.columns import Floats, Record, Records
from controlplane.model.reasons import Reason
from controlplane.policies.beaten import END_BEATEN
from controlplane.policies.copy_priority import COPY_PRIORITY
from controlplane.policies.grass.bounds import LEAST_CHANCE, reason_of_task, windows_s
from controlplane.policies.grass.gs import SOONER, gs_gain_s, order_bounded
from controlplane.policies.row import COPYING, Kind, Row, Setting
from controlplane.policies.seen import Seen
from controlplane.policies.skew import has_more_to_do
from controlplane.policies.whole_slots import TOLERANCE


@rule
def ras_saving_s(running_attempts: float, t_rem_s: float, t_new_s: float) -> float:
    """Slot time saved by one more attempt; positive means speculating is cheaper than waiting.

    Waiting costs running_attempts * t_rem_s; speculating costs (running_attempts + 1) * t_new_s.
    Source: GRASS (NSDI'14), section 3.1, "resource savings".  Units: slot-seconds.

    >>> ras_saving_s(running_attempts=1, t_rem_s=5.0, t_new_s=2.0)
    1.0
    """
    return running_attempts * t_rem_s - (running_attempts + 1) * t_new_s


def _saving_s(inputs: Mapping[str, float]) -> float:
    """RAS's saving by the inputs of a decision."""
    return ras_saving_s(inputs["running_attempts"], inputs["t_rem_s"], inputs["t_new_s"])


@rule
def ras_reason(saving_s: float, gain_s: float, t_rem_s: float, t_new_s: float, has_more: bool, is_free: bool) -> Reason:
    """Why a task deserves one more attempt, or why not.

    `saving_s` is RAS's of slot time, not above 0 where rounding alone makes one; `gain_s` is GS's. A slot that nobody
    waits for, or that the allocator has given the job beyond its waiting tasks, costs nothing: a task that
    would end sooner is then copied, too.
    Source: GRASS (NSDI'14), section 3.1, Pseudocodes 1 and 2 with OC set, and unset for free slots.

    >>> ras_reason(saving_s=0.0, gain_s=1.0, t_rem_s=3.0, t_new_s=2.0, has_more=False, is_free=True).label
    'ends_sooner'
    """
    if saving_s > 0.0:
        return Reason.SAVES_SLOT_TIME
    if has_more:
        return Reason.SKEW_NOT_STRAGGLER
    if t_rem_s <= t_new_s * (1.0 + TOLERANCE):
        return Reason.ON_SCHEDULE
    return Reason.ENDS_SOONER if is_free and gain_s > 0.0 else Reason.CHEAPER_TO_WAIT


@rule
def weigh_ras(seen: Seen, settings: Record, row: int, has_more: bool, last_s: Floats, one: Record) -> None:
    """RAS's answer about one task; `last_s` is `windows_s`."""
    task = seen.tasks[row]
    attempts, t_rem_s, t_new_s = float(task["running_attempts"]), task["t_rem_s"], task["t_new_s"]
    is_free = settings["gs_on_free_slots"] > 0 and (
        seen.pools[task["pool"]]["idle"] > 0 or seen.jobs[task["job"]]["room"] > 0
    )
    saving_s = ras_saving_s(running_attempts=attempts, t_rem_s=t_rem_s, t_new_s=t_new_s)
    if not saving_s > TOLERANCE * (attempts + 1.0) * t_new_s:
        saving_s = min(saving_s, 0.0)
    gain_s = gs_gain_s(t_rem_s, t_new_s, settings["sooner_by_s"], settings["sooner_times"])
    reason = reason_of_task(seen, settings, row, last_s)
    if reason == Reason.NONE:
        reason = ras_reason(saving_s, gain_s, t_rem_s, t_new_s, has_more, is_free)
    if reason != Reason.UNKNOWN_DEMAND:
        one["score"] = t_rem_s - t_new_s if is_free else saving_s
    copies = reason == Reason.SAVES_SLOT_TIME or reason == Reason.ENDS_SOONER
    one["reason"], one["copies"] = reason, copies and task["eligible"]


@kernel
def ras(seen: Seen, settings: Record, answer: Records) -> None:
    """Resource Aware Speculative scheduling: tasks with a positive saving, the highest first.

    The score is the copy's gain: slot time or, if its slot is free, time to the end.
    Source: GRASS (NSDI'14), section 3.1, Pseudocodes 1 and 2.
    """
    has_more, last_s = has_more_to_do(seen.tasks), windows_s(seen)
    for row in range(len(seen.tasks)):
        weigh_ras(seen, settings, row, has_more[row], last_s, answer[row])


ROW = Row(
    name="ras",
    kind=Kind.SPECULATOR,
    kernel=ras,
    order_waiting=order_bounded,
    orders_bounded=True,
    about="Tasks whose copy costs less slot time than waiting, the highest saving first.",
    foreseeing="Copies that will save slot time, by attempts' true durations.",
    source="GRASS (NSDI'14), section 3.1",
    needs=COPYING,
    settings=(
        Setting(
            name="gs_on_free_slots",
            default=1.0,
            low=0.0,
            high=1.0,
            about="1 copies any task that ends sooner with a copy on a slot that no original waits for; 0 never does.",
            switch=True,
        ),
        *SOONER,
        LEAST_CHANCE,
        COPY_PRIORITY,
        replace(END_BEATEN, default=1.0),
    ),
    before_waiting=True,
    shows={"saving_s": _saving_s},
)
