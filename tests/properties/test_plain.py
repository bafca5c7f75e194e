"""Do compiled kernels decide as plain Python does, bit for bit? The same random views, in a process without numba."""

import os
import subprocess
import sys

import numpy as np
import pytest

from controlplane import compiled
from controlplane.estimators.samples import BUCKETS, POINTS, POLICIES
from controlplane.policies.policy import Policy
from controlplane.policies.registry import TABLE
from controlplane.policies.row import Kind, Setting
from controlplane.policies.seen import CLAIMANT, JOB, POOL, RUNNING_TASK, STAGE, WAITING_TASK, Seen
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
    if np.issubdtype(dtype, np.integer):
        return rng.integers(0, 30, n)
    values = rng.exponential(10.0, n).round(rng.integers(0, 4))
    return np.where((rng.random(n) < 0.1) & (name not in COUNTED), rng.choice(ODD, n), values)


def random_records(rng: np.random.Generator, dtype: np.dtype, n: int) -> np.ndarray:
    """Records of random columns."""
    found = np.zeros(n, dtype=dtype)
    for name in dtype.names:
        found[name] = column(rng, name, dtype[name], n)
    return found


def random_samples(rng: np.random.Generator) -> np.ndarray:
    """Samples of all buckets, that rise; of some points there are too few."""
    weights = np.where(rng.random((BUCKETS, POLICIES, POINTS)) < 0.97, 1e10, 0.0)
    sums = weights * rng.exponential(0.5, weights.shape).cumsum(axis=-1)
    return np.stack([weights, sums], axis=2).ravel()


def random_tasks(rng: np.random.Generator, explores: bool) -> Seen:
    """Running and waiting tasks of three stages; a row that explores sees samples, too."""
    sizes = {RUNNING_TASK: rng.integers(0, 30), WAITING_TASK: rng.integers(0, 30), POOL: 2, JOB: 4, STAGE: 3}
    tasks, waiting, pools, jobs, stages = (random_records(rng, dtype, size) for dtype, size in sizes.items())
    for each in (tasks, waiting):
        each["stage"] %= 3
        each["pool"], each["job"] = each["stage"] % 2, each["stage"]
    waiting = waiting[np.argsort(waiting["stage"], kind="mergesort")]
    stages["finished_from"], stages["deadline_s"][rng.random(3) < 0.5] = -1, np.inf
    stages["tasks"] += stages["done"] + 30
    tasks["running_attempts"] %= 4
    tasks["attempts_started"] = tasks["running_attempts"]
    jobs["explores"] = rng.choice([0, 0, 1, 2], 4)
    seen = Seen(pools=pools, jobs=jobs, stages=stages, tasks=tasks, waiting=waiting)
    return seen._replace(weights=random_samples(rng)) if explores else seen


def value_of(rng: np.random.Generator, setting: Setting) -> float:
    """Every other time the usual one, else any that it may have."""
    if rng.random() < 0.5:
        return setting.default
    return rng.choice([setting.low, setting.high]) if setting.switch else rng.uniform(setting.low, setting.high)


def answers(policy: Policy) -> str:
    """What a policy answers to many random views."""
    rng, said = np.random.default_rng([7, policy.code]), []
    for _ in range(N_VIEWS):
        settings = {each.name: value_of(rng, each) for each in policy.settings}
        if policy.kind is Kind.ALLOCATOR:
            claimants = random_records(rng, CLAIMANT, rng.integers(0, 30))
            found = [policy.allocate(int(rng.integers(0, 200)), claimants, settings)]
        else:
            seen = random_tasks(rng, explores=policy.explores is not None)
            found = [policy.speculate(seen, settings), policy.precedence(seen, settings)]
        said += [answer[name].tolist() for answer in found for name in answer.dtype.names]
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
