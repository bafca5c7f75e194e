"""Is a deadline that a user sets on a real Spark kept by copies, and missed where they are off?"""

import time

import pytest

from tests.integration.driver import JOB_S
from tests.integration.plane_process import eventually

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("nothing_left")]
WITHIN_S = 12


def begun(driver, group, gate, **more):
    """A job of eight tasks with a deadline; the first attempt of one waits at the gate."""
    return driver.start("bounded", group=group, within=f"{WITHIN_S}s", tasks=8, held=[0], gate=str(gate), **more)


def test_shed_plus_copies_the_task_that_would_miss_the_deadline_and_the_job_keeps_it(plane, driver, gate):
    """The gate stays shut, so that only a copy can end the task; several start together, each on a host of its own."""
    with plane.policy(driver.source, "fifo+shed-plus"):
        driver.run("squares", group="before", tasks=16)
        begun_s = time.monotonic()
        job = begun(driver, "dear", gate)
        assert job.result(timeout=JOB_S) == [n * n for n in range(8)]
        assert time.monotonic() - begun_s < WITHIN_S
    copies = plane.decisions(driver.source, action="launch_copy", job="group-dear")
    assert {(one["index"], one["reason"]) for one in copies} == {(0, "raises_pocd")}
    assert len({one["to_host"] for one in copies}) == len(copies) > 1
    assert len({one["cycle"] for one in copies}) == 1


def test_without_copies_the_same_job_misses_it(plane, driver, gate):
    """In mode off it waits, and nothing is ordered."""
    with plane.policy(driver.source, "fifo+shed-plus"):
        begun_s = time.monotonic()
        job = begun(driver, "late", gate, properties={"spark.grasshopper.mode": "off"})
        eventually(lambda: time.monotonic() - begun_s > WITHIN_S)
        assert not job.done()
        gate.touch()
        assert job.result(timeout=JOB_S) == [n * n for n in range(8)]
    assert plane.decisions(driver.source, action="launch_copy", job="group-late") == []
