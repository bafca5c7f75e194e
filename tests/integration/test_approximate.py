"""Does a bounded action on a real Spark stop at its bound, say what it has not seen, and leave all else alone?"""

import time

import pytest

from spark_listener.approximation.stopping import Bound
from tests.integration import own_plane
from tests.integration.driver import JOB_S, JobError
from tests.integration.plane_process import eventually

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("nothing_left")]
SQUARES = [n * n for n in range(8)]
plane, driver = own_plane.plane, own_plane.driver
"""What it learns from tasks that hang until they are cancelled is no other test's."""


def test_an_error_bound_ends_the_job_without_its_straggler_and_nobody_elses_job(driver, gate):
    """The gate stays shut, so the straggler is cancelled; a job of the same group, held at the same gate, is not."""
    other = driver.start("squares", group="approximate", tasks=1, held=[0], gate=str(gate), hold_copies=True)
    found = driver.run("approximated", group="approximate", bound={"error": 0.125}, held=[3], gate=str(gate), rows=True)
    assert found["repr"] == "<partial: 7 of 8 partitions>"
    assert found["seen"] == [0, 1, 2, 4, 5, 6, 7]
    assert found["sum"] == [sum(SQUARES) - 9, None, "not_a_sample"]
    assert found["rows"] == [square for square in SQUARES if square != 9]
    assert found["untouched"]
    assert not other.done()
    gate.touch()
    assert other.result(timeout=JOB_S) == [0]


def test_a_deadline_gives_back_what_was_done_in_time(driver, gate):
    """A sample that has a straggler in it is none."""
    bound = {"deadline": "4s", "sample": True, "seed": 1}
    found = driver.run("approximated", group="in-time", bound=bound, held=[3], gate=str(gate))
    assert 4.0 <= found["seconds"] < 8.0
    assert found["seen"] == [0, 1, 2, 4, 5, 6, 7]
    assert found["sum"] == [sum(SQUARES) - 9, None, "not_a_sample"]


def test_a_sample_by_deadline_is_what_has_started_by_half_of_it(driver, gate):
    """Of the random order, 24 have ended by then, 8 hold the slots and end in time; the rest starts later and hangs.

    Spark's status may be some starts behind, and then the sample is smaller.
    """
    order = Bound(within_s=8.0, is_random=True, seed=3).order(80)
    bound = {"deadline": "8s", "sample": True, "seed": 3}
    begun_s = time.monotonic()
    job = driver.start(
        "approximated", group="half", bound=bound, tasks=80, held=order[24:32], never=order[32:], gate=str(gate)
    )
    eventually(lambda: time.monotonic() - begun_s > 5.5)
    gate.touch()
    found = job.result(timeout=JOB_S)
    assert found["seen"] == sorted(order[:32])
    assert 20 <= len(found["sample"]) <= 32
    assert found["sample"] == sorted(order[: len(found["sample"])])
    _, low, withheld = found["sum"]
    assert (low is None, withheld) == (False, None)


def test_a_copy_rescues_a_partition_which_counts_once(plane, driver, gate):
    """The action is safe to copy, and its bound reaches the control plane."""
    bound, group = {"error": 0.125}, "rescued"
    job = driver.start("approximated", group=group, bound=bound, held=[3, 4], gate=str(gate), hold_copies=False)
    for index in (3, 4):
        plane.copy(plane.running(driver.source, group, index)[0], driver.source)
    live = [one for one in plane.pool(driver.source)["jobs"] if one["job"] == f"group-{group}"]
    found = job.result(timeout=JOB_S)
    assert [one["error_bound"] for one in live] == [0.125]
    assert len(found["seen"]) in {7, 8}
    assert found["sum"][0] == sum(SQUARES[n] for n in found["seen"])


@pytest.mark.parametrize("policy", ["fair+gs", pytest.param("fair+ras", marks=pytest.mark.full)])
def test_an_error_bound_starts_the_longest_of_those_it_needs_first(plane, driver, gate, tmp_path, policy):
    """Of 20 files, each longer than the one before, 15 are needed: of those that wait, 14 goes first, then 13 ...

    Spark alone would go on with 9. The last five never end, so the bound is met without them.
    """
    tasks, group = 20, policy
    with plane.policy(driver.source, policy), plane.engine(max_copies_per_task=0):
        job = driver.start(
            "approximated_by_size", group=group, folder=str(tmp_path), error=0.25, tasks=tasks,
            held=list(range(1, 9)), gate=str(gate), never=list(range(15, tasks)),
        )  # fmt: skip
        plane.running(driver.source, group, 8)

        def orders():
            return plane.decisions(driver.source, action="run_next", job=f"group-{group}")

        eventually(lambda: any(one["result"] == "applied" for one in orders()), about=orders)
        gate.touch()
        assert job.result(timeout=JOB_S) == list(range(15))
    assert (orders()[-1]["index"], orders()[-1]["reason"]) == (14, "originals_ordered")
    started = sorted(plane.ended(driver.source, f"group-{group}"), key=lambda attempt: attempt["attempt"])
    after = [attempt["index"] for attempt in started if attempt["index"] > 8]
    assert after[:6] == [14, 13, 12, 11, 10, 9]


def test_somebody_elses_cancel_and_a_failed_task_are_errors(driver, gate):
    """Neither is a bound that was met, so nothing partial comes back."""
    job = driver.start("approximated", group="gone", bound={"deadline": "100s"}, held=[3], gate=str(gate))
    eventually(lambda: driver.run("running_tasks"))
    driver.run("cancel", group="gone")
    with pytest.raises(JobError, match="cancelled"):
        job.result(timeout=JOB_S)
    with pytest.raises(JobError, match="ZeroDivisionError"):
        driver.run("approximated_failure", group="failed")


def test_a_bound_that_does_not_bind_gives_what_stock_gives(driver):
    found = driver.run("approximated_whole")
    assert found.pop("empty") == 0
    assert all(found.values()), found


def test_only_chains_from_the_input_to_the_result_are_bounded(driver):
    """Each of the others is refused by what stands in the way, before anything of it runs."""
    told = driver.run("approximated_queries")
    by_partition = ("python udf", "broadcast join", "sorted in partitions", "grouped as it lies", "subquery")
    assert {told.pop(name) for name in by_partition} == {"<partial: 8 of 10 partitions>"}
    assert told.pop("union") == "<partial: 16 of 20 partitions>"
    assert told.pop("stored") == "<partial: 4 of 5 partitions>"
    assert told.pop("neither").startswith("TypeError: query: got list")
    whys = {
        "not stored": "all of the input",
        "grouped": "ShuffleExchangeExec cannot be bounded",
        "joined": "ShuffleExchangeExec",
        "limited": "limit",
        "sorted": "sorts all rows",
        "streaming": "streaming",
        "shuffled rdd": "ShuffledRDD",
        "barrier": "barrier",
    }
    assert told.keys() == whys.keys()
    for name, why in whys.items():
        assert told[name].startswith("NotBoundable: query: "), told
        assert why in told[name], told
