"""What do all tests share? A suite, and compiled kernels: what waits for an answer must not wait for a compiler."""

import pytest

from controlplane.engine.warming import warm

SUITES = {"unit", "integration", "browser", "soak", "full"}
"""Markers by which `tests.suites` chooses what to run."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Refuse tests that no suite would ever run."""
    tests = [item for item in items if isinstance(item, pytest.Function)]
    if lost := [test.nodeid for test in tests if not SUITES & {marker.name for marker in test.iter_markers()}]:
        raise pytest.UsageError(f"in no suite, for want of a marker: {', '.join(lost)}")


@pytest.fixture(scope="session", autouse=True)
def compiled_kernels():
    """All that the live engine calls, once for each run of pytest."""
    warm()
