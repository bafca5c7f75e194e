"""Do simulated jobs with deadlines and error bounds run, end and count as they should?"""

from dataclasses import replace
from math import isnan

import numpy as np
import pytest

from controlplane.model.errors import BadSetting
from controlplane.simulator.cluster.bounds import Bounds, with_bounds
from controlplane.simulator.cluster.record import means
from controlplane.simulator.cluster.scenario import ClusterScenario
from controlplane.simulator.cluster.workloads import Listed, workload
from controlplane.simulator.live.scenario import EngineScenario
from tests.simulator.cluster.test_scenario import STILL, Chain

pytestmark = pytest.mark.unit

SCENARIO = ClusterScenario(
    policy="fair+none", jobs=1, machines=4, slots_per_machine=1,
    workload=Listed(original_s=((1.0, 2.0, 3.0, 9.0),), copy_s=1.0), **STILL,
)  # fmt: skip


def ran(bounds: Bounds, **changes):
    """Response times and shares of input done, job by job, and the summary."""
    summary, results = replace(SCENARIO, bounds=bounds, **changes).run(seed=1)
    return results.response_s.tolist(), results.done_share.tolist(), summary


def test_a_job_gives_up_at_its_deadline_what_is_not_done():
    """The task that ends right then counts; the other one's slot is paid for until then."""
    response_s, done_share, summary = ran(Bounds(deadline_s=3.0, gives_up=True))
    assert (response_s, done_share, summary.cost_s) == ([3.0], [0.75], 9.0)
    assert (summary.accuracy, summary.on_time_share) == (0.75, 0.0)


def test_a_job_that_does_not_give_up_is_late():
    """All of it is done, too late."""
    response_s, done_share, summary = ran(Bounds(deadline_s=8.9))
    assert (response_s, done_share, summary.on_time_share) == ([9.0], [1.0], 0.0)
    assert ran(Bounds(deadline_s=9.0))[2].on_time_share == 1.0


def test_a_job_ends_once_its_error_bound_is_met():
    """Three of four tasks for a bound of .3: the longest is given up."""
    response_s, done_share, summary = ran(Bounds(error=(0.3, 0.3)))
    assert (response_s, done_share, summary.accuracy) == ([3.0], [0.75], 0.75)
    assert isnan(summary.on_time_share)


def test_with_both_bounds_a_job_is_in_time_if_it_has_done_enough():
    """Half of it by 2.5 s, three quarters only by 3 s."""
    assert ran(Bounds(deadline_s=2.5, error=(0.5, 0.5), gives_up=True))[2].on_time_share == 1.0
    assert ran(Bounds(deadline_s=2.5, error=(0.3, 0.3), gives_up=True))[2].on_time_share == 0.0


def test_tasks_that_wait_are_given_up_too_and_the_next_job_gets_the_slots():
    """On one machine: nothing of the first job is done by its deadline, and the second starts then."""
    two = Listed(original_s=((4.0, 4.0), (1.0,)), copy_s=1.0)
    response_s, done_share, _ = ran(
        Bounds(deadline_s=3.0, gives_up=True), policy="fifo+none", workload=two, machines=1, jobs=2
    )
    assert (response_s, done_share) == ([3.0, 3.0], [0.0, 0.0])
    response_s, done_share, _ = ran(
        Bounds(deadline_s=4.5, gives_up=True), policy="fifo+none", workload=two, machines=1, jobs=2
    )
    assert (response_s, done_share) == ([4.5, 4.5], [0.5, 0.0])


def test_later_phases_run_whole_and_their_time_is_taken_off_the_deadline():
    """Six tasks on two slots until 2 s, of which four are done; then two more, by 3 s."""
    bounds = Bounds(deadline_s=3.0, gives_up=True)
    response_s, done_share, _ = ran(bounds, workload=Chain((6, 2), 0.0), machines=2)
    assert (response_s, done_share) == ([3.0], [pytest.approx(2 / 3)])


def test_a_job_whose_later_phases_take_all_of_its_deadline_ends_at_once():
    """Two seconds for three of ideal time; the clock goes on."""
    response_s, done_share, _ = ran(Bounds(deadline_s=0.5, gives_up=True), workload=Chain((2, 2), 0.0), machines=2)
    assert (response_s, done_share) == ([0.0], [0.0])


def test_an_error_bound_is_of_the_first_phase_alone():
    """Half of four tasks, and both of two."""
    response_s, done_share, _ = ran(Bounds(error=(0.5, 0.5)), workload=Chain((4, 2), 0.0), machines=2)
    assert (response_s, done_share) == ([2.0], [0.5])


def test_a_deadline_by_slack_is_the_ideal_time_and_a_share_of_it():
    """Two waves and one more of 1.5 s each, and a tenth; the first phase has all but the last wave."""
    work = workload(np.zeros(1), np.ones(1), np.array([2]), np.array([4, 2]))
    bounds = Bounds(slack=(0.1, 0.1), ideal_slots=2)
    bounded = with_bounds(work, bounds, seed=1, median_s=np.array([1.5]))
    assert bounded.deadline_s.tolist() == pytest.approx([4.95])
    assert bounded.input_deadline_s.tolist() == pytest.approx([3.45])


def test_bounds_are_drawn_by_seed_and_job():
    """The same seed gives the same ones, within their ranges."""
    work = workload(np.zeros(500), np.ones(500), np.ones(500, dtype=int), np.full(500, 3))
    bounds = Bounds(slack=(0.02, 0.2), error=(0.05, 0.3))
    once, again, other = (with_bounds(work, bounds, seed, np.ones(500)) for seed in (1, 1, 2))
    assert (once.deadline_s == again.deadline_s).all()
    assert (once.error_bound != other.error_bound).any()
    assert 1.02 <= once.deadline_s.min() < 1.03 < 1.19 < once.deadline_s.max() <= 1.2
    assert 0.05 <= once.error_bound.min() < 0.06 < 0.29 < once.error_bound.max() <= 0.3


@pytest.mark.parametrize(
    ("field", "bounds"),
    [
        ("deadline_s", {"deadline_s": 0.0}),
        ("deadline_s", {"deadline_s": float("nan")}),
        ("slack", {"slack": (0.2, 0.1)}),
        ("slack", {"slack": (-1.0, 0.1)}),
        ("stock_times", {"stock_times": 0.0}),
        ("ideal_slots", {"ideal_slots": 0}),
        ("error", {"error": (0.1, 1.0)}),
        ("error", {"error": (-0.1, 0.1)}),
        ("gives_up", {"gives_up": True}),
    ],
)
def test_bad_bounds_are_refused_by_name(field, bounds):
    """As all bad settings."""
    with pytest.raises(BadSetting, match=rf"bounds\.{field}"):
        Bounds(**bounds)


@pytest.mark.parametrize("other", [{"deadline_s": 3.0}, {"stock_times": 1.0}])
def test_only_one_kind_of_deadline_may_be_given(other):
    """Which of two holds would be anybody's guess."""
    with pytest.raises(BadSetting, match="one of deadline_s, stock_times and slack"):
        Bounds(slack=(0.1, 0.1), **other)


def test_a_deadline_may_be_a_multiple_of_stocks_median():
    """Under stock MapReduce the job takes 9 s, for nothing is copied before a task has ended and none of it waits."""
    listed = Listed(original_s=((1.0, 2.0, 3.0, 9.0),), copy_s=8.5)
    assert ran(Bounds(stock_times=0.5, gives_up=True), workload=listed)[0] == [4.5]


def test_the_engines_own_estimates_know_no_offsets():
    """Nor are they silently left out."""
    with pytest.raises(BadSetting, match="resumes"):
        EngineScenario(policy="fair+none", resumes=True)


def test_where_estimates_are_poor_ras_is_as_good_as_gs():
    """GRASS, section 4.1; where they are exact GS is ahead."""
    lead = {}
    for noise in (0.0, 2.0):
        fields = {"jobs": 800, "machines": 25, "slots_per_machine": 2, "max_copies": 2, "noise": noise}
        scenarios = [
            ClusterScenario(policy=f"fair+{name}", bounds=Bounds(error=(0.05, 0.3)), **fields) for name in ("ras", "gs")
        ]
        ras_s, gs_s = (np.mean([each.simulate(seed).response_s for seed in (1, 2, 3)]) for each in scenarios)
        lead[noise] = 1.0 - gs_s / ras_s
    assert lead[0.0] > 0.01
    assert abs(lead[2.0]) < 0.005


def test_a_summary_without_bounds_does_not_tell_of_any():
    """Its means have the usual lines."""
    words = "jobs that kept their deadline", "tasks done of jobs with a bound"
    for bounds, has in ((Bounds(), (False, False)), (Bounds(error=(0.3, 0.3)), (False, True))):
        found = means([replace(SCENARIO, bounds=bounds).simulate(1)])
        assert tuple(word in found for word in words) == has


@pytest.mark.parametrize(("resumes", "response_s"), [(False, 6.0), (True, 5.2)])
def test_a_copy_that_resumes_has_less_to_do(resumes, response_s):
    """At 2 s the second task has done a fifth, and a copy of it takes 4 s from the start."""
    listed = Listed(original_s=((2.0, 10.0),), copy_s=4.0)
    found, _, _ = ran(Bounds(), policy="fair+gs", workload=listed, machines=2, resumes=resumes)
    assert found == [pytest.approx(response_s)]


def test_a_restart_resumes_where_the_old_attempt_is_and_not_where_it_would_have_been():
    """After 3 s, one of them to launch, a tenth of 20 s is done; the new attempt takes 1 s to launch and 0.9 of 4 s."""
    found, _, _ = ran(
        Bounds(), policy="fifo+relaunch", speculator_settings={"relaunch_factor": 0.55}, machines=2, resumes=True,
        workload=Listed(original_s=((20.0,),), copy_s=4.0), launch_s=1.0, cycle_s=0.5,
    )  # fmt: skip
    assert found == [pytest.approx(3.0 + 1.0 + 0.9 * 4.0)]


def test_shed_plus_meets_a_deadline_that_stock_misses():
    """One of four tasks needs 40 s; Shed+ copies the one that is late, on an idle slot."""
    listed = Listed(original_s=((10.0, 10.0, 10.0, 40.0),), copy_s=10.0)
    in_time = {
        policy: ran(Bounds(deadline_s=25.0), policy=policy, workload=listed, machines=5)[2].on_time_share
        for policy in ("fifo+none", "fifo+shed-plus")
    }
    assert in_time == {"fifo+none": 0.0, "fifo+shed-plus": 1.0}
