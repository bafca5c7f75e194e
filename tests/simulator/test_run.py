"""Are means, errors, tails and size bins right, and is bad input told by its name?"""

import json
import subprocess
import sys
from dataclasses import replace
from math import exp, inf, isnan

import numpy as np
import pytest

from controlplane.model.errors import BadSetting
from controlplane.policies.redundancy.theory.system import System
from controlplane.simulator.masterworker import MasterWorker
from controlplane.simulator.run import outcome, parse_seeds, record
from controlplane.simulator.scenario import Scenario
from controlplane.simulator.statistics import QUANTILES, STEP, Tally, estimate

pytestmark = pytest.mark.unit

RELAUNCH = Scenario(policy="relaunch", jobs=2000)


def tally(service_s: np.ndarray, wait_s: np.ndarray, latency_s: np.ndarray, pieces: int = 3) -> Tally:
    """All jobs have two tasks; taken in a few pieces."""
    counted = Tally(len(service_s))
    for rows in np.array_split(np.arange(len(service_s)), pieces):
        counted.add(np.full(len(rows), 2), service_s[rows], wait_s[rows], latency_s[rows], 2 * latency_s[rows])
    return counted


def test_streamed_statistics_are_those_of_all_jobs_at_once():
    """No job is kept, and nothing is lost by it but a hundredth of a quantile."""
    rng = np.random.default_rng([11, 0])
    service_s = rng.uniform(0.01, 40, 5000)
    latency_s, wait_s = service_s * (1 + rng.pareto(3, 5000)), np.maximum(rng.normal(0, 5, 5000), 0)
    found = tally(service_s, wait_s, latency_s).summary(busy_share=0.5)
    slowdown = (wait_s + latency_s) / service_s
    means = (found.response_s, found.slowdown, found.wait_s, found.waited_share, found.cost_s)
    expected = (wait_s + latency_s, slowdown, wait_s, wait_s > 0, 2 * latency_s)
    assert means == pytest.approx([column.mean() for column in expected])
    for share, quantile in zip(QUANTILES, found.slowdown_quantiles, strict=True):
        assert np.quantile(slowdown, share) == pytest.approx(quantile, rel=0.06)
    for x, above in found.slowdown_tail:
        assert (slowdown > x).mean() <= above <= (slowdown > x * exp(-STEP)).mean()
    for size in found.sizes:
        inside = (2 * service_s >= size.from_s) & (2 * service_s < 2 * size.from_s)
        assert (size.jobs, size.slowdown) == (inside.sum(), pytest.approx(slowdown[inside].mean()))
    assert sum(size.jobs for size in found.sizes) == 5000


def test_batches_know_that_neighbours_are_alike():
    """Where jobs come in runs of equals, the error is far larger than that of as many independent draws."""
    level = np.repeat(np.random.default_rng([12, 0]).normal(10, 1, 50), 200)
    columns = np.ones(len(level)), np.zeros(len(level)), level
    naive = level.std() / len(level) ** 0.5
    assert tally(*columns).summary(busy_share=0.5).response_error_s > 5 * naive
    unordered = np.random.default_rng([13, 0]).permutation(level)
    found = tally(np.ones(len(level)), np.zeros(len(level)), unordered).summary(busy_share=0.5)
    assert found.response_error_s == pytest.approx(naive, rel=0.5)


def test_a_queue_that_never_empties_is_unstable():
    """One job of the second half that finds room shows that the queue has emptied."""
    waits = np.ones(1000)
    ones = np.ones(1000)
    assert not tally(ones, waits, ones).summary(busy_share=1.0).stable
    waits[600] = 0
    assert tally(ones, waits, ones).summary(busy_share=1.0).stable
    waits[:] = 1
    waits[:400] = 0
    assert not tally(ones, waits, ones).summary(busy_share=1.0).stable


def test_one_run_has_the_error_of_its_batches_and_several_that_of_their_means():
    """Runs are independent, jobs of one run are not."""
    runs = [RELAUNCH.simulate(seed) for seed in (1, 2, 3)]
    assert outcome(runs[:1]).response_s.error == runs[0].response_error_s
    assert outcome(runs[:1]).slowdown.error == runs[0].slowdown_error
    several = outcome(runs)
    assert several.response_s == estimate([one.response_s for one in runs])
    assert several.response_s.error == pytest.approx(np.std([one.response_s for one in runs], ddof=1) / 3**0.5)
    assert isnan(estimate([1.0]).error)


def test_a_seed_is_the_whole_of_a_runs_chance():
    """The same seed gives the same summary, another seed another."""
    assert RELAUNCH.simulate(4) == RELAUNCH.simulate(4) != RELAUNCH.simulate(5)


def test_the_warm_up_is_not_counted_whatever_the_blocks():
    """As many jobs are counted as were asked for, however they fall on blocks."""
    for jobs in (100, 7803, 8192, 20_001):
        assert replace(RELAUNCH, jobs=jobs).simulate(1).jobs == jobs


def test_a_twentieth_more_jobs_warm_the_cluster_up(monkeypatch):
    """They find it empty, and are played before those that count."""
    played = []
    plain = MasterWorker.run
    monkeypatch.setattr(
        MasterWorker, "run", lambda cluster, jobs: played.append(len(jobs.tasks)) or plain(cluster, jobs)
    )
    Scenario(jobs=100).simulate(1)
    assert played == [5, 100]


def test_measured_load_stands_beside_the_nominal_one():
    """Without spare tasks they are the same but for chance; spare tasks raise it to what the formula says."""
    none = Scenario(offered_load=0.6, jobs=200_000)
    small = replace(none, policy="redundant-small", threshold_s=35.0)
    assert none.simulate(1).busy_share == pytest.approx(0.6, rel=0.02)
    assert small.simulate(1).busy_share == pytest.approx(small.predicted().busy_share, rel=0.02)


def test_half_of_the_slots_have_work_unless_somebody_says_otherwise():
    """Where nothing is copied, the load that is offered keeps as many slots busy."""
    assert Scenario().predicted().busy_share == pytest.approx(0.5)


def test_a_threshold_or_factor_that_is_left_out_is_the_best():
    """d* by E[T] at this load; w by E[Latency] for each size."""
    small = Scenario(policy="redundant-small", offered_load=0.8).plan()
    assert small.threshold_s == pytest.approx(35.11, abs=0.05)
    assert RELAUNCH.plan().relaunch_factor[[1, 10]] == pytest.approx([4.5, 4.355], abs=1e-3)
    assert (Scenario(policy="none").plan().relaunch_factor == inf).all()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("offered_load", 0.0),
        ("offered_load", float("nan")),
        ("jobs", 99),
        ("threshold_s", -1.0),
        ("relaunch_factor", -0.1),
        ("spare_tasks", -1),
        ("expansion_rate", 0.9),
    ],
)
def test_a_bad_field_is_named(field, value):
    """With what it may be."""
    with pytest.raises(BadSetting) as bad:
        Scenario(**{field: value})
    assert bad.value.field == field


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("nodes", 0),
        ("slots_per_node", 0),
        ("min_service_s", 0.0),
        ("max_tasks", 21),
        ("max_service_s", 10.0),
        ("service_tail_index", 1.0),
        ("slowdown_tail_index", 1.0),
    ],
)
def test_a_bad_field_of_the_system_is_named(field, value):
    """An arrival rate needs means that exist."""
    with pytest.raises(BadSetting) as bad:
        Scenario(system=System(**{field: value}))
    assert bad.value.field == field


def test_a_job_must_find_a_node_for_every_task():
    """Eleven tasks doubled need 22 of 20 nodes; the setting that asks for them is named."""
    with pytest.raises(BadSetting, match="expansion_rate"):
        Scenario(policy="redundant-all", system=System(max_tasks=11))
    with pytest.raises(BadSetting, match="spare_tasks"):
        Scenario(policy="redundant-small", spare_tasks=11)


def test_a_record_says_all_that_went_in():
    """Every parameter, the plan made of them, version, commit and code, in strict JSON."""
    told = json.loads(
        json.dumps(record(RELAUNCH, [1, 2], [RELAUNCH.simulate(seed) for seed in (1, 2)]), allow_nan=False)
    )
    assert told["scenario"]["system"]["max_service_s"] == "inf"
    assert {"version", "commit", "code", "seeds", "plan", "predicted", "outcome", "runs"} <= set(told)
    assert (told["seeds"], len(told["runs"]), told["plan"]["relaunch_factor"][0]) == ([1, 2], 2, pytest.approx(4.5))


@pytest.mark.parametrize("text", ["", "x", "5..1", "1..", "-3", "0..10000000", "1..9000,9001..10001", f"{2**53 + 1}"])
def test_seeds_that_are_none_are_refused(text):
    """Instead of running for a year."""
    with pytest.raises(BadSetting, match="seeds"):
        parse_seeds(text)


def test_the_largest_seed_is_the_largest_number_that_json_holds_exactly():
    """Records are JSON; the next one would be read as another seed."""
    assert parse_seeds(f"{2**53}") == [2**53]


@pytest.mark.parametrize("text", ["1,1", "1..5,3"])
def test_a_seed_that_is_there_twice_is_refused(text):
    """Its run would count twice, and the standard error would come out too small, or as nought."""
    with pytest.raises(BadSetting, match="each once"):
        parse_seeds(text)


def test_ten_million_jobs_need_no_memory_of_their_own():
    """Memory does not grow with the jobs: measured between a short and a long run in a process of its own.

    Read from /proc, for the resource module counts what the parent had when it started the process.
    """
    program = (
        "import re; from controlplane.simulator.scenario import Scenario\n"
        "peak = lambda: int(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])\n"
        "Scenario(jobs=20_000).simulate(1); before = peak()\n"
        "Scenario(jobs=10_000_000).simulate(1); print(peak() - before, peak())"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    grown_kb, peak_kb = map(int, told.stdout.split())
    assert grown_kb < 5_000
    assert peak_kb < 300_000
