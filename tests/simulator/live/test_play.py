"""Does the live engine, on a simulated driver, see and do there what it would on a real one?"""

from math import inf

import numpy as np
import pytest

from controlplane.estimators.calibration import calibrate
from controlplane.model.errors import BadSetting
from controlplane.model.parameters import EngineSettings
from controlplane.simulator.cluster.bounds import Bounds
from controlplane.simulator.cluster.scenario import ClusterScenario
from controlplane.simulator.cluster.workloads import Listed, Synthetic
from controlplane.simulator.live.cluster import TASK_BYTES, Attempt, drawn_factor
from controlplane.simulator.live.scenario import EngineScenario

pytestmark = pytest.mark.unit
FIELDS = {"policy": "fair+none", "workload": Synthetic(most_tasks=60), "jobs": 60, "machines": 8, "max_copies": 2}


def ours(**fields):
    """A run's summary under the live engine."""
    return EngineScenario(**FIELDS | fields).simulate(1)


def exact(**fields):
    """The same jobs and luck, by exact estimates."""
    return ClusterScenario(**FIELDS | fields).simulate(1)


@pytest.mark.parametrize("policy", ["fair+none", "srpt+none"])
@pytest.mark.parametrize("phases", [1, 2])
def test_without_copies_it_plays_what_the_exact_model_plays(policy, phases):
    """Same jobs, same luck, phase by phase; grants that come a tick later change little."""
    jobs = {"policy": policy, "workload": Synthetic(most_tasks=60, phases=phases, transfer_ratio=0.5)}
    live, true = ours(**jobs), exact(**jobs)
    assert live.response_s == pytest.approx(true.response_s, rel=0.03)
    assert live.busy_share == pytest.approx(true.busy_share, rel=0.03)
    assert live.copies_per_task == 0


def test_deadlines_are_those_of_the_exact_model():
    """Without copies as many are kept, and the engine tells of every job whether it was."""
    bounds = Bounds(slack=(-0.2, 3.0))
    scenario = EngineScenario(**FIELDS | {"policy": "srpt+none", "bounds": bounds})
    summary, results = scenario.run(1)
    kept = exact(policy="srpt+none", bounds=bounds).on_time_share
    assert summary.on_time_share == pytest.approx(kept, abs=0.06)
    assert 0.1 < kept < 0.9
    promised = {promise.job: promise for promise in scenario.promises(1)}
    in_time = results.response_s <= scenario.work(1).deadline_s
    assert [promised[f"job-{job}"].kept for job in range(60)] == in_time.tolist()
    known = [promise for promise in promised.values() if promise.newest_pocd is not None]
    assert calibrate([each.newest_pocd for each in known], [each.kept for each in known]).brier < 0.1


@pytest.mark.parametrize(
    "bounds", [Bounds(error=(0.05, 0.3)), Bounds(slack=(-0.2, 1.0), error=(0.1, 0.3), gives_up=True)]
)
def test_bounded_jobs_end_as_in_the_exact_model(bounds):
    """Without copies: as soon, with as much of their input done, and each with as much as its bound asks for."""
    fields = {"policy": "srpt+none", "bounds": bounds, "workload": Synthetic(most_tasks=60, phases=2)}
    live, true = ours(**fields), exact(**fields)
    assert live.response_s == pytest.approx(true.response_s, rel=0.03)
    assert live.cost_s == pytest.approx(true.cost_s, rel=0.03)
    assert live.accuracy == pytest.approx(true.accuracy, abs=0.02)
    assert 0.5 < true.accuracy < 0.95


def test_a_job_ends_once_the_share_of_tasks_that_its_error_bound_asks_for_is_done():
    """Three of four for a bound of .3, where nothing is slow but the last, on a slot each; it costs until then."""
    scenario = EngineScenario(
        policy="fair+ras", jobs=1, machines=4, slots_per_machine=1, launch_s=0.0, bounds=Bounds(error=(0.3, 0.3)),
        workload=Listed(original_s=((1.0, 2.0, 3.0, 90.0),), copy_s=90.0),
    )  # fmt: skip
    _, results = scenario.run(1)
    assert results.done_share.tolist() == [0.75]
    assert results.response_s == pytest.approx([3.0], abs=0.25)
    assert results.cost_s[0] <= 4 * results.response_s[0]


def test_a_job_that_gives_up_with_nothing_done_ends_at_its_deadline():
    """Its second phase would have no input."""
    bounds = Bounds(deadline_s=3.0, gives_up=True)
    _, results = EngineScenario(
        policy="fair+none", jobs=1, machines=2, slots_per_machine=1, launch_s=0.0, bounds=bounds,
        workload=Listed(original_s=((9.0, 9.0),), copy_s=9.0),
    ).run(1)  # fmt: skip
    assert (results.response_s.tolist(), results.done_share.tolist()) == ([3.0], [0.0])


def test_the_engine_copies_no_task_that_an_error_bound_does_without():
    """Three of four are needed, and end before a copy of the fourth could; without a bound it gets one."""
    fields = {
        "policy": "fair+gs", "jobs": 1, "slots_per_machine": 1, "launch_s": 0.0,
        "workload": Listed(original_s=((10.0, 10.0, 10.0, 900.0),), copy_s=10.0),
    }  # fmt: skip
    assert ours(**fields, bounds=Bounds(error=(0.3, 0.3))).copies_per_task == 0
    assert ours(**fields).copies_per_task > 0


def test_both_draw_from_the_same_law():
    """Also where only a tenth of the tasks is slow."""
    live, true = ours(tail_share=0.1), exact(tail_share=0.1)
    assert live.response_s == pytest.approx(true.response_s, rel=0.03)


def test_stragglers_are_found_by_what_a_shim_would_report():
    """Not as soon as by the truth, but most copies win."""
    found = ours(policy="hopper+ras")
    assert exact(policy="hopper+ras").response_s < found.response_s < 0.5 * ours().response_s
    assert found.won_share > 0.6


def test_a_run_is_a_function_of_its_seed():
    """Also the order in which equal machines are offered, and the engine's own state."""
    scenario = EngineScenario(**FIELDS | {"policy": "srpt+late", "kill_s": 0.2})
    once, again = (scenario.run(3)[1].response_s for _ in range(2))
    np.testing.assert_array_equal(once, again)
    assert not np.isnan(once).any()


def test_fewer_copies_win_where_all_slowness_lies_in_the_data():
    """Every attempt of a slow task takes as long, and the one that is ahead is not the one that is ended."""
    assert ours(policy="srpt+ras", shared_share=1.0).won_share < 0.2 < ours(policy="srpt+ras").won_share


@pytest.mark.parametrize(("pools", "jobs", "ends_s"), [(1, 1, [1.0]), (2, 1, [2.0]), (2, 2, [2.0, 2.0])])
def test_each_pool_has_an_equal_part_of_the_machines_and_of_the_jobs(pools, jobs, ends_s):
    """A job of as many tasks as there are slots: one wave on all of them, two on half of them."""
    source = Listed(original_s=((1.0,) * 8,) * jobs, copy_s=1.0)
    scenario = EngineScenario(
        policy="srpt+none", workload=source, jobs=jobs, machines=2, slowdown_tail_index=inf, launch_s=0.0, pools=pools
    )
    assert scenario.run(1)[1].response_s.tolist() == pytest.approx(ends_s, abs=0.2)


def test_pools_play_every_job_and_copy_in_each():
    """The same jobs on halves of the cluster: copies go to other machines of their own pool."""
    halves = EngineScenario(**FIELDS | {"policy": "hopper+ras", "jobs": 20, "pools": 2})
    summary, results = halves.run(1)
    assert not np.isnan(results.response_s).any()
    assert summary.won_share > 0.3
    assert summary.copies_per_task > 0.05


def test_sick_machines_are_avoided():
    """One in four takes five times as long: where nothing avoids them, and nothing is copied, jobs take longer."""
    sick = {"slow_machine_share": 0.25, "slow_machine_factor": 5.0, "jobs": 40}
    assert ours(policy="srpt+ras", **sick).response_s < 0.8 * exact(policy="srpt+none", **sick).response_s


def test_an_original_waits_for_a_healthy_machine_if_it_has_patience():
    """Sick machines are left out where others come free soon."""
    sick = {"policy": "srpt+none", "slow_machine_share": 0.25, "slow_machine_factor": 5.0, "jobs": 40}
    assert ours(**sick, slow_host_patience=0.0).response_s != ours(**sick).response_s


def test_copies_that_are_ordered_later_save_less():
    """By three seconds, which most jobs do not take."""
    late = {"policy": "fair+ras", "jobs": 20}
    assert ours(**late, order_s=3.0).response_s > 1.1 * ours(**late).response_s


@pytest.mark.parametrize("spread", ["launch_spread", "size_spread"])
def test_start_ups_and_tasks_are_unequal_if_asked_for(spread):
    """The same jobs take another time, which is a function of the seed."""
    alone = {"jobs": 10, "launch_s": 0.5}
    once, again, equal = ours(**alone, **{spread: 1.0}), ours(**alone, **{spread: 1.0}), ours(**alone)
    assert once.response_s == again.response_s != equal.response_s


def test_factors_of_a_spread_have_a_mean_of_one():
    """So that the load stays as it is; their logarithms have that standard deviation."""
    factors = np.array([drawn_factor(0.5, 1, number) for number in range(4000)])
    assert factors.mean() == pytest.approx(1.0, abs=0.03)
    assert np.log(factors).std() == pytest.approx(0.5, rel=0.05)


def test_a_process_that_is_stopped_reads_nothing_and_ends_later():
    """It runs for the first quarter of each second: half of a second's work is done at 1.25 s, and until 2 s."""
    attempt = Attempt(id=1, task=None, number=0, machine=0, started_s=0.0, works_s=0.0, end_s=3.25, duty=0.25)
    read = [attempt.bytes_read(at_s) / TASK_BYTES for at_s in (0.125, 0.25, 0.9, 1.25, 1.9, 3.25)]
    assert read == pytest.approx([0.125, 0.25, 0.25, 0.5, 0.5, 1.0])


def test_a_task_may_have_as_many_copies_as_live():
    """Unless the scenario says otherwise."""
    assert EngineScenario(policy="hopper+ras").max_copies == EngineSettings().max_copies_per_task


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"cycle_s": 0.0}, "cycle_s = 0.0, want at least 0.01"),
        ({"order_s": -1.0}, "order_s = -1.0, want 0 to 10"),
        ({"pools": 3}, "pools = 3, want a number that divides 8, the machines"),
        ({"replicas": 2}, "replicas = 2, want 0 with estimates of the engine"),
        ({"wanted_only": True}, "wanted_only = True, want none"),
        ({"policy": "srpt+clairvoyant"}, "engine.speculator = 'clairvoyant'"),
    ],
)
def test_what_it_does_not_model_is_refused(fields, named):
    """Before anything runs, by the field."""
    with pytest.raises(BadSetting, match=named):
        EngineScenario(**FIELDS | fields)
