"""Is nothing left to compile once the engine is warm?"""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.unit

LATER = """
import gc
from numba.core.dispatcher import Dispatcher
from controlplane.engine.warming import warm
from tests.engine.test_bounds import begin, first_ends
from tests.scenario import Scenario

def ready():
    kernels = [each for each in gc.get_objects() if isinstance(each, Dispatcher)]
    return {f"{kernel.__name__}{signature}" for kernel in kernels for signature in kernel.signatures}

warm()
before = ready()
launched = Scenario().run_with_straggler()
ordered = first_ends(begin("gs", deadline_ms=60_000))
print(len(before) > 0, len(launched), len(ordered), ready() - before)
"""


def test_a_warm_engine_compiles_nothing_when_work_comes():
    """A cycle that stopped to compile would hold every driver's reply for seconds."""
    done = subprocess.run([sys.executable, "-c", LATER], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True 1 1 set()"
