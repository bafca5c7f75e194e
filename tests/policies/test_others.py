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
"""
TOY = '''
import numpy as np
from controlplane.compiled import kernel
from controlplane.model.reasons import Reason
from controlplane.policies.row import COPYING, ORDERING, Kind, Row, Setting

@kernel
def none(tasks, finished, settings, answer):
    """A copy for each task that is older than `patience_s`."""
    for row in range(len(tasks)):
        answer["score"][row], answer["reason"][row] = tasks["elapsed_s"][row], Reason.ENDS_SOONER
        answer["wanted"][row] = (
            tasks["eligible"][row]
            and tasks["running_attempts"][row] == 1
            and tasks["elapsed_s"][row] > settings["patience_s"]
        )

@kernel
def last_come(slots, claimants, settings, answer):
    """All for the job that came last."""
    for row in np.argsort(-claimants["arrival_s"], kind="mergesort"):
        answer["target"][row] = min(slots, claimants["usable"][row])
        slots -= answer["target"][row]

PATIENCE = Setting(name="patience_s", default=1.5, low=0.0, high=1e9, about="Age at which a task gets a copy.")
INPUTS = "running_attempts elapsed_s t_rem_s t_new_s expected_s demand_s relative_size progress target"
EAGER = Row(
    name="eager", kind=Kind.SPECULATOR, kernel=none, about="Old tasks.", needs=COPYING, settings=(PATIENCE,),
    shows={"n_known": lambda inputs: float(len(inputs.keys() & set(INPUTS.split())))},
)
LAST_COME = Row(name="last-come", kind=Kind.ALLOCATOR, kernel=last_come, about="Last come first.", needs=ORDERING)
'''
PROGRAM = """
import json
from dataclasses import replace
from controlplane.engine.decide import decide
from controlplane.model.parameters import EngineSettings
from controlplane.model import facts as f
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
print(json.dumps([sorted({*ordered, *shown}), *indices, simulated.copies_per_task]))
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
    inputs, *copied, copies_per_task = json.loads(done.stdout)
    assert inputs == [9.0], "every decision about a task has what `Row.shows` may be computed from"
    assert copied == [[3], [3], []]
    assert copies_per_task > 0.0


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
