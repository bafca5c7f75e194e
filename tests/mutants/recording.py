"""Which tests run which line, and how long does each take? A pytest plugin writes it down; `Recording` reads it.

`pytest -p tests.mutants.recording`, with MUTANTS_FOLDER naming where to. Of each test that passes: its processor time,
and the lines of `controlplane` that it ran. Lines that a fixture of a whole file runs belong to all tests of the file;
lines that run at import, or in a fixture of the whole run, belong to none. And the modules that were loaded.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import FrameType

import coverage
import pytest

COVERAGE = str(Path(coverage.__file__).parent)

OURS = {"controlplane", "spark_listener", "yarn_bridge", "tests", "conftest", "__main__"}
"""What the tree holds, and what pytest makes up."""
LIMIT_S = 3.0
"""Processor time after which a test is given up: plain Python is too slow for it."""
WAITS_S = 60.0
"""Time after which a test is given up, too: it may wait for a process of its own that is too slow."""
SOON_S = 0.01
"""Time after which a test is looked at again that cannot be given up now."""


def give_up(_: int, frame: FrameType | None) -> None:
    """Fail the test that runs, but not while coverage.py holds a lock that it would never give back.

    Nor at an instruction that belongs to no line: pytest cannot tell where such a failure was, and breaks off.
    """
    while frame is not None:
        if COVERAGE in frame.f_code.co_filename or frame.f_lineno is None:
            signal.setitimer(signal.ITIMER_REAL, SOON_S)
            return
        frame = frame.f_back
    pytest.fail("too slow in plain Python", pytrace=False)


class Recorder:
    """Tells coverage.py whose lines these are, and keeps the seconds of the tests that pass."""

    def __init__(self, folder: Path) -> None:
        self._seconds, self._modules = folder / "seconds.json", folder / "modules.json"
        data_file = str(folder / "coverage")
        self._coverage = coverage.Coverage(data_file=data_file, source=["controlplane"], config_file=False)
        self._passed: dict[str, float] = {}
        self._context = ""
        for timer in (signal.SIGVTALRM, signal.SIGALRM):
            signal.signal(timer, give_up)
        self._coverage.start()

    def _switch(self, context: str) -> str:
        """Lines belong to this test or file from here on; whose they were before."""
        before, self._context = self._context, context
        self._coverage.switch_context(context)
        return before

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._switch(item.nodeid)
        try:
            return (yield)
        finally:
            self._switch("")

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef, request: pytest.FixtureRequest) -> Iterator[None]:
        if fixturedef.scope == "function":
            return (yield)
        mine = self._switch("" if fixturedef.scope == "session" else request.node.nodeid)
        try:
            return (yield)
        finally:
            self._switch(mine)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        started_s = time.process_time()
        signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT_S)
        signal.setitimer(signal.ITIMER_REAL, WAITS_S)
        try:
            result = yield
        finally:
            for timer in (signal.ITIMER_VIRTUAL, signal.ITIMER_REAL):
                signal.setitimer(timer, 0)
        self._passed[item.nodeid] = round(time.process_time() - started_s, 3)
        return result

    def pytest_sessionfinish(self) -> None:
        self._coverage.stop()
        self._coverage.save()
        others = [name for name in list(sys.modules) if name.partition(".")[0] not in OURS]
        self._modules.write_text(json.dumps(others))
        self._seconds.write_text(json.dumps(self._passed))


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Before conftest.py, which imports most of what is recorded."""
    early_config.pluginmanager.register(Recorder(Path(os.environ["MUTANTS_FOLDER"])))


class Recording:
    """What the plugin wrote into a folder, about the tree under `root`."""

    def __init__(self, folder: Path, root: Path) -> None:
        self.seconds: dict[str, float] = json.loads((folder / "seconds.json").read_text())
        """By test, its processor time."""
        self.modules: list[str] = json.loads((folder / "modules.json").read_text())
        """What the tests load that no change touches, in the order of loading."""
        self.steady: set[str] = set()
        """Tests that are known to pass by themselves."""
        self._root = root
        self._data = coverage.CoverageData(str(folder / "coverage"))
        self._data.read()

    def tests_of(self, file: str, line: int) -> list[str]:
        """Tests that run a line; of a line that only runs at import, those that need its file.

        Those of its package and of pages made from code come first, as the likeliest to mind, and then the quickest.
        """
        contexts = self._contexts(file).get(line, [])
        named = set(contexts) - {""} or (self._needing(file) if "" in contexts else set())
        files = {context for context in named if "::" not in context}
        tests = {test for test in list(self.seconds) if test in named or test.partition("::")[0] in files}
        own = (file, f"tests/{file.split('/')[1]}/", "tests/docs/")
        return sorted(tests, key=lambda test: (not test.startswith(own), self.seconds.get(test, 0.0), test))

    def _contexts(self, file: str) -> dict[int, list[str]]:
        return self._data.contexts_by_lineno(str(self._root / file))

    def _needing(self, file: str) -> set[str]:
        """Whoever runs any line of a file or, where nothing of it can be run, of a file that names it."""
        module = file.removesuffix(".py").replace("/", ".")
        importers = [other for other, text in self._texts.items() if module in text]
        for files in ([file], importers):
            lines = [contexts for each in files for contexts in self._contexts(each).values()]
            if found := set().union(*lines) - {""}:
                return found
        return set()

    @cached_property
    def _texts(self) -> dict[str, str]:
        paths = (self._root / "controlplane").rglob("*.py")
        return {str(path.relative_to(self._root)): path.read_text() for path in paths}
