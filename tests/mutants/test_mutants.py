"""Does the tool change what it says, draw the same sample again, and tell noticed from unnoticed?"""

import ast
import shutil
import signal
import tomllib
from contextlib import closing, nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.mutants.__main__ import EQUIVALENT, ROOT, equivalent, files, sample
from tests.mutants.changes import changes
from tests.mutants.recording import Recording, give_up
from tests.mutants.trials import Forks, tried

pytestmark = [pytest.mark.unit, pytest.mark.checkout]
HERE = Path(__file__).parent

TOY = '''"""Toy."""

def is_late(age_s: float, limit_s: float) -> bool:
    """No test asks at the limit itself."""
    return age_s > limit_s
'''
ITS_TEST = """from controlplane.toy import is_late

def test_late():
    assert is_late(2.0, 1.0) and not is_late(1.0, 2.0)
"""


def texts(source: str) -> set[str]:
    """What may stand anywhere in a module's place, one part changed."""
    return {change.text for place in changes("m.py", source) for change in place}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a < b", {"(a <= b)"}),
        ("a == b != c", {"(a != b != c)", "(a == b == c)"}),
        ("a + b", {"(a - b)"}),
        ("a and not b", {"(a or not b)", "b"}),
        ("x = 5", {"6", "4", "10"}),
        ("x = True", {"False"}),
        ("x = np.minimum(a, b)", {"np.maximum(a, b)"}),
        ("close(door)", {"pass"}),
        ("self.x = a", {"pass"}),
        ("def f() -> int:\n    return found", {"return 0"}),
        ("def f():\n    return found", {"return None"}),
        ('_log.info("x", n=1)', set()),
        ("x: Literal[1] = y", set()),
        ('f"{1 + 2}"', set()),
    ],
)
def test_each_kind_of_change(source, expected):
    """One that is never made finds no hole."""
    assert texts(source) == expected


def test_a_change_replaces_its_part_and_nothing_else():
    """Offsets count bytes, lines characters; a name beyond ASCII must not move the cut."""
    source = 'name = "ü"; late = age > limit  # why\n'
    ((change,),) = changes("m.py", source)
    assert change.apply(source) == 'name = "ü"; late = (age > limit)  # why\n'.replace(">", ">=")
    assert change.diff(source) == [
        '- name = "ü"; late = age > limit  # why',
        '+ name = "ü"; late = (age >= limit)  # why',
    ]


def test_every_drawn_change_is_a_program_and_a_short_sample_begins_a_long_one(tmp_path):
    """What cannot be read is noticed by the parser alone; a run that goes on must go on with the same changes."""
    shutil.copytree(ROOT / "controlplane/store", tmp_path / "controlplane/store")
    drawn = sample(tmp_path, seed=5, count=100)
    assert drawn[:30] == sample(tmp_path, seed=5, count=30)
    assert drawn != sample(tmp_path, seed=6, count=100)
    for change in drawn:
        ast.parse(change.apply((tmp_path / change.file).read_text()))


def test_every_listed_equivalent_is_a_change_of_the_present_code():
    """An entry whose line has gone hides nothing, and misleads who reads it."""
    listed = tomllib.loads((ROOT / EQUIVALENT).read_text())["equivalent"]
    for each in listed:
        source = (ROOT / each["file"]).read_text()
        possible = (change for place in changes(each["file"], source) for change in place)
        assert each["file"] in files(ROOT)
        assert each["reason"]
        assert any(equivalent([each], change, ROOT) for change in possible), each


def test_a_change_that_no_test_minds_is_told_from_one_that_fails(tmp_path, monkeypatch):
    """The whole way: lines recorded by test, one change that turns the answer round, one at the limit."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # which is quicker, and enough for a toy
    tree = tmp_path / "tree"
    written = {"controlplane/__init__.py": "", "controlplane/toy.py": TOY, "tests/test_toy.py": ITS_TEST}
    for name, text in written.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    shutil.copy(ROOT / "pyproject.toml", tree)
    shutil.copytree(HERE, tree / "tests/mutants")
    with closing(Forks(tree, MUTANTS_FOLDER=str(tmp_path))) as forks:
        forks.run(["-p", "tests.mutants.recording", "tests/test_toy.py"], 1.0)
    recording = Recording(tmp_path, tree)
    assert recording.tests_of("controlplane/toy.py", 5) == ["tests/test_toy.py::test_late"]
    assert not [name for name in recording.modules if name.startswith(("controlplane", "tests"))]
    with closing(Forks(tree, recording.modules, PYTHONDONTWRITEBYTECODE="1")) as forks:
        outcomes = {
            change.text: tried(forks, change, recording)
            for place in changes("controlplane/toy.py", TOY)
            for change in place
        }
    assert {text: (outcome.noticed, outcome.by) for text, outcome in outcomes.items()} == {
        "(age_s >= limit_s)": (False, ""),
        "return False": (True, "tests/test_toy.py::test_late"),
    }
    assert (tree / "controlplane/toy.py").read_text() == TOY


@pytest.mark.parametrize(("line", "given_up"), [(5, True), (None, False)])
def test_a_slow_test_is_given_up_only_where_pytest_can_tell_the_line(line, given_up, monkeypatch):
    """The recording of 3,000 tests broke off at an instruction without one."""
    again = []
    monkeypatch.setattr(signal, "setitimer", lambda *timer: again.append(timer))
    frame = SimpleNamespace(f_code=SimpleNamespace(co_filename="toy.py"), f_lineno=line, f_back=None)
    with pytest.raises(pytest.fail.Exception) if given_up else nullcontext():
        give_up(signal.SIGALRM, frame)
    assert bool(again) is not given_up
