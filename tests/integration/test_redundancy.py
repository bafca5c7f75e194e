"""Do copies at the start and relaunches happen on a real cluster, without failures and with stock's results?"""

import time

import pytest

from tests.integration import own_plane
from tests.integration.driver import JOB_S
from tests.integration.plane_process import eventually

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("nothing_left")]
TASKS = 8
SQUARES = [n * n for n in range(TASKS)]
plane, driver = own_plane.plane, own_plane.driver
"""Other tests' stragglers would have taught it that no job is small enough."""


@pytest.fixture(scope="module", autouse=True)
def warm(driver):
    """The executors have started their Python: a first worker sometimes fails to."""
    driver.run("squares", group="warm", tasks=16)


def outcomes(plane, driver, group):
    """How all attempts of a job ended."""
    return sorted(attempt["outcome"] for attempt in plane.ended(driver.source, f"group-{group}"))


def test_a_small_jobs_tasks_start_with_copies(plane, driver, gate):
    """Two attempts of each task from the start on, on two hosts; the losers are no failures, the result is stock's."""
    stock = driver.run("squares", group="stock", tasks=2)
    with plane.policy(driver.source, "fair+redundant-small"):
        job = driver.start("squares", group="small", tasks=2, held=[0, 1], gate=str(gate), hold_copies=True)
        for index in range(2):
            original, copy = plane.running(driver.source, "small", index, count=2)
            assert (original["speculative"], copy["speculative"]) == (False, True)
            assert original["host"] != copy["host"]
            assert original["elapsed_s"] - copy["elapsed_s"] < 2.0
        launches = plane.decisions(driver.source, action="launch_copy")
        assert {one["reason"] for one in launches if one["job"] == "group-small"} == {"starts_with_copies"}
        gate.touch()
        assert job.result(timeout=JOB_S) == stock
    assert outcomes(plane, driver, "small") == ["killed"] * 2 + ["success"] * 2


def test_a_late_task_is_killed_and_started_anew_once(plane, driver, gate):
    """The new attempt runs before the old one is killed; neither is a failure, and there is no second relaunch."""
    stock = driver.run("squares", group="stock-late", tasks=TASKS)
    with plane.policy(driver.source, "fair+relaunch"):
        job = driver.start("squares", group="late", tasks=TASKS, held=[3], gate=str(gate), hold_copies=True)
        original = plane.running(driver.source, "late", 3)[0]

        def replaced():
            live = plane.attempts(driver.source, "late", 3)
            return len(live) == 1 and live[0]["attempt"] != original["attempt"]

        eventually(replaced, about=lambda: plane.decisions(driver.source)[:10])
        (kill,) = plane.decisions(driver.source, action="kill_attempt", reason="replaced")
        assert (kill["attempt"], kill["result"]) == (original["attempt"], "applied")
        time.sleep(2)
        assert replaced()
        gate.touch()
        assert job.result(timeout=JOB_S) == stock == SQUARES
    assert outcomes(plane, driver, "late") == ["killed"] + ["success"] * TASKS


def test_a_relaunched_writer_writes_every_row_once(plane, driver, gate, tmp_path):
    """The old attempt has begun to write when it is killed; the commit lets in what the new one wrote."""
    with plane.policy(driver.source, "fair+relaunch"):
        path = str(tmp_path / "rows.csv")
        job = driver.start("write_files", group="rewritten", path=path, rows=1000, tasks=4, held=[1], gate=str(gate))
        original = plane.running(driver.source, "rewritten", 1)[0]
        assert job.result(timeout=JOB_S) == [1000, 1000]
    launches = plane.decisions(driver.source, action="launch_copy", reason="relaunched")
    assert original["attempt"] in {one["attempt"] for one in launches}
