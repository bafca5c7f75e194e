"""Does a sick host really stop and go, and is it well again afterwards?"""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from spark_listener.sick_host import SickHost
from tests.waiting import eventually

pytestmark = pytest.mark.unit


@pytest.fixture
def process():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    yield child
    child.kill()
    child.wait()


def state(pid: int) -> str:
    """The scheduler's letter for a process: T is stopped."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def states_seen(pid: int, seconds: float) -> set[str]:
    seen = set()
    deadline_s = time.monotonic() + seconds
    while time.monotonic() < deadline_s:
        seen.add(state(pid))
        time.sleep(0.005)
    return seen


def test_a_process_is_stopped_in_turns_and_runs_again_after_the_sickness(process) -> None:
    with SickHost(lambda: [process.pid], duty=0.5, period_s=0.1):
        eventually(lambda: state(process.pid) == "T")
        eventually(lambda: state(process.pid) != "T")
    assert states_seen(process.pid, 0.3).isdisjoint({"T"})


def test_a_process_that_ends_meanwhile_does_not_end_the_sickness(process) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    with SickHost(lambda: [gone.pid, process.pid], duty=0.5, period_s=0.1):
        eventually(lambda: state(process.pid) == "T")


@pytest.mark.parametrize("duty", [0.0, 1.0])
def test_a_host_that_never_or_always_runs_is_not_sick(duty) -> None:
    with pytest.raises(ValueError, match="duty"):
        SickHost(list, duty=duty)
