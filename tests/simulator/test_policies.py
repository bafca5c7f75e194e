"""Do the simulators know policies by their rows only?"""

import ast

import pytest

from controlplane.policies.rows import ROWS
from controlplane.simulator.provenance import PACKAGE

pytestmark = pytest.mark.unit

SIMULATOR = PACKAGE / "simulator"


@pytest.mark.parametrize("folder", ["masterworker", "cluster"])
def test_a_simulator_imports_no_file_of_a_policy(folder):
    """What it took from one, those that other packages bring would have to do without."""
    files = {row.kernel.__module__ for row in ROWS}
    for path in (SIMULATOR / folder).glob("*.py"):
        imports = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
        names = {f"{node.module}.{alias.name}" for node in imports for alias in node.names}
        assert not (names | {node.module for node in imports}) & files, path


def test_the_master_worker_simulator_names_no_policy():
    """It goes by a policy's plan, whoever made it."""
    names = {row.name for row in ROWS}
    for path in (SIMULATOR / "masterworker").glob("*.py"):
        texts = {node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)}
        assert not texts & names, path
