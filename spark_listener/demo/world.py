"""In which world does the demo run? The slowness that all contestants meet, and the jobs they run in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from controlplane.swim_trace import BLOCK_BYTES
from spark_listener.demo.contestants import BEST_STOCK, StockSetting
from spark_listener.swim import TRACE_PATH, ModelJob, model_slice, read_trace

KINDS = ("independent", "half", "data")
TESTKIT_JAR = Path("jvm-shim/testkit/target/grasshopper-testkit.jar")
SPLIT_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Every number that makes the demo's tasks slow; `docs/demo.md` says where each comes from.

    A nominal task reads one split in SPLIT_BYTES / bytes_per_second seconds.  Its slowdown is a Pareto draw from
    1 to max_slowdown; on top of it the sick host's executors run only for a share of the time.
    """

    seed: int
    kind: str = "independent"
    bytes_per_second: int = 1536 * 1024
    tail_index: float = 1.4
    max_slowdown: float = 15.0
    sick_host: str = "127.0.0.4"
    sick_duty: float = 0.25

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"world: got {self.kind!r}, want one of {KINDS}")

    def mean_read_s(self) -> float:
        """How long a split takes to read on a healthy host, on average.

        >>> world = World(seed=1, bytes_per_second=SPLIT_BYTES)
        >>> round(world.mean_read_s(), 3), round(world.median_read_s(), 3)
        (2.654, 1.641)
        """
        below_1 = self.tail_index - 1
        mean_slowdown = 1 + (1 - self.max_slowdown**-below_1) / below_1
        return SPLIT_BYTES / self.bytes_per_second * mean_slowdown

    def median_read_s(self) -> float:
        """The median time to read a split on a healthy host."""
        return SPLIT_BYTES / self.bytes_per_second * min(self.max_slowdown, 2 ** (1 / self.tail_index))

    def spark_conf(self) -> dict[str, str]:
        """The Spark configuration to read `paced://` paths in this world."""
        return {
            "spark.jars": str(testkit_jar()),
            "spark.hadoop.fs.paced.impl": "io.grasshopper.testkit.PacedFileSystem",
            "spark.hadoop.fs.paced.seed": str(self.seed),
            "spark.hadoop.fs.paced.world": self.kind,
            "spark.hadoop.fs.paced.bytes-per-second": str(self.bytes_per_second),
            "spark.hadoop.fs.paced.tail-index": str(self.tail_index),
            "spark.hadoop.fs.paced.max-slowdown": str(self.max_slowdown),
            "spark.sql.files.maxPartitionBytes": str(SPLIT_BYTES),
            "spark.sql.files.openCostInBytes": str(SPLIT_BYTES),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """The jobs that each contestant runs."""

    jobs: list[ModelJob]

    def write_inputs(self, folder: Path) -> dict[str, Path]:
        """One file per job, of as many splits as the job has tasks: whole lines of the trace, repeated."""
        folder.mkdir(parents=True, exist_ok=True)
        trace = TRACE_PATH.read_bytes()
        paths = {}
        for job in self.jobs:
            size_bytes = job.tasks * SPLIT_BYTES
            text = (trace * (size_bytes // len(trace) + 1))[:size_bytes]
            paths[job.job_id] = folder / f"{job.job_id}.tsv"
            paths[job.job_id].write_bytes(text[: text.rindex(b"\n") + 1])
        return paths


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How large a demo is: the cores of each worker, the pace of a nominal task, and the slice of the trace.

    The slice is `jobs` successive jobs, a task per `task_bytes` of input, at most 40, arrivals compressed to `span_s`.
    `best_stock` is what tuning found for stock Spark on other seeds.
    """

    cores_per_worker: int
    bytes_per_second: int
    jobs: int
    span_s: float
    task_bytes: int
    best_stock: StockSetting

    def world(self, *, seed: int, kind: str) -> World:
        """A world with this size's pace."""
        return World(seed=seed, kind=kind, bytes_per_second=self.bytes_per_second)

    def workload(self) -> Workload:
        """The jobs, always the same."""
        jobs = model_slice(
            read_trace(), first=40, count=self.jobs, max_tasks=40, span_s=self.span_s, task_bytes=self.task_bytes
        )
        return Workload(jobs=jobs)


SIZES = {
    "small": Size(
        cores_per_worker=2,
        bytes_per_second=1536 * 1024,
        jobs=10,
        span_s=25.0,
        task_bytes=BLOCK_BYTES,
        best_stock=BEST_STOCK,
    ),
    "large": Size(
        cores_per_worker=6,
        bytes_per_second=768 * 1024,
        jobs=40,
        span_s=62.0,
        task_bytes=16 * BLOCK_BYTES,
        best_stock=StockSetting(scheduler="FAIR", quantile=0.5, multiplier=1.1),
    ),
}


def testkit_jar() -> Path:
    """The jar with the paced file system, which only a checkout has.  Raises FileNotFoundError."""
    jar = Path(__file__).parents[2] / TESTKIT_JAR
    if not jar.is_file():
        raise FileNotFoundError(f"{jar} is missing: the demo runs from a checkout, after `make jars`")
    return jar
