"""Do policies see of a dump what it says, also where people have written it by hand?"""

from math import inf

import numpy as np
import pytest
from msgspec import structs

from controlplane.engine.snapshot_records import task_records
from controlplane.model.snapshot import FinishedState, PoolState
from controlplane.policies.interfaces import Records
from tests.scenario import Scenario

pytestmark = pytest.mark.unit


def dump(n_attempts: int = 1, **fields) -> PoolState:
    """A pool with one task and its attempts, which all have these fields."""
    scenario = Scenario()
    scenario.stage(2, input_bytes=1000)
    scenario.tell([scenario.started(place, place, index=0, speculative=place > 0) for place in range(n_attempts)])
    (pool,) = scenario.scheduler.snapshot(1.0).pools
    return structs.replace(pool, attempts=[structs.replace(each, **fields) for each in pool.attempts])


def seen(pool: PoolState) -> tuple[Records, Records]:
    """The records of its tasks, and those of what has finished."""
    return task_records(pool, {"job": 1}, np.ones(1, dtype=bool))


@pytest.mark.parametrize(
    ("input_bytes", "elapsed_s", "t_rem_s", "rate"),
    [
        (1000, 0.25, 0.25, 2000.0),
        (1000, 0.0, 0.0, 0.0),
        (1000, 1.0, None, 0.0),
        (0, 1.0, 3.0, 0.25),
        (-1, 1.0, 3.0, 0.25),
    ],
)
def test_a_rate_is_of_bytes_where_the_size_is_known_and_of_tasks_elsewhere(input_bytes, elapsed_s, t_rem_s, rate):
    """A size of zero is none; in no time nothing is done."""
    pool = dump(bytes_read=10, elapsed_s=elapsed_s, t_rem_s=t_rem_s)
    pool = structs.replace(pool, tasks=[structs.replace(each, input_bytes=input_bytes) for each in pool.tasks])
    assert seen(pool)[0]["progress_rate"].tolist() == [rate]


@pytest.mark.parametrize(("times_s", "worst_s"), [((3.0, 9.0), 9.0), ((3.0, None), inf)])
def test_the_worst_of_a_task_s_attempts_is_the_one_that_ends_last(times_s, worst_s):
    """It is the one that may have to end."""
    pool = dump(n_attempts=2)
    attempts = [structs.replace(one, t_rem_s=left_s) for one, left_s in zip(pool.attempts, times_s, strict=True)]
    assert seen(structs.replace(pool, attempts=attempts))[0]["worst_rem_s"].tolist() == [worst_s]


def test_what_finished_attempts_took_for_a_byte_is_seen_beside_what_they_took():
    """Of those whose input is not known it is not; both ascend."""
    state = FinishedState(stage=1, stage_attempt=0, duration_s=[3.0, 1.0, 2.0], unit_s=[0.2, 0.1])
    _, finished = seen(structs.replace(dump(), finished=[state]))
    assert finished["duration_s"].tolist() == [1.0, 2.0, 3.0]
    assert finished["unit_s"].tolist() == [0.1, 0.2, inf]
