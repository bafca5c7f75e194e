"""How does Spark differ from other hosts? Stages that may run twice, executors for copies, answers to orders.

May the tasks of a stage run twice? A table: the first row that fits gives the verdict. Safe are stages whose output
Spark itself keeps apart by attempt: shuffle files, results that return to the driver, files and data sources under a
commit that the driver arbitrates. Files need a committer that writes nothing to its final place before the driver
has agreed: those are named here, and any other is unknown. Nobody can see what an attempt does inside the user's own
functions; the user vouches for that, as with Spark's own speculation.
"""

import re
from collections.abc import Callable

from controlplane.hosts.kind import UNKNOWN_SINK, HostAnswer, Kind, Verdict
from controlplane.model.facts import Capabilities, StageSubmitted
from controlplane.model.reasons import Reason

_RETURNING_CALLS = """
    aggregate collect collectAsArrowToPython collectAsList collectAsMap collectAsync collectToPython count countApprox
    countApproxDistinct countAsync countByKey countByKeyApprox countByValue countByValueApprox csv executeCollect
    executeTake first fold getRowsToPython head histogram isEmpty json load lookup max mean min parquet reduce
    reduceByKeyLocally repartitionByRange runJob sampleStdev sampleVariance show showString sortBy sortByKey stats stdev
    sum tail take takeAsList takeAsync takeOrdered takeSample toArrow toJSON toLocalIterator toPandas top
    treeAggregate treeReduce variance zipWithIndex
    $anonfun$withThreadLocalCaptured$1 $anonfun$withThreadLocalCaptured$2
"""
RETURNS_TO_DRIVER = frozenset(_RETURNING_CALLS.split())
"""Calls whose result stage only sends values to the driver; the last two compute a broadcast."""
FILE_WRITERS = (
    "org.apache.spark.sql.execution.datasources.FileFormatWriter",
    "org.apache.spark.sql.execution.datasources.WriteFilesExec",
    "org.apache.spark.internal.io.SparkHadoopWriter",
)
QUERY_PLAN = "org.apache.spark.sql.execution.SparkPlan"
"""Packs a query's rows for the driver; the user's call does not matter then, and may not even show."""
FOREACH = "org.apache.spark.rdd.RDD.foreach"
"""Hands rows to a user's function, whatever call site another thread of a PySpark driver has left behind."""
DATA_SOURCE_WRITER = "org.apache.spark.sql.execution.datasources.v2.V2TableWriteExec"
_COORDINATED_COMMITTERS = """
    org.apache.hadoop.fs.s3a.commit.magic.MagicS3GuardCommitter
    org.apache.hadoop.fs.s3a.commit.staging.DirectoryStagingCommitter
    org.apache.hadoop.fs.s3a.commit.staging.PartitionedStagingCommitter
    org.apache.hadoop.mapred.FileOutputCommitter
    org.apache.hadoop.mapreduce.lib.output.FileOutputCommitter
    org.apache.hadoop.mapreduce.lib.output.committer.manifest.ManifestCommitter
    org.apache.parquet.hadoop.ParquetOutputCommitter
    org.apache.spark.internal.io.HadoopMapRedCommitProtocol
    org.apache.spark.internal.io.HadoopMapReduceCommitProtocol
    org.apache.spark.internal.io.cloud.PathOutputCommitProtocol
    org.apache.spark.sql.execution.datasources.SQLHadoopMapReduceCommitProtocol
"""
COORDINATED_COMMITTERS = frozenset(_COORDINATED_COMMITTERS.split())
"""Committers that keep an attempt's output apart until the host lets it commit, and protocols that ask the host."""
DIRECT_COMMITTER = re.compile(r"Direct(?!ory)")
"""Part of the name of every committer that writes to the final place at once, mostly on S3 and GCS."""
EXECUTOR_STARTS_MS = 60_000
"""Spark asks for an executor after a second of backlog. YARN grants it with the heartbeats of master and nodes, seconds
each. A container that fetches jars and starts a JVM takes ten seconds more on a quiet cluster, and several times that
on a busy one."""
DRIVER_SIDE = ("org.apache.spark.rdd.", "org.apache.spark.api.python.", "org.apache.spark.sql.execution.")


def _writes_files(stage: StageSubmitted) -> bool:
    return stage.writer.startswith(FILE_WRITERS)


def _commits_directly(stage: StageSubmitted) -> bool:
    return any(DIRECT_COMMITTER.search(name) for name in stage.committers)


def _has_known_committers(stage: StageSubmitted) -> bool:
    return bool(stage.committers) and COORDINATED_COMMITTERS.issuperset(stage.committers)


def _writes_data_source(stage: StageSubmitted) -> bool:
    return stage.writer == DATA_SOURCE_WRITER


TABLE: tuple[tuple[Callable[[StageSubmitted], bool], Verdict], ...] = (
    (lambda s: not s.copies_enabled, Verdict(Reason.OPTED_OUT, "the user opted out")),
    (lambda s: s.barrier, Verdict(Reason.BARRIER, "barrier stage")),
    (lambda s: s.pipelined, Verdict(Reason.PIPELINED, "pipelined stage")),
    (lambda s: s.streaming, Verdict(Reason.STREAMING, "streaming query")),
    (lambda s: s.kind == "shuffle_map", Verdict(Reason.NONE, "shuffle output is kept apart by attempt")),
    (
        lambda s: s.action.startswith("foreach") or s.writer == FOREACH,
        Verdict(Reason.UNSAFE_OUTPUT, "foreach writes where it likes"),
    ),
    (
        lambda s: _writes_files(s) and not s.commit_coordinated,
        Verdict(Reason.UNSAFE_OUTPUT, "file commit without coordination"),
    ),
    (
        lambda s: _writes_files(s) and _commits_directly(s),
        Verdict(Reason.UNSAFE_OUTPUT, "a direct committer writes to the final place"),
    ),
    (
        lambda s: _writes_files(s) and _has_known_committers(s),
        Verdict(Reason.NONE, "file commit arbitrated by the driver"),
    ),
    (_writes_files, Verdict(Reason.UNKNOWN_OUTPUT, "unknown file committer")),
    (
        lambda s: _writes_data_source(s) and s.commit_coordinated,
        Verdict(Reason.NONE, "data source commit arbitrated by the driver"),
    ),
    (_writes_data_source, Verdict(Reason.UNSAFE_OUTPUT, "data source commit without coordination")),
    (
        lambda s: s.writer == QUERY_PLAN or (s.action in RETURNS_TO_DRIVER and s.writer.startswith(DRIVER_SIDE)),
        Verdict(Reason.NONE, "the result returns to the driver"),
    ),
)


def verdict(stage: StageSubmitted) -> Verdict:
    """The write-safety gate's verdict on a stage of Spark's.

    >>> verdict(StageSubmitted(job="j", stage=1, stage_attempt=0, n_tasks=1, kind="shuffle_map")).label
    'safe'
    >>> verdict(StageSubmitted(job="j", stage=1, stage_attempt=0, n_tasks=1, kind="result", action="foreach")).label
    'unsafe'
    """
    for fits, word in TABLE:
        if fits(stage):
            return word
    return UNKNOWN_SINK


def copies_to_come(executors: int, slots: int, tasks: int, limit: int) -> int:
    """Copies for which further executors would start; 0 if none is asked for.

    `executors` of `slots` each are there, at most `limit` may be; `tasks` run, wait for a slot, or are copies ordered.
    Spark's ExecutorAllocationManager asks for as many executors as running, waiting and speculative tasks fill, and for
    a second one beside a single one of several slots, since a copy belongs on another host. The shim reports each
    waiting copy to it, by the event that Spark's own speculation posts.

    >>> [copies_to_come(executors=2, slots=4, tasks=tasks, limit=3) for tasks in (7, 8, 11, 12)]
    [0, 4, 1, 0]
    >>> [copies_to_come(executors=1, slots=slots, tasks=1, limit=2) for slots in (1, 4)]
    [1, 4]
    """
    has_slots_elsewhere = executors > 1 and tasks < executors * slots
    return 0 if has_slots_elsewhere or not executors else max(0, limit * slots - max(tasks, executors * slots))


SPARK = Kind(
    name="spark",
    offers=frozenset(Capabilities.__struct_fields__) - {"byte_offset"},
    verdict=verdict,
    copies_to_come=copies_to_come,
    executor_starts_ms=EXECUTOR_STARTS_MS,
    python_operators=("Python", "InPandas", "InArrow"),
    answers={
        "barrier": HostAnswer("tasks of a barrier stage run together or not at all"),
        "executors_fixed": HostAnswer("the driver's number of executors is fixed"),
        "fifo_mode": HostAnswer("spark.scheduler.mode is FIFO, which targets would break"),
        "pipelined": HostAnswer("the stage's tasks run as a pipeline"),
        "stock_task_set": HostAnswer("the stage had begun before the shim was attached"),
        "streaming": HostAnswer("the job is a streaming one"),
        "zombie": HostAnswer("its stage had ended", is_moot=True),
    },
)
