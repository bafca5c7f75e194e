"""Does a real driver do what a policy of another package wants, where none of ours wants it yet?"""

import pytest

from tests.integration.driver import JOB_S, Driver, plugged
from tests.integration.plane_process import Plane, eventually
from tests.toy_package import finding, install

pytestmark = pytest.mark.integration
SLOTS = 8
HELD = {"hold_copies": True}


@pytest.fixture(scope="module")
def toys(tmp_path_factory):
    """A control plane that copies what is old, twice at once, and starts the last of the waiting tasks first."""
    folder = install(tmp_path_factory.mktemp("toys"))
    plain = {"NUMBA_DISABLE_JIT": "1"}  # the policies of a package take a minute to compile
    with Plane(folder / "plane", policy="fair+largest-first", **finding(folder), **plain) as plane:
        yield plane


@pytest.fixture(scope="module")
def pupil(hosts, toys, tmp_path_factory):
    """A driver of it."""
    with Driver(hosts, tmp_path_factory.mktemp("pupil"), **plugged(toys.address)) as driver:
        driver.run("squares", group="warm", tasks=2 * SLOTS)
        yield driver


def test_waiting_originals_run_in_the_order_that_a_policy_wants(toys, pupil, gate, tmp_path):
    """One slot gets free: Spark alone would start the first that waits, and not the last."""
    first, last = tmp_path / "first", SLOTS + 3
    with toys.engine(speculator_settings={"patience_s": 1e6}):
        blocker = pupil.start("squares", group="blocker", tasks=1, held=[0], gate=str(first), **HELD)
        toys.running(pupil.source, "blocker", 0)
        every = list(range(last + 1))
        queue = pupil.start("squares", group="queue", tasks=len(every), held=every, gate=str(gate), **HELD)
        eventually(lambda: len(toys.attempts(pupil.source, "queue")) == SLOTS - 1)

        def applied():
            ordered = toys.decisions(pupil.source, action="run_next", job="group-queue")
            return [one for one in ordered if one["result"] == "applied"]

        eventually(applied, about=lambda: toys.decisions(pupil.source, action="run_next"))
        assert applied()[0]["reason"] == "originals_ordered"
        first.touch()
        assert blocker.result(timeout=JOB_S) == [0]
        toys.running(pupil.source, "queue", last)
        assert len(toys.attempts(pupil.source, "queue")) == SLOTS
        gate.touch()
        assert queue.result(timeout=JOB_S) == [n * n for n in every]


def test_one_answer_starts_two_copies_of_a_task(toys, pupil, gate):
    """Shed+ and Dolly want several at once: both are ordered in one cycle, and run on hosts of their own."""
    job = pupil.start("squares", group="old", tasks=1, held=[0], gate=str(gate), **HELD)
    attempts = toys.running(pupil.source, "old", 0, count=3)
    ordered = toys.decisions(pupil.source, action="launch_copy", job="group-old")
    assert len({attempt["host"] for attempt in attempts}) == 3
    assert len({each["cycle"] for each in ordered}) == 1
    assert [each["reason"] for each in ordered] == ["ends_sooner"] * 2
    gate.touch()
    assert job.result(timeout=JOB_S) == [0]
