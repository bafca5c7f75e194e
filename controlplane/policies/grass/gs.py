"""Which task ends soonest, as a copy or at its first attempt? GRASS's Greedy Speculative scheduling (GS)."""

import math
from dataclasses import replace

from controlplane.compiled import kernel, rule
from controlplane.model.columns import Floats, Record, Records
from controlplane.model.reasons import Reason
from controlplane.policies.beaten import END_BEATEN
from controlplane.policies.grass.bounds import LEAST_CHANCE, reason_of_task, shortest_waiting_s, windows_s
from controlplane.policies.row import COPYING, Kind, Row, Setting
from controlplane.policies.seen import Seen
from controlplane.policies.skew import has_more_to_do
from controlplane.policies.whole_slots import TOLERANCE

SOONER = (
    Setting(
        name="sooner_by_s",
        default=0.5,
        low=0.0,
        high=1e6,
        about="A copy that goes because it ends sooner must do so by more than this, in seconds.",
    ),
    Setting(
        name="sooner_times",
        default=1.3,
        low=1.0,
        high=100.0,
        about="For such a copy, the running attempt must need more than this many times as long.",
    ),
)
"""The margins of `gs_gain_s`."""


@rule
def gs_gain_s(t_rem_s: float, t_new_s: float, margin_s: float, margin_times: float) -> float:
    """Time by which a copy ends sooner than the running attempt; 0 within the margins of both estimates.

    Source: GRASS (NSDI'14), section 3.1, Greedy Speculative scheduling (GS).  Units: seconds.

    >>> [gs_gain_s(t_rem_s, t_new_s=2.0, margin_s=1.0, margin_times=1.25) for t_rem_s in (2.75, 3.5)]
    [0.0, 1.5]
    """
    least_s = max(margin_times * t_new_s, t_new_s + margin_s)
    return t_rem_s - t_new_s if t_rem_s > least_s * (1.0 + TOLERANCE) else 0.0


@rule
def gs_reason(gain_s: float, t_rem_s: float, t_new_s: float, has_more: bool, shortest_s: float) -> Reason:
    """Why a task that its job needs deserves one more attempt, or why not.

    `shortest_s` is the shortest original that waits and would end before the deadline: it goes before a longer copy.
    Source: GRASS (NSDI'14), section 3.1, Pseudocodes 1 and 2 with OC unset.

    >>> gs_reason(gain_s=3.0, t_rem_s=5.0, t_new_s=2.0, has_more=False, shortest_s=1.0).label
    'shorter_waits'
    """
    if gain_s <= 0.0:
        return Reason.ON_SCHEDULE
    if has_more:
        return Reason.SKEW_NOT_STRAGGLER
    return Reason.SHORTER_WAITS if shortest_s <= t_new_s else Reason.ENDS_SOONER


@rule
def weigh_gs(
    seen: Seen, settings: Record, row: int, has_more: bool, last_s: Floats, shortest_s: Floats, one: Record
) -> None:
    """GS's answer about one task; `last_s` and `shortest_s` are `windows_s` and `shortest_waiting_s`."""
    task = seen.tasks[row]
    t_rem_s, t_new_s, deadline_s = task["t_rem_s"], task["t_new_s"], seen.stages[task["stage"]]["deadline_s"]
    reason = reason_of_task(seen, settings, row, last_s)
    if reason == Reason.NONE:
        gain_s = gs_gain_s(t_rem_s, t_new_s, settings["sooner_by_s"], settings["sooner_times"])
        reason = gs_reason(gain_s, t_rem_s, t_new_s, has_more, shortest_s[task["stage"]])
    if reason != Reason.UNKNOWN_DEMAND:
        one["score"] = t_rem_s if deadline_s == math.inf else 1.0 / max(t_new_s, TOLERANCE)
    one["reason"], one["copies"] = reason, reason == Reason.ENDS_SOONER and task["eligible"]


@kernel
def gs(seen: Seen, settings: Record, answer: Records) -> None:
    """Greedy Speculative scheduling: tasks whose copy ends sooner than they would.

    Before a deadline, the copy that takes least is best, unless an original that waits takes less; otherwise, the task
    that needs longest is, among the earliest that the error bound needs.
    Source: GRASS (NSDI'14), section 3.1, Pseudocodes 1 and 2.
    """
    has_more, last_s, shortest_s = has_more_to_do(seen.tasks), windows_s(seen), shortest_waiting_s(seen)
    for row in range(len(seen.tasks)):
        weigh_gs(seen, settings, row, has_more[row], last_s, shortest_s, answer[row])


@kernel
def order_bounded(seen: Seen, settings: Record, answer: Records) -> None:
    """Originals of jobs with a bound, in the order in which they start.

    Before a deadline: those that end by then, the shortest first. Under an error bound: those needed, longest first.
    Source: GRASS (NSDI'14), section 3.1, figures 1 and 2: both GS and RAS run them so "at default".
    """
    last_s = windows_s(seen)
    for row in range(len(seen.waiting)):
        task, one = seen.waiting[row], answer[row]
        deadline_s, t_new_s = seen.stages[task["stage"]]["deadline_s"], task["t_new_s"]
        if deadline_s < math.inf:
            one["named"], one["score"] = t_new_s <= deadline_s, -t_new_s
        elif t_new_s < math.inf:
            one["named"], one["score"] = t_new_s <= last_s[task["stage"]], t_new_s


ROW = Row(
    name="gs",
    kind=Kind.SPECULATOR,
    kernel=gs,
    order_waiting=order_bounded,
    orders_bounded=True,
    about="Tasks whose copy ends sooner than they do, whatever it costs.",
    source="GRASS (NSDI'14), section 3.1",
    needs=COPYING,
    settings=(*SOONER, LEAST_CHANCE, replace(END_BEATEN, default=1.0)),
    before_waiting=True,
)
