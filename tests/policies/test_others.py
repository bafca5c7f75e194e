"""Does a policy of another package run live, in `decide` and in the simulator, by its entry point alone?"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ENTRY_POINTS = """[grasshopper.policies]
eager = toy_policies:EAGER
last-come = toy_policies:LAST_COME
several = toy_policies:SEVERAL
first-job = toy_policies:FIRST_JOB
"""
TOY = '''
import numpy as np
from controlplane.compiled import kernel
from controlplane.model.reasons import Reason
from controlplane.policies.redundancy.theory.plan import expanding_plan
from controlplane.policies.row import COPYING, ORDERING, Kind, Row, Setting

@kernel
def none(seen, settings, answer):
    """A copy for each task that is older than `patience_s`."""
    tasks = seen.tasks
    for row in range(len(tasks)):
        answer["score"][row], answer["reason"][row] = tasks["elapsed_s"][row], Reason.ENDS_SOONER
        answer["copies"][row] = (
            tasks["eligible"][row]
            and tasks["running_attempts"][row] == 1
            and tasks["elapsed_s"][row] > settings["patience_s"]
        )

@kernel
def last_come(seen, settings, answer):
    """All for the job that came last."""
    slots, claimants = seen.slots, seen.claimants
    for row in np.argsort(-claimants["arrival_s"], kind="mergesort"):
        answer["target"][row] = min(slots, claimants["usable"][row])
        slots -= answer["target"][row]

@kernel
def several(seen, settings, answer):
    """As many copies as it has learned to want, of each task that is old."""
    none(seen, settings, answer)
    for row in range(len(answer)):
        answer["copies"][row] *= int(seen.weights[0])

PATIENCE = Setting(name="patience_s", default=1.5, low=0.0, high=1e9, about="Age at which a task gets a copy.")
INPUTS = "running_attempts elapsed_s t_rem_s t_new_s expected_s demand_s relative_size progress target"
EAGER = Row(
    name="eager", kind=Kind.SPECULATOR, kernel=none, about="Old tasks.", needs=COPYING, settings=(PATIENCE,),
    plan=lambda system, load, choices: expanding_plan(system, choices),
    shows={"n_known": lambda inputs: float(len(inputs.keys() & set(INPUTS.split())))},
)
SEVERAL = Row(
    name="several", kind=Kind.SPECULATOR, kernel=several, about="Old tasks.", needs=COPYING, settings=(PATIENCE,),
    weights=lambda: [2.0],
)
@kernel
def few(seen, settings, answer):
    """So many copies a pool for the job of it that came first, and none for the others."""
    for row in range(len(seen.claimants)):
        first = True
        for other in range(row):
            first &= seen.claimants[other]["pool"] != seen.claimants[row]["pool"]
        answer["copies"][row] = settings["copies"] if first else 0

COPIES = Setting(name="copies", default=1.0, low=0.0, high=9.0, about="Copies of the first job of each pool.")
FIRST_JOB = Row(name="first-job", kind=Kind.COPY_BUDGET, kernel=few, about="Copies for the first.", settings=(COPIES,))
LAST_COME = Row(name="last-come", kind=Kind.ALLOCATOR, kernel=last_come, about="Last come first.", needs=ORDERING)
'''
PROGRAM = """
import json
from dataclasses import replace
from controlplane.engine.decide import decide
from controlplane.model.parameters import EngineSettings
from controlplane.model import facts as f
from controlplane.simulator.masterworker.scenario import MasterWorkerScenario
from tests.scenario import Scenario
from tests.simulator.cluster.test_scenario import VARIED

live = Scenario(EngineSettings(mode=f.Mode.CONTROL, allocator="last-come", speculator="eager"))
copies = live.run_with_straggler()
watched = Scenario(EngineSettings(speculator="none"))
watched.run_with_straggler()
dump = watched.scheduler.snapshot(watched.now_s)
decided = [decide(dump, pair, EngineSettings()).pools[0].copies for pair in ("last-come+eager", "fair+none")]
simulated = replace(next(iter(VARIED.values())), policy="last-come+eager", jobs=4).simulate(1)
indices = [[task.index for task in tasks] for tasks in (copies, *decided)]
ordered = [record.inputs["n_known"] for record in live.records() if record.order and "score" in record.inputs]
shown = [task.inputs["n_known"] for task in live.scheduler.snapshot(live.now_s).pools[0].tasks]
expanding, plain = (MasterWorkerScenario(policy=name, jobs=200).simulate(1).cost_s for name in ("eager", "none"))
print(json.dumps([sorted({*ordered, *shown}), *indices, simulated.copies_per_task, expanding / plain]))
"""


SEVERAL = """
import json
from dataclasses import replace
from controlplane.engine.decide import decide
from controlplane.model.parameters import EngineSettings
from controlplane.model import facts as f
from tests.scenario import Scenario, orders
from tests.simulator.cluster.test_scenario import VARIED

settings = EngineSettings(mode=f.Mode.CONTROL, speculator="several", max_copies_per_task=3)
live = Scenario(settings)
copies = live.run_with_straggler()
cycles = [decision for decision in live.decisions if orders(decision)]
narrow = Scenario(replace(settings, job_copy_share=0.01))
narrow.run_with_straggler()
first = next(decision for decision in narrow.decisions if orders(decision))
watched = Scenario(EngineSettings(speculator="none"))
watched.run_with_straggler()
decided = decide(watched.scheduler.snapshot(watched.now_s), "fair+several", settings).pools[0].copies
simulated = [
    replace(next(iter(VARIED.values())), policy=f"fair+{name}", max_copies=2, jobs=40, offered_load=0.2).simulate(1)
    for name in ("eager", "several")
]
print(json.dumps([
    [record.reason.label for record in first.records if record.index == 3],
    [[(order.index, order.host) for order in orders(cycle)] for cycle in cycles],
    [(task.index, task.host) for task in decided],
    [one.copies_per_task for one in simulated],
]))
"""


BUDGETED = """
import json
from dataclasses import replace
from controlplane.engine.decide import decide
from controlplane.model.parameters import EngineSettings
from controlplane.model import facts as f
from tests.scenario import Scenario, orders
from tests.simulator.cluster.test_scenario import VARIED

settings = EngineSettings(mode=f.Mode.CONTROL, speculator="several", max_copies_per_task=3, copy_budget="first-job")
ordered = []
for budget in ({}, {"copies": 2.0}, {"copies": 0.0}):
    live = Scenario(replace(settings, copy_budget_settings=budget))
    live.run_with_straggler()
    refused = {record.reason.label for record in live.records() if record.action.label == "refuse_copy"}
    ordered.append([sum(map(len, map(orders, live.decisions))), "no_budget_job" in refused])
watched = Scenario(EngineSettings(speculator="none"))
watched.run_with_straggler()
decided = decide(watched.scheduler.snapshot(watched.now_s), "fair+several", settings).pools[0].copies
scenario = replace(next(iter(VARIED.values())), policy="fair+several", max_copies=2, jobs=40, offered_load=0.2)
simulated = [
    replace(scenario, copy_budget=name).simulate(1).copies_per_task for name in ("", "first-job")
] + [replace(scenario, copy_budget="first-job", copy_budget_settings={"copies": 0.0}).simulate(1).copies_per_task]
print(json.dumps([ordered, len(decided), simulated]))
"""


def run(code, folder, **environment):
    """What a process prints, or how it fails, that finds the packages of `folder`."""
    paths = f"{folder}{os.pathsep}{ROOT}"
    variables = {**os.environ, "PYTHONPATH": paths, "PYTHONWARNINGS": "ignore", "NUMBA_DISABLE_JIT": "1"} | environment
    return subprocess.run([sys.executable, "-c", code], env=variables, cwd=ROOT, capture_output=True, text=True)


@pytest.fixture
def installed(tmp_path):
    """A folder with the toys and what an installer writes of them."""
    (tmp_path / "toy_policies.py").write_text(TOY)
    about = tmp_path / "toy_policies-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-policies\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRY_POINTS)
    return tmp_path


@pytest.mark.unit
def test_it_runs_live_and_in_decide_and_simulated(installed):
    """Task 3 is the straggler; it gets its copy, from a kernel that has the name of one of ours."""
    done = run(PROGRAM, installed)
    assert done.returncode == 0, done.stderr
    inputs, *copied, copies_per_task, cost_ratio = json.loads(done.stdout)
    assert inputs == [9.0], "every decision about a task has what `Row.shows` may be computed from"
    assert copied == [[3], [3], []]
    assert copies_per_task > 0.0
    assert cost_ratio > 1.1, "on the master-worker system it starts twice the tasks"


@pytest.mark.unit
def test_one_answer_may_want_several_copies_of_a_task(installed):
    """Shed+ and Dolly do: both start in one cycle, each on a host of its own, live, in `decide` and simulated."""
    done = run(SEVERAL, installed)
    assert done.returncode == 0, done.stderr
    narrow, cycles, decided, (one, two) = json.loads(done.stdout)
    (live,) = cycles
    for copies in (live, decided):
        assert [index for index, _ in copies] == [3, 3]
        assert len({host for _, host in copies} - {"h3"}) == 2
    assert narrow == ["ends_sooner"], "a second copy beyond the budget takes nothing back of the first"
    assert 1.5 * one < two <= 2 * one


@pytest.mark.unit
def test_jobs_compete_for_copies_where_a_copy_budget_shares_them(installed):
    """Shed+ and Dolly share copies among jobs, within the engine's own limits: live, in `decide` and simulated."""
    done = run(BUDGETED, installed)
    assert done.returncode == 0, done.stderr
    ordered, n_decided, (free, some, none) = json.loads(done.stdout)
    assert ordered == [[1, False], [2, False], [0, True]]
    assert n_decided == 1
    assert free > some > none == 0.0


@pytest.mark.full
def test_it_compiles_only_what_calls_it(installed, tmp_path):
    """A minute for a policy of one loop would be a minute for every change of it."""
    compiled = {}
    for folder in (tmp_path / "nothing", installed):
        done = run(
            "from controlplane.engine.warming import warm; warm()",
            folder,
            NUMBA_DISABLE_JIT="0",
            XDG_CACHE_HOME=str(tmp_path / "cache"),
        )
        assert done.returncode == 0, done.stderr
        compiled[folder] = {path.name: path.parent.parent for path in (tmp_path / "cache").rglob("*.nbc")}
    new = {name.partition("-")[0] for name in compiled[installed].keys() - compiled[tmp_path / "nothing"].keys()}
    assert {"toy_policies.none", "toy_policies.last_come"} <= new
    assert not {name for name in new if name.startswith(("late", "mantri", "running", "views", "host_slowness"))}


@pytest.mark.unit
def test_what_is_no_row_is_named(installed):
    """Whoever has misspelt an entry point learns which."""
    points = installed / "toy_policies-1.0.dist-info" / "entry_points.txt"
    points.write_text(ENTRY_POINTS.replace(":EAGER", ":PATIENCE"))
    done = run("import controlplane.policies.registry", installed)
    assert "TypeError: entry point eager of grasshopper.policies: got Setting(" in done.stderr


@pytest.mark.unit
def test_a_name_in_use_is_refused(installed):
    """Neither would be found by it."""
    (installed / "toy_policies.py").write_text(TOY.replace('name="last-come"', 'name="fair"'))
    done = run("import controlplane.policies.registry", installed)
    assert (
        "entry point last-come of grasshopper.policies: got allocator 'fair', want a name that is not in use"
        in done.stderr
    )
