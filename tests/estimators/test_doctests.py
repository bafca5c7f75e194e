"""Do the estimators do what their examples say?"""

import doctest
import importlib
import pkgutil

import pytest

import controlplane.estimators

pytestmark = pytest.mark.unit

MODULES = [
    module.name
    for module in pkgutil.walk_packages(controlplane.estimators.__path__, "controlplane.estimators.")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_hold(name):
    """An estimator's doctest is its shortest documentation, so it must be true."""
    assert doctest.testmod(importlib.import_module(name)).failed == 0
