"""What do all tests share? Compiled kernels: a test that waits for an answer must not wait for a compiler."""

import pytest

from controlplane.engine.warming import warm


@pytest.fixture(scope="session", autouse=True)
def compiled_kernels():
    """All that the live engine calls, once for each run of pytest."""
    warm()
