"""How long would each attempt of a job's input tasks take, whoever starts it?"""

import numpy as np

from controlplane.compiled import kernel
from controlplane.model.columns import Floats, Records
from controlplane.simulator.cluster.state import JOB
from controlplane.simulator.cluster.world import Workload, World, attempt_work_s
from controlplane.simulator.draws import job_key


def input_attempts_s(work: Workload, world: World, number: int, most_attempts: int) -> Floats:
    """By task of the job's first phase, what its attempts take from launch to end, in the order of their starts.

    (n_tasks, most_attempts); on a machine that is not slow and has the input.
    """
    attempts_s = np.empty((work.phase_tasks[work.first_phase[number]], most_attempts))
    _fill(work, world, number, np.zeros(1, dtype=JOB), attempts_s)
    return attempts_s


@kernel
def _fill(work: Workload, world: World, number: int, scratch: Records, attempts_s: Floats) -> None:
    job = scratch[0]
    job["id"], job["key"] = number, job_key(world.seed, number)
    for task in range(attempts_s.shape[0]):
        for attempt in range(attempts_s.shape[1]):
            attempts_s[task, attempt] = world.launch_s + attempt_work_s(work, world, job, task, attempt)
