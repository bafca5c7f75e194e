"""Are slots kept for copies, where a policy says so: by a cap on originals, and for copies of tasks that wait?"""

from dataclasses import replace

import numpy as np
import pytest

from controlplane.engine.rooms import job_rooms
from controlplane.model import facts as f
from controlplane.model.columns import Jobs, Pools
from controlplane.model.orders import ContainerGrant, LaunchCopy
from controlplane.model.parameters import EngineSettings
from tests.scenario import SOURCE, Scenario

pytestmark = pytest.mark.unit
SEVEN = EngineSettings(
    mode=f.Mode.CONTROL, max_copies_per_task=1, pool_copy_share=1.0, job_copy_share=1.0, cluster_copy_share=1.0
)
A, B = 4, 5
"""Tasks of the two jobs of Hopper's Table 1."""


def grants(scenario: Scenario) -> dict[str, tuple[int, int | None, int | None]]:
    """Target, cap and originals of each job, as granted last."""
    given = {}
    for decision in scenario.decisions:
        for order in decision.orders.get(SOURCE, []):
            if isinstance(order, ContainerGrant):
                given[order.job] = (order.target, order.cap, order.originals)
    return given


def two_jobs(settings: EngineSettings) -> Scenario:
    """Seven hosts of one slot, on which A and B wait."""
    scenario = Scenario(settings, hosts=7, slots=1)
    scenario.stage(A, job="A", stage=1, input_bytes=1000)
    scenario.stage(B, job="B", stage=2, input_bytes=1000)
    return scenario


def test_hopper_keeps_a_slot_for_a_copy_of_a_task_that_waits():
    """Figure 2: five slots for the four tasks of A, as 4/3 < tail index <= 1.6 makes of seven, and two for B."""
    given = {"fairness_epsilon": 1.0, "round_up": 0.0, "order_by_work": 0.0, "hold_slots": 1.0}
    scenario = two_jobs(replace(SEVEN, allocator="hopper", allocator_settings=given))
    assert grants(scenario) == {"A": (5, 5, None), "B": (2, 2, None)}


def test_without_holding_a_slot_that_nobody_can_use_yet_goes_to_the_other_job():
    """Before its tasks run, A can use four."""
    given = {"fairness_epsilon": 1.0, "round_up": 0.0}
    scenario = two_jobs(replace(SEVEN, allocator="hopper", allocator_settings=given))
    assert grants(scenario) == {"A": (4, None, None), "B": (3, None, None)}


def test_budgeted_grants_say_how_much_is_for_originals_alone():
    """Of seven slots three are reserved: A's originals have the other four, B's none."""
    scenario = two_jobs(replace(SEVEN, allocator="budgeted", allocator_settings={"reserved_share": 3 / 7}))
    assert grants(scenario)["A"][2] == 4
    assert grants(scenario)["B"] == (0, 0, 0)


def test_a_copy_uses_the_reserve_while_originals_wait_for_their_part():
    """B has four originals running and a fifth waits; a straggler's copy takes a reserved slot all the same."""
    settings = replace(SEVEN, allocator="budgeted", allocator_settings={"reserved_share": 3 / 7}, speculator="late")
    scenario = Scenario(settings, hosts=7, slots=1)
    scenario.stage(B, job="B", stage=2, input_bytes=1000)
    scenario.tell([scenario.started(i, i, stage=2) for i in range(4)])
    copies = []
    for step in range(1, 25):
        scenario.now_s = step / 10
        read = {i: round((3 if i == 3 else 30) * step) for i in range(4)}
        copies += scenario.tell(progress=read).orders.get(SOURCE, [])
    assert [order.index for order in copies if isinstance(order, LaunchCopy)][:1] == [3]


@pytest.mark.parametrize(
    ("running", "waiting", "copies", "ordered", "room"),
    [(3, 0, 1, 1, 1), (4, 1, 0, 1, 2), (3, 1, 0, 1, 0), (5, 1, 1, 0, 2)],
)
def test_copies_that_run_or_are_ordered_leave_the_originals_their_part(running, waiting, copies, ordered, room):
    """Four of seven slots are for originals; one that waits wants a slot only while fewer of them run."""
    jobs = Jobs()
    jobs.add(target=7, originals=4)
    counts = (np.array([n]) for n in (running, waiting, copies, ordered))
    rooms, _, _ = job_rooms(jobs.reported[:1], jobs.decided, jobs.scratch, Pools().scratch, *counts)
    assert rooms[0].tolist() == [room]
