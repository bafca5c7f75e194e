"""Policies of another package, as an installer would leave them: how does a test have some without installing any?"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENTRY_POINTS = """[grasshopper.policies]
eager = toy_policies:EAGER
last-come = toy_policies:LAST_COME
several = toy_policies:SEVERAL
first-job = toy_policies:FIRST_JOB
largest-first = toy_policies:LARGEST_FIRST
last-first = toy_policies:LAST_FIRST
gainless = toy_policies:GAINLESS
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

@kernel
def gainless(seen, settings, answer):
    """Copies of what has run for a second, though they gain nothing: no policy may want that."""
    none(seen, settings, answer)
    answer["score"][:] = 0.0

@kernel
def by_size(seen, settings, answer):
    """The task with the most input first, where inputs are known; else the last one, and the first is not named."""
    for row in range(len(seen.waiting)):
        task = seen.waiting[row]
        is_known = task["work"] > 0
        answer[row]["named"] = is_known or task["index"] > 0
        answer[row]["score"] = task["work"] if is_known else task["index"]

@kernel
def by_number(seen, settings, answer):
    """The task with the highest number first."""
    answer["named"][:], answer["score"][:] = True, seen.waiting["index"]

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
GAINLESS = Row(
    name="gainless", kind=Kind.SPECULATOR, kernel=gainless, about="Old tasks.", needs=COPYING, settings=(PATIENCE,),
)
LARGEST_FIRST = Row(
    name="largest-first", kind=Kind.SPECULATOR, kernel=several, order_waiting=by_size, about="Large tasks first.",
    needs=COPYING, settings=(PATIENCE,), weights=lambda: [2.0],
)
LAST_FIRST = Row(
    name="last-first", kind=Kind.SPECULATOR, kernel=none, order_waiting=by_number, about="High numbers first.",
    needs=COPYING, settings=(PATIENCE,),
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


def install(folder):
    """Put the toys into a folder, and what an installer writes of them; returns the folder."""
    (folder / "toy_policies.py").write_text(TOY)
    about = folder / "toy_policies-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-policies\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRY_POINTS)
    return folder


def finding(folder):
    """The environment in which a process finds the toys."""
    return {"PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}


def run(code, folder, *arguments, **environment):
    """What a process prints, or how it fails, that finds the packages of `folder`."""
    variables = {**os.environ, **finding(folder), "PYTHONWARNINGS": "ignore", "NUMBA_DISABLE_JIT": "1"} | environment
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], env=variables, cwd=ROOT, capture_output=True, text=True
    )
