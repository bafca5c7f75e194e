"""A control plane for every test of this folder."""

import pytest

from tests.plane import running


@pytest.fixture
def plane(tmp_path):
    """A running control plane in mode `control`."""
    with running(tmp_path) as plane:
        yield plane
