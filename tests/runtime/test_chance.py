"""Do decisions draw no random numbers by themselves? The import contracts forbid `random`; numpy brings its own."""

import ast
from pathlib import Path

import pytest

import controlplane

pytestmark = pytest.mark.unit

PURE = ("model", "estimators", "policies", "engine")
FILES = [file for part in PURE for file in (Path(controlplane.__file__).parent / part).rglob("*.py")]


def draws(source: str) -> bool:
    """Whether a module names numpy's random numbers."""
    nodes = list(ast.walk(ast.parse(source)))
    named = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    imported = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    named |= {part for node in imported for alias in node.names for part in alias.name.split(".")}
    named |= {part for node in imported if isinstance(node, ast.ImportFrom) for part in (node.module or "").split(".")}
    return bool({"random", "default_rng"} & named)


def test_nothing_that_decides_draws_a_number():
    """Draws are a function of a seed that is handed in: one recording gives the same orders again."""
    assert len(FILES) > 40
    assert [file.name for file in FILES if draws(file.read_text())] == []


@pytest.mark.parametrize(
    "source",
    ["import numpy as np\nnp.random.random()", "from numpy.random import default_rng", "from numpy import random as r"],
)
def test_a_draw_is_noticed(source):
    assert draws(source)
