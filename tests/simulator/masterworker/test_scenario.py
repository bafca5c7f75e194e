"""What does a scenario come to, over one seed and over several, and is bad input told by its name?"""

import json
import subprocess
import sys
from dataclasses import replace
from math import inf, isnan

import numpy as np
import pytest

from controlplane.model.errors import BadSetting
from controlplane.policies.redundancy.theory.system import System
from controlplane.simulator.masterworker.master import MasterWorker
from controlplane.simulator.masterworker.record import outcome, record
from controlplane.simulator.masterworker.scenario import MasterWorkerScenario
from controlplane.simulator.statistics import estimate

pytestmark = pytest.mark.unit

RELAUNCH = MasterWorkerScenario(policy="relaunch", jobs=2000)


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
    MasterWorkerScenario(policy="none", jobs=100).simulate(1)
    assert played == [5, 100]


def test_measured_load_stands_beside_the_nominal_one():
    """Without spare tasks they are the same but for chance; spare tasks raise it to what the formula says."""
    none = MasterWorkerScenario(policy="none", offered_load=0.6, jobs=200_000)
    small = replace(none, policy="redundant-small", threshold_s=35.0)
    assert none.simulate(1).busy_share == pytest.approx(0.6, rel=0.02)
    assert small.simulate(1).busy_share == pytest.approx(small.predicted().busy_share, rel=0.02)


def test_half_of_the_slots_have_work_unless_somebody_says_otherwise():
    """Where nothing is copied, the load that is offered keeps as many slots busy."""
    assert MasterWorkerScenario(policy="none").predicted().busy_share == pytest.approx(0.5)


def test_a_threshold_or_factor_that_is_left_out_is_the_best():
    """d* by E[T] at this load; w by E[Latency] for each size."""
    small = MasterWorkerScenario(policy="redundant-small", offered_load=0.8).plan()
    assert small.threshold_s == pytest.approx(35.11, abs=0.05)
    assert RELAUNCH.plan().relaunch_factor[[1, 10]] == pytest.approx([4.5, 4.355], abs=1e-3)
    assert (MasterWorkerScenario(policy="none").plan().relaunch_factor == inf).all()


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
        MasterWorkerScenario(policy="none", **{field: value})
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
        MasterWorkerScenario(policy="none", system=System(**{field: value}))
    assert bad.value.field == field


def test_a_job_must_find_a_node_for_every_task():
    """Eleven tasks doubled need 22 of 20 nodes; the setting that asks for them is named."""
    with pytest.raises(BadSetting, match="expansion_rate"):
        MasterWorkerScenario(policy="redundant-all", system=System(max_tasks=11))
    with pytest.raises(BadSetting, match="spare_tasks"):
        MasterWorkerScenario(policy="redundant-small", spare_tasks=11)


def test_a_record_says_all_that_went_in():
    """Every parameter, the plan made of them, version, commit and code, in strict JSON."""
    told = json.loads(
        json.dumps(record(RELAUNCH, [1, 2], [RELAUNCH.simulate(seed) for seed in (1, 2)]), allow_nan=False)
    )
    assert told["scenario"]["system"]["max_service_s"] == "inf"
    assert {"version", "commit", "code", "seeds", "plan", "predicted", "outcome", "runs"} <= set(told)
    assert (told["seeds"], len(told["runs"]), told["plan"]["relaunch_factor"][0]) == ([1, 2], 2, pytest.approx(4.5))


def test_ten_million_jobs_need_no_memory_of_their_own():
    """Memory does not grow with the jobs: measured between a short and a long run in a process of its own.

    Read from /proc, for the resource module counts what the parent had when it started the process.
    """
    program = (
        "import re; from functools import partial\n"
        "from controlplane.simulator.masterworker.scenario import MasterWorkerScenario\n"
        "peak = lambda: int(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])\n"
        "scenario = partial(MasterWorkerScenario, policy='none')\n"
        "scenario(jobs=20_000).simulate(1); before = peak()\n"
        "scenario(jobs=10_000_000).simulate(1); print(peak() - before, peak())"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    grown_kb, peak_kb = map(int, told.stdout.split())
    assert grown_kb < 5_000
    assert peak_kb < 300_000
