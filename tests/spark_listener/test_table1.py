"""Are the schedules of Table 1 read from Spark's event log as they ran, and drawn?"""

import xml.etree.ElementTree as ET

import pytest

from spark_listener.demo.table1 import (
    EARLIER,
    ORIGINALS,
    SCHEDULES,
    SLOTS,
    UNIT_S,
    outcome,
    spark_conf,
    stages_in_order,
)
from spark_listener.demo.table1_picture import svg
from spark_listener.event_log import Attempt

pytestmark = pytest.mark.unit
WAVE_MS = 5_000
"""When B's earlier wave has ended, by the driver's clock."""
SVG = "{http://www.w3.org/2000/svg}"


def attempt(stage: int, task: int, start: float, end: float, *, copy: bool = False, won: bool = True) -> Attempt:
    """An attempt that runs from start to end, in units after the earlier wave."""
    launch_ms, finish_ms = (round(WAVE_MS + 1000 * UNIT_S * at) for at in (start, end))
    return Attempt(
        stage=stage, stage_attempt=0, task=task, attempt=int(copy),
        executor=str((task + copy) % SLOTS), host="127.0.0.2",
        speculative=copy, launch_ms=launch_ms, finish_ms=finish_ms, succeeded=won,
    )  # fmt: skip


def one_schedule(first_stage: int) -> list[Attempt]:
    """B's stage with its earlier wave, then A's, whose last task is copied at 2."""
    earlier = [attempt(first_stage, task, -10, 0) for task in range(EARLIER)]
    later = [attempt(first_stage, EARLIER + task, 10, 20) for task in range(5)]
    of_a = [attempt(first_stage + 1, task, 0, 10) for task in range(3)]
    race = [
        attempt(first_stage + 1, 3, 2, 12, copy=True),
        attempt(first_stage + 1, 3, 0, 12.1, won=False),
    ]
    return [*earlier, *of_a, *race, *later]


def test_each_pair_of_stages_is_one_schedule_and_others_are_none():
    """The warm-up's stage has another number of tasks."""
    warm_up = [attempt(0, task, -20, -15) for task in range(2 * SLOTS)]
    pairs = stages_in_order([*warm_up, *one_schedule(1), *one_schedule(3)])
    assert [{one.stage for one in pair["A"]} for pair in pairs] == [{2}, {4}]
    assert [len({one.task for one in pair["B"]}) for pair in pairs] == [len(ORIGINALS["B"])] * 2


def test_a_job_ends_with_its_last_winner_counted_from_the_earlier_waves_end():
    """A at 12 by its copy; that the beaten original ends a moment later does not count."""
    (pair,) = stages_in_order(one_schedule(1))
    ran = outcome(SCHEDULES[2], pair)
    assert ran.measured == (12.0, 20.0)
    assert {bar.task for bar in ran.bars if bar.job == "B"} == set(range(1 - EARLIER, 6))
    assert [(bar.start, bar.won) for bar in ran.bars if bar.copy] == [(2.0, True)]


def test_the_picture_has_a_bar_for_each_attempt_after_time_0():
    """Copies have an outline, the beaten original is pale; it is well-formed, for a page shows it."""
    (pair,) = stages_in_order(one_schedule(1))
    ran = outcome(SCHEDULES[2], pair)
    bars = ET.fromstring(svg([ran])).findall(f"{SVG}rect")
    kinds = [bar.get("class") for bar in bars]
    assert len(kinds) == len(ran.bars)
    assert (kinds.count("earlier B"), kinds.count("earlier")) == (0, EARLIER)
    assert (kinds.count("A copy"), kinds.count("A lost"), kinds.count("B")) == (1, 1, 5)
    assert all(float(bar.get("width")) > 0 for bar in bars)


def test_the_file_system_is_told_every_duration_in_seconds(monkeypatch):
    """The user's program is not: it reads files."""
    monkeypatch.setattr("spark_listener.demo.table1.testkit_jar", lambda: "testkit.jar")
    listed = spark_conf()["spark.hadoop.fs.paced.seconds.A.tsv"]
    assert [float(each) / UNIT_S for each in listed.split(",")] == list(ORIGINALS["A"])
