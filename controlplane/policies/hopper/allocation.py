"""How many slots may each job hold? Hopper's Pseudocode 1 with transfer ratio and epsilon-fairness."""

from dataclasses import replace

import numpy as np

from controlplane.compiled import kernel
from controlplane.model.columns import Record, Records
from controlplane.policies.hopper.fairness import fair_floor, with_fair_floor
from controlplane.policies.hopper.virtual_size import precedence, virtual_size
from controlplane.policies.locality import LOCALITY_PERCENT
from controlplane.policies.row import ORDERING, Keeps, Kind, Row, Setting
from controlplane.policies.seen import Seen
from controlplane.policies.whole_slots import by_key_and_arrival, most_usable


@kernel
def hopper(seen: Seen, settings: Record, answer: Records) -> None:
    """Virtual sizes for the smallest jobs when slots are short, a proportional split when they are not.

    Of equally small jobs, the one that arrived first goes first, then the upper row. With `order_by_work` small is who
    has little work left, as under SRPT, else little of the larger virtual size. With `hold_slots` a job's target counts
    copies of tasks that wait, too, and is its cap: a slot for a future copy stays free.
    Source: Hopper (SIGCOMM'15), section 4, Pseudocode 1.
    """
    slots, claimants = seen.slots, seen.claimants
    cap, round_up, holds = settings["multiplier_cap"], settings["round_up"] > 0, settings["hold_slots"] > 0
    size, first = answer["virtual_size"], answer["precedence"]
    for row in range(len(claimants)):
        claimant = claimants[row]
        size[row] = virtual_size(
            remaining_tasks=claimant["remaining_tasks"],
            tail_index=claimant["tail_index"],
            transfer_ratio=claimant["transfer_ratio"],
            cap=cap,
        )
        first[row] = precedence(
            remaining_tasks=claimant["remaining_tasks"],
            downstream_tasks=claimant["downstream_tasks"],
            tail_index=claimant["tail_index"],
            transfer_ratio=claimant["transfer_ratio"],
            cap=cap,
        )
    if settings["order_by_work"] > 0:
        first[:] = claimants["remaining_work_s"]
    order, most = by_key_and_arrival(first, claimants), most_usable(claimants)
    if holds:
        most = np.maximum(claimants["foreseen"], most)
    floor = fair_floor(slots, claimants["weight"], most, order, settings["fairness_epsilon"])
    with_fair_floor(slots, floor, size, most, order, round_up, answer["target"])
    if holds:
        answer["cap"][:] = answer["target"]


ROW = Row(
    name="hopper",
    kind=Kind.ALLOCATOR,
    kernel=hopper,
    about="Slots by virtual size, which counts the copies a job will want; the least work first when short.",
    source="Hopper (SIGCOMM'15), section 4",
    needs=ORDERING,
    settings=(
        Setting(
            name="fairness_epsilon",
            default=0.1,
            low=0.0,
            high=1.0,
            about="Part of its fair share that a job may lose to smaller ones; 1 promises nothing.",
        ),
        Setting(
            name="multiplier_cap",
            default=2.0,
            low=1.0,
            high=16.0,
            about="The most slots counted per task, however heavy the tail of durations is.",
        ),
        Setting(
            name="round_up",
            default=1.0,
            low=0.0,
            high=1.0,
            about="1 rounds virtual sizes up, so that a last task has a slot for its copy; 0 down, as printed.",
            switch=True,
        ),
        Setting(
            name="order_by_work",
            default=1.0,
            low=0.0,
            high=1.0,
            about="1 serves the job with the least work left first, later stages' too; 0 by virtual size, as printed.",
            switch=True,
        ),
        Setting(
            name="hold_slots",
            default=0.0,
            low=0.0,
            high=1.0,
            about="1 keeps slots within a target free for future copies, as printed; 0 lends them out.",
            switch=True,
        ),
    ),
    keeps=frozenset({Keeps.WORK_CONSERVING, Keeps.FAIR_FLOOR}),
    counts_possible_copies=True,
    locality_percent=LOCALITY_PERCENT,
)

_PRINTED = {
    "fairness_epsilon": 1.0,
    "multiplier_cap": 16.0,
    "round_up": 0.0,
    "order_by_work": 0.0,
    "hold_slots": 1.0,
}
AS_PRINTED = replace(
    ROW,
    name="hopper-as-printed",
    about="Pseudocode 1 as printed: slots stay free for copies, sizes are rounded down, no fair share is promised.",
    source="Hopper (SIGCOMM'15), Pseudocode 1",
    settings=tuple(replace(setting, default=_PRINTED[setting.name]) for setting in ROW.settings),
    keeps=frozenset(),
)
