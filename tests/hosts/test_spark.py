"""Which stages may run twice? Every way in which Spark hands in output, and what the gate makes of it."""

import pytest

from controlplane.hosts.spark import FOREACH, verdict
from controlplane.model.facts import StageSubmitted
from controlplane.model.reasons import Reason

pytestmark = pytest.mark.unit

SQL_FILES = "org.apache.spark.sql.execution.datasources.FileFormatWriter"
RDD_FILES = "org.apache.spark.internal.io.SparkHadoopWriter"
QUERY_PLAN = "org.apache.spark.sql.execution.SparkPlan"
DATA_SOURCE = "org.apache.spark.sql.execution.datasources.v2.V2TableWriteExec"
SQL_PROTOCOL = "org.apache.spark.sql.execution.datasources.SQLHadoopMapReduceCommitProtocol"
RDD_PROTOCOL = "org.apache.spark.internal.io.HadoopMapReduceCommitProtocol"
HADOOP = "org.apache.hadoop.mapreduce.lib.output."
S3A = "org.apache.hadoop.fs.s3a.commit."


def judged(writer: str, *committers: str, coordinated: bool = True) -> Reason:
    """The verdict on a result stage that saves by this writer."""
    return verdict(
        StageSubmitted(
            job="j", stage=1, stage_attempt=0, n_tasks=1, kind="result", action="save",
            writer=writer, committers=list(committers), commit_coordinated=coordinated,
        )
    ).reason  # fmt: skip


@pytest.mark.parametrize("writer", [SQL_FILES, RDD_FILES])
@pytest.mark.parametrize(
    "committer", [f"{HADOOP}FileOutputCommitter", f"{S3A}magic.MagicS3GuardCommitter",
                  f"{S3A}staging.DirectoryStagingCommitter"],
)  # fmt: skip
def test_files_under_a_committer_that_waits_for_the_driver_are_safe(writer, committer):
    """An attempt that the driver does not let commit leaves nothing; a directory in the name is not a direct commit."""
    assert judged(writer, SQL_PROTOCOL, committer) is Reason.NONE


@pytest.mark.parametrize(
    "committers",
    [
        (SQL_PROTOCOL, "com.example.s3.DirectParquetOutputCommitter"),
        (RDD_PROTOCOL, "org.apache.hadoop.mapred.DirectFileOutputCommitter"),
        ("com.example.DirectCommitProtocol",),
    ],
)
def test_a_direct_committer_is_unsafe(committers):
    """What it writes is in its final place before anybody could say no; two attempts would write over each other."""
    assert judged(SQL_FILES, *committers) is Reason.UNSAFE_OUTPUT


@pytest.mark.parametrize(
    "committers",
    [
        (),
        (SQL_PROTOCOL, "com.example.OwnCommitter"),
        ("com.example.OwnProtocol", f"{HADOOP}FileOutputCommitter"),
        (RDD_PROTOCOL, f"{HADOOP}NullOutputFormat$2"),
    ],
)
def test_a_committer_that_nobody_has_looked_at_is_unknown(committers):
    """A protocol may commit without asking the driver, whatever committer it drives; so both must be known."""
    assert judged(SQL_FILES, *committers) is Reason.UNKNOWN_OUTPUT


@pytest.mark.parametrize("writer", [SQL_FILES, RDD_FILES, DATA_SOURCE])
def test_without_coordination_nothing_that_is_written_is_safe(writer):
    """The user has switched coordination off, or the data source does without it: both attempts would commit."""
    assert judged(writer, SQL_PROTOCOL, f"{HADOOP}FileOutputCommitter", coordinated=False) is Reason.UNSAFE_OUTPUT


def test_a_data_source_that_asks_the_driver_is_safe():
    """Spark's commit coordinator lets one attempt of each task commit, whatever the source writes to."""
    assert judged(DATA_SOURCE) is Reason.NONE


@pytest.mark.parametrize(
    ("writer", "word"),
    [(QUERY_PLAN, Reason.NONE), ("org.apache.spark.rdd.RDD", Reason.UNKNOWN_OUTPUT)],
)
def test_a_query_that_returns_its_rows_is_safe_however_it_is_called(writer, word):
    """In a thread that inherits local properties the call has the name of PySpark's wrapper, which hides anything."""
    stage = StageSubmitted(
        job="j", stage=1, stage_attempt=0, n_tasks=1, kind="result", action="copy_local_properties", writer=writer
    )
    assert verdict(stage).reason is word


def test_rows_given_to_a_function_are_unsafe_though_the_call_is_named_like_one_that_returns():
    """PySpark may leave a thread with the call site of an earlier call."""
    place = {"job": "j", "stage": 1, "stage_attempt": 0, "n_tasks": 1, "kind": "result", "action": "collect"}
    words = [verdict(StageSubmitted(**place, writer=writer)).reason for writer in (FOREACH, "org.apache.spark.rdd.RDD")]
    assert words == [Reason.UNSAFE_OUTPUT, Reason.NONE]
