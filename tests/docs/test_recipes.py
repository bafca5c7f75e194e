"""Is CONTRIBUTING right about the files that a policy, a fact and a host take?"""

import re
from pathlib import Path
from typing import get_args

import pytest

from controlplane.hosts import KINDS
from controlplane.model import apply
from controlplane.model import facts as f
from controlplane.policies.registry import TABLE

pytestmark = [pytest.mark.unit, pytest.mark.checkout]

ROOT = Path(__file__).parents[2]
NAMELESS = ("deciding", "engine", "runtime", "api", "store", "wire", "simulator/cluster")
"""Folders of the control plane that name no policy."""
DEFAULT = re.compile(r'^    policy: str = "[a-z+-]+"$', re.MULTILINE)
"""What a scenario plays where nobody says."""


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_a_policy_is_its_file_its_line_its_page_and_its_test(row):
    file = Path(*row.kernel.__module__.split(".")).with_suffix(".py")
    assert file.parts[:2] == ("controlplane", "policies")
    assert len(file.parts) == 4, "a paper is a folder"
    assert f"{file.stem}." in (ROOT / "controlplane" / "policies" / "rows.py").read_text()
    assert (ROOT / "docs" / "policies" / f"{row.name}.md").exists()
    tests = "".join(path.read_text() for path in (ROOT / "tests" / "policies").rglob("test_*.py"))
    assert re.search(rf"\b{row.name}\b", tests)


@pytest.mark.parametrize("folder", NAMELESS)
def test_nothing_else_names_a_policy(folder):
    """Engine and simulator go by what rows say, and import none of a paper's rules."""
    papers = {row.kernel.__module__.split(".")[2] for row in TABLE}
    named = re.compile("|".join([*(rf'"{row.name}"' for row in TABLE), rf"policies\.(?:{'|'.join(papers)})\b"]))
    files = (ROOT / "controlplane" / folder).rglob("*.py")
    assert {path.name: found for path in files if (found := named.findall(DEFAULT.sub("", path.read_text())))} == {}


@pytest.mark.parametrize("fact", get_args(f.AnyFact), ids=lambda fact: fact.__name__)
def test_a_fact_changes_the_cluster_and_a_shim_emits_it(fact):
    assert fact in apply._OF_DRIVERS or fact in apply._OF_QUEUES
    java = "".join(path.read_text() for path in (ROOT / "jvm-shim").glob("shim-*/src/main/**/*.java"))
    assert f'"{fact.__struct_config__.tag}"' in java


@pytest.mark.parametrize("kind", KINDS)
def test_a_host_is_a_file_and_a_maven_module(kind):
    assert (ROOT / "controlplane" / "hosts" / f"{kind}.py").exists()
    assert (ROOT / "jvm-shim" / f"shim-{kind}" / "pom.xml").exists()
