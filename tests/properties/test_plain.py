"""Do compiled kernels decide as plain Python does, bit for bit? The same random views, in a process without numba."""

import os
import subprocess
import sys

import numpy as np
import pytest

from controlplane import compiled
from controlplane.policies.policy import Policy
from controlplane.policies.registry import TABLE
from controlplane.policies.row import Kind
from controlplane.policies.seen import CLAIMANT, JOB, POOL, RUNNING_TASK, STAGE, Seen
from tests.scenario import Scenario

pytestmark = pytest.mark.unit

N_VIEWS = 60
ODD = (0.0, 1.0, np.inf, np.nan)
COUNTED = ("arrival_s", "weight", "remaining_tasks", "downstream_tasks")
ROWS = {f"{row.kind}-{row.name}": row for row in TABLE}


def column(rng: np.random.Generator, name: str, dtype: np.dtype, n: int) -> np.ndarray:
    """Random values, often equal ones; estimates may be unknown."""
    if dtype == np.bool_:
        return rng.random(n) < 0.8
    if dtype == np.int64:
        return rng.integers(0, 30, n)
    values = rng.exponential(10.0, n).round(rng.integers(0, 4))
    return np.where((rng.random(n) < 0.1) & (name not in COUNTED), rng.choice(ODD, n), values)


def random_records(rng: np.random.Generator, dtype: np.dtype, n: int) -> np.ndarray:
    """Records of random columns."""
    found = np.zeros(n, dtype=dtype)
    for name in dtype.names:
        found[name] = column(rng, name, dtype[name], n)
    return found


def answers(policy: Policy) -> str:
    """What a policy answers to many random views."""
    rng, said = np.random.default_rng([7, policy.code]), []
    for _ in range(N_VIEWS):
        n = rng.integers(0, 30)
        sizes = {CLAIMANT: n} if policy.kind is Kind.ALLOCATOR else {RUNNING_TASK: n, POOL: 2, JOB: 4, STAGE: 3}
        view, *groups = (random_records(rng, dtype, size) for dtype, size in sizes.items())
        settings = {
            each.name: rng.choice([each.low, each.high]) if each.switch else rng.uniform(each.low, each.high)
            for each in policy.settings
        }
        if policy.kind is Kind.ALLOCATOR:
            answer = policy.allocate(int(rng.integers(0, 200)), view, settings)
        else:
            pools, jobs, stages = groups
            view["stage"] %= 3
            view["pool"], view["job"], stages["finished_from"] = view["stage"] % 2, view["job"] % 4, -1
            answer = policy.speculate(Seen(pools=pools, jobs=jobs, stages=stages, tasks=view), settings)
        said += [answer[name].tolist() for name in answer.dtype.names]
    return repr(said)


def cycles() -> str:
    """What the engine decides about one straggler, with every number behind it."""
    scenario = Scenario()
    scenario.run_with_straggler()
    return repr(scenario.records())


def show(name: str) -> None:
    """Print the answers of one row of the registry, or of the engine."""
    print(answers(ROWS[name]) if name in ROWS else cycles())


@pytest.mark.parametrize("name", [*ROWS, "engine"])
def test_compiled_and_plain_code_give_the_same_answers(name, capsys):
    """A compiler that rounds, sorts or sums in another order would be found here."""
    assert not compiled.PLAIN
    code = f"import runpy; runpy.run_path({__file__!r})['show']({name!r})"
    plain = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    show(name)
    assert plain.stdout == capsys.readouterr().out
