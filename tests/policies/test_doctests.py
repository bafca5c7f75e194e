"""Do the rules do what their examples say?"""

import doctest
import importlib
import pkgutil

import pytest

import controlplane.policies

pytestmark = pytest.mark.unit

MODULES = [
    module.name for module in pkgutil.walk_packages(controlplane.policies.__path__, "controlplane.policies.")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_hold(name):
    """A rule's doctest is its shortest documentation, so it must be true."""
    assert doctest.testmod(importlib.import_module(name)).failed == 0
