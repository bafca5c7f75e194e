"""Is a deadline that a user sets on a real Spark kept by copies, and missed where they are off?"""

import json
import sqlite3
import time
from pathlib import Path

import numpy as np
import pytest

from controlplane.estimators.samples import BUCKETS, FIRST, PER_WAVE, POINTS, POLICIES, SECOND
from spark_listener.demo.world import SPLIT_BYTES, World
from tests.integration import own_plane
from tests.integration.driver import JOB_S, STOCK_SPECULATION, Driver, JobError, plugged
from tests.integration.plane_process import Plane, eventually

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("nothing_left")]
WITHIN_S = 12
TIGHT_S = 8
plane, driver = own_plane.plane, own_plane.driver
"""A slow start in other tests makes copies too late here."""


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


def hold_six_slots(plane, driver, folder):
    """Two jobs, and the gate of their attempts, which leave a slot free on each of two hosts."""
    for number in range(9):
        held = {"gate": str(folder / f"gate-{number}")}
        wide = driver.start("squares", group=f"wide-{number}", tasks=5, held=list(range(5)), **held)
        plane.running(driver.source, f"wide-{number}", 4)
        far = driver.start("bounded", group=f"far-{number}", within="1h", tasks=2, held=[0], **held)
        plane.running(driver.source, f"far-{number}", 0)
        eventually(lambda: len(plane.pool(driver.source)["attempts"]) == 6)
        if len({attempt["host"] for attempt in plane.pool(driver.source)["attempts"]}) == 4:
            break
        Path(held["gate"]).touch()
        eventually(lambda: not plane.pool(driver.source)["attempts"])
    return wide, far, Path(held["gate"])


def test_the_one_spare_slot_goes_to_the_job_that_it_helps(plane, driver, tmp_path):
    """Two others came before it, and FIFO's targets are theirs: one holds five slots, one has a far deadline."""
    with plane.policy(driver.source, "fifo+shed-plus"):
        driver.run("squares", group="before-both", tasks=16)
        wide, far, gate = hold_six_slots(plane, driver, tmp_path)
        begun_s = time.monotonic()
        near = driver.start("bounded", group="near", within=f"{WITHIN_S}s", tasks=2, held=[0], gate=str(gate))
        assert near.result(timeout=JOB_S) == [0, 1]
        assert time.monotonic() - begun_s < WITHIN_S, "a copy has ended it"
        gate.touch()
        assert far.result(timeout=JOB_S) == [0, 1]
        assert wide.result(timeout=JOB_S) == [n * n for n in range(5)]
    launched = plane.decisions(driver.source, action="launch_copy")
    others = ("group-wide", "group-far")
    assert [one["job"] for one in launched if one["job"].startswith((*others, "group-near"))] == ["group-near"]


def test_jobs_of_one_application_have_the_speculators_that_they_name(plane, driver, gate):
    """Their pool's copies nothing: a job that names one that the operator does not allow waits for the gate."""
    with plane.engine(allocator="fair", job_speculators="shed-plus, ras", losing_share=1.0):
        driver.run("squares", group="warmed", tasks=16)
        held = {"tasks": 8, "held": [0], "gate": str(gate)}
        dear = driver.start("named", speculator="shed-plus", group="dear-own", within=f"{WITHIN_S}s", **held)
        usual = driver.start("named", speculator="ras", group="usual-own", **held)
        other = driver.start("named", speculator="late", group="other-own", tasks=2, held=[0], gate=str(gate))
        for job in (dear, usual):
            assert job.result(timeout=JOB_S) == [n * n for n in range(8)], "a copy has ended it"
        told = plane.call("GET", f"/jobs/{driver.source}/group-other-own")
        assert (told["policy"], told["named_speculator"]["reason"]) == ("fair+none", "speculator_not_allowed")
        gate.touch()
        assert other.result(timeout=JOB_S) == [0, 1]
    copies = [each for each in plane.decisions(driver.source, action="launch_copy") if each["job"].endswith("-own")]
    assert {(each["job"], each["policy"]) for each in copies} == {
        ("group-dear-own", "fair+shed-plus"),
        ("group-usual-own", "fair+ras"),
    }


@pytest.fixture(scope="module")
def speculating(hosts, plane, tmp_path_factory):
    """A driver whose user has Spark's own speculation on; it is stock's wherever the mode is off."""
    with Driver(hosts, tmp_path_factory.mktemp("speculating"), **plugged(plane.address), **STOCK_SPECULATION) as driver:
        driver.run("squares", group="warm", tasks=16)
        yield driver


def straggling(driver, mode, seed, gate):
    """A job with a tight deadline in this mode; its draws are the seed's, whatever the mode."""
    return driver.start(
        "straggling", group=f"{mode}-{seed}", within=f"{TIGHT_S}s", seed=seed, gate=str(gate),
        properties={"spark.grasshopper.mode": mode},
    )  # fmt: skip


def ordered_copies(plane, driver, mode, seed, found):
    """Of each copy of the straggler, whether it was ordered."""
    ended = plane.ended(driver.source, f"group-{mode}-{seed}")
    return [one["order"] > 0 for one in ended if one["index"] == found["straggler"] and one["speculative"]]


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.full) for seed in range(2, 11))])
def test_several_copies_keep_a_deadline_that_stock_misses(plane, speculating, gate, seed):
    """The straggler's first copy hangs, too: Spark starts no second one, and Shed+ starts several together."""
    with plane.policy(speculating.source, "fifo+shed-plus"):
        kept = straggling(speculating, "control", seed, gate).result(timeout=JOB_S)
        began_s = time.monotonic()
        job = straggling(speculating, "off", seed, gate)
        eventually(lambda: time.monotonic() - began_s > TIGHT_S)
        assert not job.done()
        gate.touch()
        missed = job.result(timeout=JOB_S)
    print(f"seed {seed}: due in {TIGHT_S} s, {kept['seconds']:.1f} s by Shed+")
    assert kept["answer"] == missed["answer"] == [n * n for n in range(8)]
    assert kept["seconds"] < TIGHT_S < missed["seconds"]
    copies = ordered_copies(plane, speculating, "control", seed, kept)
    assert len(copies) > 1
    assert all(copies)
    assert ordered_copies(plane, speculating, "off", seed, missed) == [False]


LED = World(seed=15859, bytes_per_second=SPLIT_BYTES // 4, sick_host="none")
"""The last of four splits takes 60 s to read, its copies 60, 8 and 60 s, each of the others 4 to 6 s."""


@pytest.fixture
def reading(hosts, plane, tmp_path):
    """A driver of that world."""
    conf, world = plugged(plane.address), LED.spark_conf()
    conf["spark.jars"] += f",{world.pop('spark.jars')}"
    with Driver(hosts, tmp_path / "reading", **conf, **world) as driver:
        yield driver


def test_the_slow_ones_of_three_copies_end_once_another_leads(plane, reading, tmp_path):
    """Shed+ looks at them again a while after their launch, and the original goes with them."""
    lines = tmp_path / "lines.tsv"
    lines.write_text(("x" * 63 + "\n") * (4 * SPLIT_BYTES // 64))
    with plane.policy(reading.source, "fifo+shed-plus"):
        reading.run("read_text", group="before", path=str(lines))
        read = reading.run("read_in_time", group="led", path=f"paced://{lines}", within="20s")
    assert read == 4 * SPLIT_BYTES // 64
    attempts = plane.ended(reading.source, "sql-1")
    (leader,) = [one for one in attempts if one["speculative"] and one["outcome"] == "success"]
    beaten = [
        one for one in attempts if one["reason"].startswith("grasshopper: The policy has looked at its task again")
    ]
    assert [one["index"] for one in beaten] == 3 * [leader["index"]]
    assert max(one["end_s"] for one in beaten) < leader["end_s"]


def test_a_late_job_ends_if_its_user_wants_that(plane, driver, gate):
    """Its tasks hang, copies, too; without the property it would wait for the gate."""
    properties = {"spark.grasshopper.late.job": "kill"}
    job = driver.start(
        "bounded", group="hopeless", within="3s", tasks=2, held=[0], gate=str(gate), hold_copies=True,
        properties=properties,
    )  # fmt: skip
    with pytest.raises(JobError, match="deadline passed"):
        job.result(timeout=JOB_S)
    (stopped,) = plane.decisions(driver.source, action="stop_job", job="group-hopeless")
    assert stopped["reason"] == "late"
    eventually(lambda: plane.call("GET", f"/decisions/{stopped['id']}")["result"] == "applied")


@pytest.mark.parametrize(("waves", "reason"), [(0.0, "saves_slot_time"), (2.0, "ends_sooner")])
def test_grass_is_ras_and_gs_in_the_last_waves(plane, driver, gate, waves, reason):
    """One task is left of two waves: without samples RAS copies it, and the strawman's GS."""
    group = f"last-waves-{waves:g}"
    settings = {"strawman_waves": waves, "gs_on_free_slots": 0.0}
    with plane.engine(speculator="grass", speculator_settings=settings):
        job = driver.start("squares", group=group, tasks=16, held=[0], gate=str(gate))
        assert job.result(timeout=JOB_S) == [n * n for n in range(16)], "the copy has ended it"
    copies = plane.decisions(driver.source, action="launch_copy", job=f"group-{group}")
    assert {one["reason"] for one in copies} == {reason}
    assert 0 in {one["index"] for one in copies}


def test_jobs_that_explore_leave_samples(plane, driver, tmp_path):
    """Each tries GS or RAS throughout, for several cycles; the first of a bucket's three rows is neither's."""
    with plane.engine(speculator="grass", speculator_settings={"explorer_share": 1.0}):
        for number in range(3):
            gate = tmp_path / f"gate-{number}"
            job = driver.start("squares", group=f"explorer-{number}", tasks=8, held=[0], gate=str(gate))
            plane.running(driver.source, f"explorer-{number}", 0)
            gate.touch()
            assert job.result(timeout=JOB_S) == [n * n for n in range(8)]
        eventually(lambda: any(int(row) % 3 for row in plane.call("GET", "/state:dump")["samples"]))


def late_switch():
    """Samples of all buckets by which a job is best off with RAS until one wave is left, and with GS then."""
    waves = np.arange(1, POINTS + 1) / PER_WAVE
    weights, curves = np.full(POINTS, 50.0), {FIRST: np.where(waves <= 1.0, waves / 2, 2 * waves), SECOND: waves}
    rows = ((bucket * POLICIES + policy, curves[policy]) for bucket in range(BUCKETS) for policy in (FIRST, SECOND))
    return {str(row): [*weights, *(weights * curve)] for row, curve in rows}


@pytest.fixture(scope="module")
def sampled(tmp_path_factory):
    """A control plane that an earlier one has left these samples."""
    settings = {"GRASSHOPPER__ENGINE__SPECULATOR_SETTINGS": json.dumps({"gs_on_free_slots": 0.0})}
    with Plane(tmp_path_factory.mktemp("sampled"), policy="fifo+grass", **settings) as plane:
        plane.stop()
        with sqlite3.connect(plane.store) as store:
            stored = ("samples", 0, json.dumps(late_switch()).encode())
            store.execute("INSERT OR REPLACE INTO learned (key, at_ms, body) VALUES (?, ?, ?)", stored)
        plane.start(keeps_store=True)
        yield plane


def why_copied(plane, driver, group, gate):
    """By task, why a job of five waves has copies; its first and its last task straggle."""
    driver.run("squares", group=f"{group}-warm", tasks=16)
    job = driver.start("napping", group=group, tasks=40, seconds=1.0, held=[0, 39], gate=str(gate))
    assert job.result(timeout=JOB_S) == [n * n for n in range(40)], "copies have ended it"
    copies = plane.decisions(driver.source, action="launch_copy", job=f"group-{group}")
    return {one["index"]: one["reason"] for one in copies}


SWITCHES = {0: "saves_slot_time", 39: "switched_to_gs"}


def test_grass_switches_within_a_job_and_a_killed_driver_loses_no_samples(hosts, sampled, tmp_path):
    """RAS copies the early straggler, and GS the late one; the next driver goes by the same samples."""
    conf = plugged(sampled.address)
    with Driver(hosts, tmp_path / "first", **conf) as first:
        assert why_copied(sampled, first, "switching", tmp_path / "gate-1").items() >= SWITCHES.items()
        before = sampled.call("GET", "/state:dump")["samples"]
        first.kill()
    with Driver(hosts, tmp_path / "second", **conf) as second:
        assert sampled.call("GET", "/state:dump")["samples"].items() >= before.items()
        assert why_copied(sampled, second, "again", tmp_path / "gate-2").items() >= SWITCHES.items()


@pytest.mark.full
def test_a_restarted_control_plane_keeps_the_samples_that_its_jobs_left(hosts, sampled, tmp_path):
    """Explorers leave some; after a restart on the same store they are there, and jobs switch by them."""
    with Driver(hosts, tmp_path / "driver", **plugged(sampled.address)) as driver:
        with sampled.engine(speculator_settings={"explorer_share": 1.0}):
            driver.run("napping", group="explorer", tasks=16, seconds=0.5, held=[], gate="")
        learned = eventually(lambda: {
            row: points for row, points in sampled.call("GET", "/state:dump")["samples"].items()
            if points != late_switch().get(row)
        })  # fmt: skip
        sampled.stop()
        sampled.start(keeps_store=True)
        assert sampled.call("GET", "/state:dump")["samples"].items() >= learned.items()
        eventually(lambda: sampled.pool(driver.source))
        assert why_copied(sampled, driver, "restarted", tmp_path / "gate").items() >= SWITCHES.items()


def test_bounds_that_java_sets_reach_the_control_plane_and_nonsense_is_refused(plane, driver, gate):
    """As a user of Scala sets them; the job does not start with a bound that is none."""
    held = {"tasks": 2, "held": [0], "gate": str(gate)}
    job = driver.start("bounded_by_java", group="by-java", within="5min", share=0.25, **held)
    plane.running(driver.source, "by-java", 0)
    (live,) = [each for each in plane.pool(driver.source)["jobs"] if each["job"] == "group-by-java"]
    assert 0 < live["deadline_s"] <= 300
    assert live["error_bound"] == 0.25
    gate.touch()
    assert job.result(timeout=JOB_S) == [0, 1]
    with pytest.raises(JobError, match=r"spark\.grasshopper\.deadline: got soon, want a number with a unit"):
        driver.run("bounded_by_java", group="soon", within="soon", share=0.25, **held)
