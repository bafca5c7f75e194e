"""Fixtures of modules whose control plane must not know the drivers of other tests: what it learns from them counts.

`plane, driver = own_plane.plane, own_plane.driver` in a module takes the place of the fixtures that all others share.
"""

import pytest

from tests.integration.driver import Driver, plugged
from tests.integration.plane_process import Plane


@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    """The module's own control plane."""
    with Plane(tmp_path_factory.mktemp("plane")) as plane:
        yield plane


@pytest.fixture(scope="module")
def driver(hosts, plane, tmp_path_factory):
    """Its first driver."""
    with Driver(hosts, tmp_path_factory.mktemp("driver"), **plugged(plane.address)) as driver:
        yield driver
