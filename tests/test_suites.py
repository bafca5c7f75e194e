"""Does the run of all checks tell a test that a busy machine disturbed from one that is broken?"""

import json
import shutil
from dataclasses import replace

import pytest

from tests import conftest, covered, suites

pytestmark = [pytest.mark.unit, pytest.mark.checkout]
FAILS_ONCE = """
from pathlib import Path

def test_ok():
    pass

def test_disturbed():
    flag = Path(__file__).with_name("flag")
    first = not flag.exists()
    flag.touch()
    assert not first
"""
BROKEN = """
import pytest

@pytest.mark.parametrize("case", range({cases}))
def test_broken(case):
    with open(f"{{__file__}}{{case}}", "a") as tries:
        tries.write("x")
    assert False
"""

ENDS = """
def test_that_takes_too_long():
    import os, signal
    os.kill(os.getpid(), signal.SIGINT)
"""

BRANCHING = """def run(asked=False):
    if not asked:
        return 1
    return 2
"""

CALL = "from controlplane import run; run()"
CALL_IN_A_CHILD = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {CALL!r}], check=True)"


@pytest.fixture
def suite(tmp_path, monkeypatch):
    """A function from a file's text to the suite of its tests. Plug-ins that take 2 s to load stay out of it."""
    monkeypatch.setattr(suites, "ROOT", tmp_path)
    monkeypatch.setattr(suites, "RESULTS", tmp_path)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def write(text):
        (tmp_path / "test_it.py").write_text(text)
        return suites._pytest("integration", "test_it.py", minutes=1, disturbed=True)

    return write


def test_a_test_that_passes_the_second_time_is_named_and_does_not_fail_the_suite(suite):
    assert suites.run([suite(FAILS_ONCE)]) == {"integration": True}
    assert suites.count() == (2, 2, [], ["test_it::test_disturbed"])


def test_a_test_that_fails_twice_fails_the_suite(suite):
    assert suites.run([suite(BROKEN.format(cases=1))]) == {"integration": False}
    assert suites.count() == (0, 0, ["test_it::test_broken[0]"], [])


def test_a_test_of_two_suites_is_one_test_that_ran_twice(suite):
    """Thousands of reruns in other places made a number of tests that nobody has written."""
    one = suite("def test_it():\n    pass\n")
    other = suites._pytest("other", "test_it.py", minutes=1)
    assert suites.run([one, other]) == {"integration": True, "other": True}
    assert suites.count() == (1, 2, [], [])


def test_a_test_that_passes_in_one_suite_and_fails_in_another_has_failed(suite):
    """However often it passed."""
    one = suite(FAILS_ONCE)
    other = suites._pytest("other", "test_it.py", minutes=1)
    suites.run([replace(one, disturbed=False), other])
    assert suites.count() == (1, 3, ["test_it::test_disturbed"], [])


@pytest.mark.parametrize(("before", "twice"), [(["test_it::test_disturbed"], True), ([], False), (None, False)])
def test_a_second_try_that_is_on_record_is_no_excuse(suite, tmp_path, monkeypatch, capsys, before, twice):
    """A fresh checkout has only what is committed; chance hits the same test twice far less often than a defect."""
    if before is not None:
        (tmp_path / "tests").mkdir()
        (tmp_path / "tests" / "test-full.json").write_text(json.dumps({"again": before}))
    monkeypatch.setitem(suites.TIERS, "unit", (suite(FAILS_ONCE),))
    assert suites.main("unit") == twice
    told = capsys.readouterr().out
    assert f"unit: {2 - twice} tests passed (2 runs, 1 retried), {int(twice)} failed" in told


def test_each_suite_that_ends_is_told_before_the_next_one_starts(suite):
    """A run that is killed goes on after them."""
    one, told = suite("def test_it():\n    pass\n"), []
    suites.run([one, replace(one, name="other")], lambda results: told.append(list(results)))
    assert told == [["integration"], ["integration", "other"]]


def test_reports_of_earlier_runs_are_not_counted_again(suite, tmp_path):
    """But for those of suites that have passed before, at the second try or at once."""
    for name in ("kept", f"kept{suites.AGAIN}", "old", f"old{suites.AGAIN}"):
        (tmp_path / f"{name}.xml").touch()
    suites.forget_reports({"kept"})
    assert sorted(report.stem for report in tmp_path.glob("*.xml")) == ["kept", f"kept{suites.AGAIN}"]


def test_many_failures_are_not_tried_again(suite, tmp_path):
    cases = suites.FEW + 1
    assert suites.run([suite(BROKEN.format(cases=cases))]) == {"integration": False}
    assert [(tmp_path / f"test_it.py{case}").read_text() for case in range(cases)] == ["x"] * cases


def test_a_suite_that_did_not_come_to_its_end_is_not_tried_again(suite):
    """Its other tests were not tried at all."""
    broken = suite(FAILS_ONCE + ENDS)
    assert suites.run([broken]) == {"integration": False}


def test_a_test_without_a_suite_s_marker_stops_the_collection(tmp_path, capsys):
    """Whichever suite is asked for."""
    (tmp_path / "test_it.py").write_text("def test_lost():\n    pass\n")
    asked = (str(tmp_path), "-c", str(suites.ROOT / "pyproject.toml"), "-m", "unit", "--collect-only")
    assert pytest.main(list(asked), plugins=[conftest]) == pytest.ExitCode.USAGE_ERROR
    assert "test_it.py::test_lost" in capsys.readouterr().err


@pytest.mark.parametrize("runs", [CALL, CALL_IN_A_CHILD], ids=["here", "in a process of its own"])
def test_the_share_that_a_measured_suite_runs_is_shown(suite, tmp_path, monkeypatch, capsys, runs):
    """Three statements of four, and one branch of two."""
    for package in ("controlplane", "spark_listener", "yarn_bridge"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
    (tmp_path / "controlplane" / "__init__.py").write_text(BRANCHING)
    shutil.copy(covered.ROOT / "pyproject.toml", tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(suites.TIERS, "unit", (suite(f"def test_it():\n    {runs}\n").measured(),))
    assert suites.main("unit") == 0
    assert (
        covered.line("controlplane", num_statements=4, covered_lines=3, num_branches=2, covered_branches=1)
        in capsys.readouterr().out.splitlines()
    )
    report = json.loads((tmp_path / "build" / "coverage.json").read_text())
    assert report["files"]["controlplane/__init__.py"]["missing_lines"] == [4]


def test_only_the_longest_tier_measures():
    """It takes minutes that nobody has who waits for `make test`."""
    told = {tier: {each.name for each in some if "coverage" in each.command} for tier, some in suites.TIERS.items()}
    assert told == {"lint": set(), "unit": set(), "test": set(), "test-full": set(suites.MEASURED)}
