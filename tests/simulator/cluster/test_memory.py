"""Does a simulated run give back the memory that its kernels take?"""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.unit

MEMORY = """
from numba.core.runtime import rtsys
from numba.core.runtime._nrt_python import memsys_enable_stats

from controlplane.simulator.cluster.bounds import Bounds
from controlplane.simulator.cluster.scenario import ClusterScenario
from controlplane.simulator.cluster.workloads import Synthetic

memsys_enable_stats()
scenario = ClusterScenario(
    policy="fair+grass", workload=Synthetic(least_tasks=100, most_tasks=100), jobs=10, machines=10, slots_per_machine=1,
    bounds=Bounds(error=(0.1, 0.3)),
)
scenario.simulate(1)
before = rtsys.get_allocation_stats()
scenario.simulate(1)
after = rtsys.get_allocation_stats()
assert after.alloc - before.alloc > 1000, "its kernels make arrays"
print(after.alloc - before.alloc - (after.free - before.free))
"""


def test_a_run_frees_all_memory_that_it_takes():
    """Rules count no references, so an array that a kernel gives one stays for good: a long run took 24 GB."""
    environment = os.environ | {"NUMBA_DISABLE_JIT": "0"}
    command = [sys.executable, "-c", MEMORY]
    told = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, timeout=600)
    assert abs(int(told.stdout)) < 100
