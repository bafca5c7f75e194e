"""Do stored results outlive what cannot change them, and nothing else?"""

from pathlib import Path

import pytest

from controlplane.simulator.experiments import EXPERIMENTS
from controlplane.simulator.experiments.experiment import Scale
from controlplane.simulator.provenance import MEASURING, PACKAGE, fingerprint, import_closure, measuring

pytestmark = pytest.mark.unit

MEASURES = '''"""What is measured?"""

from made.rules import tripled
from made.laws import heavy

SIDE = 2
"""Of the square."""


def measure(seed: int) -> int:
    """Its area."""
    return tripled(SIDE * seed) + heavy.INDEX
'''
RULES = "def tripled(one: int) -> int:\n    return 3 * one\n"
FILES = {
    "measures.py": MEASURES,
    "rules.py": RULES,
    "laws/__init__.py": "",
    "laws/heavy.py": "from made import deep\nINDEX = 1\n",
    "deep.py": "DEPTH = 1\n",
    "judges.py": "from made.measures import measure\nENOUGH = 5\n",
}


@pytest.fixture
def package(tmp_path) -> Path:
    """A package one of whose files measures."""
    for name, text in FILES.items():
        path = tmp_path / "made" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "made"


def found(package: Path, data: bytes = b"trace") -> str:
    return fingerprint(package, [package / "measures.py"], data)


def taking_part(*, with_engine: bool) -> set[str]:
    files = import_closure(PACKAGE, measuring(with_engine=with_engine))
    return {str(path.relative_to(PACKAGE)) for path in files}


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("measures.py", "SIDE = 2", "# In metres.\nSIDE = 2  # or so"),
        ("measures.py", "What is measured?", "What, then, is measured?"),
        ("measures.py", "Its area.", "The area."),
        ("measures.py", "Of the square.", "Of one square."),
        ("measures.py", "from made.laws import heavy\n\n", "from made.laws import (\n    heavy,\n)\n"),
        ("rules.py", "    return", '    """Three times as much."""\n    return'),
        ("judges.py", "ENOUGH = 5", "ENOUGH = 6"),
    ],
)
def test_words_layout_and_what_only_judges_change_nothing(package, name, old, new):
    """Whoever mends a sentence keeps hours of computed results."""
    before, path = found(package), package / name
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    assert found(package) == before


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("measures.py", "SIDE = 2", "SIDE = 3"),
        ("measures.py", "SIDE * seed", "SIDE + seed"),
        ("rules.py", "3 * one", "4 * one"),
        ("laws/heavy.py", "INDEX = 1", "INDEX = 2"),
        ("deep.py", "DEPTH = 1", "DEPTH = 2"),
        ("laws/__init__.py", "", "ALL = 1"),
    ],
)
def test_a_number_changes_it_wherever_it_is_imported_from(package, name, old, new):
    """The code that measures, and what it imports, directly or not."""
    before, path = found(package), package / name
    path.write_text(path.read_text().replace(old, new, 1))
    assert found(package) != before


def test_other_data_change_it(package):
    """The trace is as much of a result's origin as the code is."""
    assert found(package) != found(package, b"another trace")


def test_every_kind_of_point_is_among_the_code_that_measures():
    """A point elsewhere could be changed, and its old results would still count."""
    kinds = {type(point) for one in EXPERIMENTS for point in one.points(Scale.SMOKE)}
    folder = f"controlplane.{'.'.join(MEASURING.relative_to(PACKAGE).parts)}"
    assert {one.__module__.rpartition(".")[0] for one in kinds} == {folder}


def test_both_simulators_count_and_no_judgement():
    """What decides a result is there; what reads it may be mended while results are being computed."""
    closure = taking_part(with_engine=False)
    assert {
        "simulator/cluster/events.py",
        "simulator/masterworker/master.py",
        "policies/hopper/allocation.py",
    } <= closure
    assert not [name for name in closure if "experiments" in name and "points" not in name]
    assert not [name for name in closure if name.startswith(("engine", "runtime", "api"))]


def test_the_engine_counts_where_it_decides():
    """A change of it makes no result of the cluster model old, and every one of its own."""
    assert "engine/scheduler.py" in taking_part(with_engine=True)
    every = {type(point) for one in EXPERIMENTS for point in one.points(Scale.SMOKE)}
    assert {one.__name__ for one in every if one.with_engine} == {"EngineTimes"}
