"""What is Hopper's Table 1 on real Spark? Two jobs, seven slots, three ways to share them out, in the paper's units."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spark_listener.demo.world import testkit_jar
from spark_listener.event_log import Attempt
from spark_listener.swim import TRACE_PATH

SLOTS = 7
UNIT_S = 0.5
"""Seconds for one of the paper's time units."""
SPLIT_BYTES = 2 << 20
"""Rows that a task reads. Spark counts in steps of 1,000: some 60 steps, so that a rate shows soon."""
EARLIER = 7
"""B's tasks of the wave before time 0. They take 10, keep all slots busy until then, and show the usual duration."""
ORIGINALS = {"A": (10.0, 10.0, 10.0, 30.0), "B": (10.0,) * EARLIER + (20.0, 20.0, 20.0, 40.0, 10.0)}
"""Durations of originals; Table 1's, after B's earlier wave."""
COPY = 10.0
FIRST_BYTE = 0.8
"""Units until an attempt shows progress; with reports and a look at its rate, a straggler is seen after 3 to 4."""
LEAD = 2.0
"""Time from B's arrival to A's, which falls into B's earlier wave."""
ENGINE = {
    "max_copies_per_task": 1, "job_copy_share": 1.0, "pool_copy_share": 1.0, "cluster_copy_share": 1.0,
    "losing_allowance_tasks": 1e6,
}  # fmt: skip
"""The example knows no budgets."""
SPECULATOR = {"sooner_by_s": UNIT_S, "sooner_times": 1.0, "end_beaten": 0.0}
"""A task is copied if that ends it a unit sooner: two of B's need just as long as a copy when A ends, and get none. No
beaten attempt ends before its task does, as in the example."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """One row of the table: a pair of policies, and when A and B end by the paper."""

    name: str
    allocator: str
    allocator_settings: dict[str, float] = field(default_factory=dict)
    speculator: str = "ras"
    paper: tuple[float, float]

    @property
    def policy(self) -> str:
        """Both as "allocator+speculator"."""
        return f"{self.allocator}+{self.speculator}"


SCHEDULES = (
    Schedule(name="best effort", allocator="srpt", paper=(20.0, 30.0)),
    Schedule(
        name="three slots reserved", allocator="budgeted", allocator_settings={"reserved_share": 3 / 7},
        paper=(12.0, 32.0),
    ),
    Schedule(
        name="Hopper", allocator="hopper", paper=(12.0, 22.0),
        # 5/4 slots a task, as for a tail index of 1.6: of seven slots, the figure's five for A and two for B.
        allocator_settings={"fairness_epsilon": 1.0, "multiplier_cap": 1.25, "order_by_work": 0.0, "hold_slots": 1.0},
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One attempt on the picture; times in units after time 0."""

    job: str
    task: int
    """From 1; 0 and below are B's earlier wave."""
    copy: bool
    slot: int
    start: float
    end: float
    won: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One schedule as it ran."""

    name: str
    policy: str
    paper: tuple[float, float]
    measured: tuple[float, float]
    bars: list[Bar]


def outcome(schedule: Schedule, stages: dict[str, list[Attempt]]) -> Outcome:
    """The result of both jobs, from their stages' attempts. Time 0 is the end of B's earlier wave."""
    zero_ms = max(one.finish_ms for one in stages["B"] if one.task < EARLIER and one.succeeded)
    slots = {name: slot for slot, name in enumerate(sorted({one.executor for one in stages["B"]}, key=int))}

    def units(at_ms: int) -> float:
        return round((at_ms - zero_ms) / 1000 / UNIT_S, 2)

    bars = [
        Bar(
            job=job,
            task=one.task + 1 - (EARLIER if job == "B" else 0),
            copy=one.speculative,
            slot=slots.setdefault(one.executor, len(slots)),
            start=units(one.launch_ms),
            end=units(one.finish_ms),
            won=one.succeeded,
        )
        for job, attempts in stages.items()
        for one in attempts
    ]
    ends = tuple(max(bar.end for bar in bars if bar.job == job and bar.won) for job in "AB")
    return Outcome(
        name=schedule.name, policy=schedule.policy, paper=schedule.paper, measured=(ends[0], ends[1]), bars=bars
    )


def stages_in_order(attempts: Iterable[Attempt]) -> list[dict[str, list[Attempt]]]:
    """The stages of A and B, one pair for each schedule, recognised by their numbers of tasks."""
    by_stage: dict[int, list[Attempt]] = {}
    for one in attempts:
        by_stage.setdefault(one.stage, []).append(one)
    job_of = {len(tasks): job for job, tasks in ORIGINALS.items()}
    found: dict[str, list[list[Attempt]]] = {job: [] for job in ORIGINALS}
    for _, of_stage in sorted(by_stage.items()):
        job = job_of.get(len({one.task for one in of_stage}))
        if job is not None:
            found[job].append(of_stage)
    return [dict(zip("AB", pair, strict=True)) for pair in zip(found["A"], found["B"], strict=True)]


def spark_conf() -> dict[str, str]:
    """The Spark configuration that makes attempts take the listed times."""
    listed = {
        f"spark.hadoop.fs.paced.seconds.{job}.tsv": ",".join(f"{UNIT_S * units:g}" for units in durations)
        for job, durations in ORIGINALS.items()
    }
    return listed | {
        "spark.jars": str(testkit_jar()),
        "spark.hadoop.fs.paced.impl": "io.grasshopper.testkit.PacedFileSystem",
        "spark.hadoop.fs.paced.world": "listed",
        "spark.hadoop.fs.paced.copy-seconds": f"{UNIT_S * COPY:g}",
        "spark.hadoop.fs.paced.first-byte-seconds": f"{UNIT_S * FIRST_BYTE:g}",
        "spark.hadoop.fs.paced.split-bytes": str(SPLIT_BYTES),
        # Past its split a task reads one buffer more, which should cost next to nothing.
        "spark.buffer.size": str(SPLIT_BYTES // 128),
        "spark.sql.files.maxPartitionBytes": str(SPLIT_BYTES),
        "spark.sql.files.openCostInBytes": str(SPLIT_BYTES),
        "spark.executor.cores": "1",
        "spark.cores.max": str(SLOTS),
    }


def write_inputs(folder: Path) -> dict[str, Path]:
    """One file per job, of as many splits as the job has tasks, and one that warms every slot up twice."""
    folder.mkdir(parents=True, exist_ok=True)
    trace = TRACE_PATH.read_bytes()
    paths = {}
    for name, tasks in {"warm-up": 2 * SLOTS, **{job: len(durations) for job, durations in ORIGINALS.items()}}.items():
        size_bytes = tasks * SPLIT_BYTES
        text = (trace * (size_bytes // len(trace) + 1))[:size_bytes]
        paths[name] = folder / f"{name}.tsv"
        paths[name].write_bytes(text[: text.rindex(b"\n") + 1])
    return paths


def task_of(paths: dict[str, Path], conf: dict[str, str], server: str) -> dict[str, Any]:
    """The driver program's instructions."""
    return {
        "name": "demo-table1",
        "conf": conf,
        "server": server,
        "warm_up_url": paths["warm-up"].resolve().as_uri(),
        "jobs": [
            {"id": job, "tasks": len(ORIGINALS[job]), "arrival_s": arrival_s, "url": f"paced://{paths[job].resolve()}"}
            for job, arrival_s in (("B", 0.0), ("A", UNIT_S * LEAD))
        ],
    }
