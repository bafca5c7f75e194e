"""Do simulated tasks go where their input lies, and does a job pass for another's sake only as far as it may?"""

from math import inf
from types import SimpleNamespace

import numpy as np
import pytest

from controlplane.model.errors import BadSetting
from controlplane.simulator.cluster.inputs import home_with_room, near_input, with_inputs
from controlplane.simulator.cluster.scenario import ClusterScenario
from controlplane.simulator.cluster.state import empty_state
from controlplane.simulator.cluster.workloads import Listed, Synthetic
from controlplane.simulator.cluster.world import home_of
from controlplane.simulator.draws import job_key

pytestmark = pytest.mark.unit

STILL = {"slowdown_tail_index": inf, "launch_s": 0.0, "detect_s": 0.0, "cycle_s": 0.0}
"""Nothing varies, nothing takes time but the work itself."""
SMALL = Synthetic(least_tasks=2, most_tasks=60)
MACHINES = 6


def inputs(scenario, seed=1):
    """The cluster of a scenario with all inputs in place."""
    work = scenario.workload.workload(seed, scenario.jobs)
    with np.errstate(over="ignore"):
        return with_inputs(empty_state(scenario.slots, scenario.jobs), work, scenario.world(seed), is_ordered=False)


def test_every_input_lies_on_so_many_machines_each_as_often_as_another():
    """Replicas of one input on one machine would be none; and no machine is special."""
    homes = inputs(ClusterScenario(policy="fifo+none", workload=SMALL, jobs=400, machines=MACHINES, replicas=3)).homes
    assert all(len(set(row)) == 3 for row in homes.tolist())
    counts = np.bincount(homes.ravel(), minlength=MACHINES)
    expected = len(homes) * 3 / MACHINES
    assert np.abs(counts - expected).max() < 5 * expected**0.5


def test_a_machine_that_holds_an_input_already_leaves_its_replica_to_the_next():
    """The last one leaves it to the first."""
    scenario = ClusterScenario(
        policy="fifo+none", workload=Synthetic(least_tasks=40, most_tasks=41), jobs=1, machines=3, replicas=2
    )
    homes, world = inputs(scenario).homes, scenario.world(1)
    with np.errstate(over="ignore"):
        drawn = [[home_of(world, job_key(1, 0), task, at) for at in range(2)] for task in range(len(homes))]
    assert {a for a, b in drawn if a == b} == {0, 1, 2}
    assert homes.tolist() == [[a, b if a != b else (a + 1) % 3] for a, b in drawn]


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_a_jobs_tasks_go_to_the_machines_that_hold_their_input(seed):
    """One slot a machine, as many tasks: each machine takes one of its own, and what is left over reads from afar."""
    source = Listed(original_s=((1.0,) * MACHINES,), copy_s=1.0)
    scenario = ClusterScenario(
        policy="srpt+none", workload=source, jobs=1, machines=MACHINES, slots_per_machine=1, replicas=1,
        remote_factor=3.0, **STILL,
    )  # fmt: skip
    at_home = len(set(inputs(scenario, seed).homes[:, 0].tolist()))
    summary, results = scenario.run(seed)
    assert summary.local_share == pytest.approx(at_home / MACHINES)
    assert results.response_s.tolist() == [3.0 if at_home < MACHINES else 1.0]
    assert results.cost_s.tolist() == [at_home + 3.0 * (MACHINES - at_home)]


@pytest.mark.parametrize("policy", ["hopper+late", "srpt+ras"])
def test_where_every_machine_holds_everything_it_is_as_if_input_did_not_matter(policy):
    """All replicas are everywhere: any slot is local, and the allowance has nobody to prefer."""
    base = {"policy": policy, "workload": SMALL, "jobs": 200, "machines": MACHINES, "offered_load": 0.9}
    plain = ClusterScenario(**base).run(1)
    everywhere = ClusterScenario(replicas=MACHINES, locality_percent=50.0, **base).run(1)
    assert everywhere[0].local_share == plain[0].local_share == 1.0
    assert everywhere[1].response_s == pytest.approx(plain[1].response_s)


def test_a_larger_allowance_brings_more_tasks_to_their_input():
    """Under load few slots come free at a time; who may choose among more jobs finds a local task more often."""
    base = {"policy": "srpt+none", "workload": SMALL, "jobs": 600, "machines": 20, "offered_load": 0.9, "replicas": 1}
    shares = [ClusterScenario(locality_percent=k, **base).simulate(1).local_share for k in (0.0, 20.0, 100.0)]
    assert shares[0] + 0.02 < shares[1] < shares[2]


def test_later_phases_read_from_everywhere():
    """Only what the first of two equal phases reads lies somewhere: one task in two has homes."""
    scenario = ClusterScenario(
        policy="fifo+none", workload=Synthetic(least_tasks=40, most_tasks=41, phases=2), jobs=3, machines=MACHINES,
        slots_per_machine=1, replicas=1, **STILL,
    )  # fmt: skip
    assert len(inputs(scenario).homes) == 3 * 20
    assert scenario.simulate(1).local_share < 1


def waiting_jobs(sizes, homes, free_on):
    """Jobs of one waiting task each, all asking, with their homes; and machines with so many free slots."""
    state = empty_state(8, len(sizes))._replace(
        first_input=np.arange(len(sizes) + 1),
        homes=np.array(homes)[:, None],
        first_order=np.arange(len(sizes) + 1),
        start_order=np.zeros(len(sizes), dtype=np.int64),
        free_on=np.array(free_on),
    )
    for row, size in enumerate(sizes):
        job = state.jobs[row]
        job["id"], job["size"], job["n_tasks"], job["originals"] = row, size, 1, -1
    state.asking[: len(sizes)] = np.arange(len(sizes))
    state.counts["n_asking"] = state.counts["n_active"] = len(sizes)
    state.counts["is_short"] = True
    return state


@pytest.mark.parametrize(("percent", "served"), [(0.0, 0), (25.0, 0), (50.0, 0), (75.0, 3), (100.0, 3)])
def test_the_first_of_the_smallest_with_a_local_task_goes_first_else_the_smallest(percent, served):
    """By size 1 to 4 the jobs are 0, 2, 3, 1; the free slot is on machine 1, beside the input of 3 and of 1."""
    state = waiting_jobs([1.0, 4.0, 2.0, 3.0], homes=[0, 1, 0, 1], free_on=[0, 1])
    assert near_input(SimpleNamespace(locality_percent=percent), state, 0) == served


def test_a_job_with_a_local_task_of_its_own_keeps_its_turn():
    """Nobody goes before it, however small."""
    state = waiting_jobs([3.0, 1.0], homes=[1, 1], free_on=[0, 1])
    assert near_input(SimpleNamespace(locality_percent=100.0), state, 0) == 0


def test_nobody_goes_beyond_its_size_or_its_cap_or_takes_a_slot_for_what_does_not_wait():
    """The allowance changes who is first, not what a job may hold."""
    state = waiting_jobs([1.0, 2.0, 3.0, 4.0, 5.0], homes=[0, 1, 1, 1, 1], free_on=[0, 1])
    state.jobs["capped"][1] = True
    state.jobs["n_started"][2] = 1
    state.jobs["running"][3] = 4
    assert near_input(SimpleNamespace(locality_percent=100.0), state, 0) == 4


def test_with_slots_for_all_nobody_is_passed_over():
    """Section 4.4 adjusts Guideline 2; Guideline 3 gives by proportion, and the smallest has no precedence."""
    state = waiting_jobs([2.0, 1.0], homes=[0, 1], free_on=[0, 1])
    assert near_input(SimpleNamespace(locality_percent=100.0), state, 0) == 1
    state.counts["is_short"] = False
    assert near_input(SimpleNamespace(locality_percent=100.0), state, 0) == 0


def test_equally_small_jobs_go_by_arrival():
    """As everywhere."""
    state = waiting_jobs([1.0, 2.0, 2.0], homes=[0, 1, 1], free_on=[0, 1])
    assert near_input(SimpleNamespace(locality_percent=100.0), state, 0) == 1


def test_a_copy_goes_beside_its_input_but_not_beside_its_original():
    """On the original's machine a copy would share what slows it."""
    state = waiting_jobs([1.0], homes=[1], free_on=[1, 1])
    assert [home_with_room(state, state.jobs[0], 0, but) for but in (0, 1)] == [1, -1]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("replicas", 17),
        ("replicas", 7),
        ("remote_factor", 0.5),
        ("locality_percent", 101.0),
        ("slots_per_machine", 10_001),
    ],
)
def test_what_cannot_be_is_refused_by_name(name, value):
    """More replicas than machines, input that is faster from afar, a share beyond all, too large a machine."""
    with pytest.raises(BadSetting, match=name):
        ClusterScenario(policy="fifo+none", machines=6, **{name: value})


def test_an_idle_cluster_fills_from_its_first_machine_on():
    """The top of the stack is slot 0, so a run of few jobs needs few machines."""
    assert empty_state(4, 1).free.tolist() == [3, 2, 1, 0]


def test_a_machine_may_have_ten_thousand_slots():
    """As one whose machines do not matter, or a cluster of one."""
    assert ClusterScenario(policy="fifo+none", machines=6, slots_per_machine=10_000).slots_per_machine == 10_000
