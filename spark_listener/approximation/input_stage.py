"""Which queries can be bounded, and how does each of their partitions answer by itself?

Only chains whose result stage reads the input: each partition can then be left out by itself. A shuffle needs the
output of every map task, and a limit or a sort needs all partitions, so these are refused. A DataFrame is asked by its
physical plan, planned without adaptive execution, which would run the shuffles before anybody could look; and every
query by its lineage, where a persisted RDD ends the search once all of it is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark import RDD, SparkContext
    from pyspark.sql import DataFrame

    from spark_listener.approximation.on_executors import Answer

ELEMENTS = "value"
"""What the column of an RDD is called; Spark's own name for it in a DataFrame."""
SHUFFLED = "each of its partitions needs all of the input"
NEEDING_ALL = {
    "ShuffleExchange": SHUFFLED,
    "CollectLimit": "it has a limit",
    "GlobalLimit": "it has a limit",
    "LocalLimit": "it has a limit",
    "CollectTail": "it has a limit",
    "TakeOrdered": "it has a limit",
}
"""What is in the name of a physical operator that cannot be bounded, and why."""


class NotBoundable(ValueError):
    """A query that cannot be answered by some of its partitions."""

    def __init__(self, operator: str, why: str) -> None:
        super().__init__(f"query: {operator} cannot be bounded: {why}; only a chain from the input to the result can")
        self.operator = operator


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A query whose partitions answer by themselves."""

    context: SparkContext
    rdd: RDD[Any]
    """What its tasks compute."""
    answer: Callable[[Iterator[Any]], Answer]
    """What a task makes of its partition."""
    columns: tuple[str, ...]
    prune: Callable[[list[int]], RDD[Any]] | None
    """An RDD of some of its partitions; None of a DataFrame."""


def query_of(asked: RDD[Any] | DataFrame) -> Query:
    """The query that a user wants bounded; nothing of it runs yet, but what it broadcasts.

    Raises NotBoundable, and TypeError for what is neither an RDD nor a DataFrame.
    """
    from pyspark import RDD
    from pyspark.sql import DataFrame

    if isinstance(asked, DataFrame):
        found = _of_data_frame(asked)
    elif isinstance(asked, RDD):
        found = _of_rdd(asked)
    else:
        raise TypeError(f"query: got {type(asked).__name__}, want a DataFrame or an RDD")
    _refuse_lineage(found)
    return found


def _of_rdd(rdd: RDD[Any]) -> Query:
    from spark_listener.approximation.on_executors import answer_of_elements

    def prune(partitions: list[int]) -> RDD[Any]:
        return pruned(rdd, partitions)

    return Query(context=rdd.context, rdd=rdd, answer=answer_of_elements, columns=(ELEMENTS,), prune=prune)


def pruned(rdd: RDD[Any], partitions: list[int]) -> RDD[Any]:
    """An RDD of these partitions alone; no task starts for any other."""
    from pyspark import RDD

    jvm = rdd.context._jvm
    assert jvm is not None
    kept = jvm.PythonUtils.toSeq(partitions).toSet()
    java = jvm.org.apache.spark.rdd.PartitionPruningRDD.create(rdd._jrdd.rdd(), kept).toJavaRDD()
    return RDD(java, rdd.context, rdd._jrdd_deserializer)


def _of_data_frame(frame: DataFrame) -> Query:
    from pyspark.sql.types import NumericType

    from spark_listener.approximation.on_executors import answer_of_aggregate

    if frame.isStreaming:
        raise NotBoundable("a streaming query", "its input has no end")
    _refuse_plan(_planned(frame._jdf, frame._jdf.queryExecution().sparkPlan()))
    places = [at for at, field in enumerate(frame.schema.fields) if isinstance(field.dataType, NumericType)]
    columns = tuple(frame.schema.fields[at].name for at in places)
    if len(set(columns)) < len(columns):
        raise ValueError(f"query: two of its numeric columns have the same name: {', '.join(columns)}")
    return Query(
        context=frame.sparkSession.sparkContext,
        rdd=_aggregated(frame, places),
        answer=answer_of_aggregate,
        columns=columns,
        prune=None,
    )


def _aggregated(frame: DataFrame, places: list[int]) -> RDD[Any]:
    """One row for each partition: its rows, then of each column the values that are not null and their sum.

    They are Spark's own, compiled with the query: of an aggregate over all rows, the half that would put the
    partitions' sums together asks for no exchange, so it completes those of each partition by itself.
    """
    from pyspark.sql import DataFrame
    from pyspark.sql import functions as sql

    plain = frame.toDF(*(f"c{at}" for at in range(len(frame.columns))))
    of_columns = [of(f"c{at}") for at in places for of in (sql.count, sql.sum)]
    wanted = plain.agg(sql.count(sql.lit(1)), *of_columns)
    names = [f"a{at}" for at in range(len(wanted.columns))]
    planned = wanted.toDF(*names)._jdf
    by_partition = _planned(planned, _without_exchange(frame.sparkSession.sparkContext, planned))
    rows = planned.sparkSession().internalCreateDataFrame(by_partition.execute(), planned.schema(), False)
    return DataFrame(rows, frame.sparkSession).rdd


def _without_exchange(context: SparkContext, planned: JavaObject) -> JavaObject:
    """The physical plan of an aggregate over all rows, whose second half takes each partition by itself.

    Raises NotBoundable where a source has taken the aggregate over.
    """
    jvm, gateway = context._jvm, context._gateway
    assert jvm is not None
    assert gateway is not None
    final = planned.queryExecution().sparkPlan()
    if "AggregateExec" not in _name(final) or "AggregateExec" not in _name(final.child()):
        raise NotBoundable(_name(final), "its source aggregates by itself")
    arguments = gateway.new_array(jvm.java.lang.Object, final.productArity())
    for at in range(final.productArity()):
        arguments[at] = final.productElement(at)
    arguments[0] = jvm.scala.Option.empty()  # requiredChildDistributionExpressions
    return final.makeCopy(arguments)


def _planned(query: JavaObject, physical: JavaObject) -> JavaObject:
    """A physical plan made ready to run, with its exchanges and without adaptive execution."""
    from pyspark import SparkContext

    jvm = SparkContext._jvm
    assert jvm is not None
    execution = getattr(getattr(jvm.org.apache.spark.sql.execution, "QueryExecution$"), "MODULE$")
    with _active(query.sparkSession()):
        rules = execution.preparations(query.sparkSession(), jvm.scala.Option.empty(), False)
        return execution.prepareForExecution(rules, physical)


@contextmanager
def _active(session: JavaObject) -> Iterator[None]:
    """Makes it the session of the JVM's thread, which new operators of a plan belong to, for the time of the `with`."""
    before = session.getActiveSession()
    session.setActiveSession(session)
    try:
        yield
    finally:
        if before.isDefined():
            session.setActiveSession(before.get())
        else:
            session.clearActiveSession()


def _refuse_plan(plan: JavaObject) -> None:
    """Raises NotBoundable for an operator that needs all partitions."""
    name = _name(plan)
    for part, why in NEEDING_ALL.items():
        if part in name:
            raise NotBoundable(name, why)
    if name == "SortExec" and getattr(plan, "global")():
        raise NotBoundable(name, "it sorts all rows")
    for child in _all(plan.children()):
        _refuse_plan(child)


def _refuse_lineage(query: Query) -> None:
    """Raises NotBoundable where the stage reads a shuffle, or starts all of its tasks together."""
    last = query.rdd._jrdd.rdd()
    if last.isBarrier():
        raise NotBoundable("a barrier stage", "its tasks run together or not at all")
    stored = _stored(query.context)
    waiting, known = [last], {last.id()}
    while waiting:
        rdd = waiting.pop()
        if rdd.id() in stored:
            continue
        for dependency in _all(rdd.dependencies()):
            if "ShuffleDependency" in _name(dependency):
                raise NotBoundable(_name(rdd), SHUFFLED)
            if dependency.rdd().id() not in known:
                known.add(dependency.rdd().id())
                waiting.append(dependency.rdd())


def _stored(context: SparkContext) -> set[int]:
    """The ids of persisted RDDs all of whose partitions are stored."""
    infos = context._jsc.sc().getRDDStorageInfo()
    return {info.id() for info in infos if info.numCachedPartitions() == info.numPartitions()}


def _all(sequence: JavaObject) -> Iterator[JavaObject]:
    return (sequence.apply(at) for at in range(sequence.size()))


def _name(node: JavaObject) -> str:
    return str(node.getClass().getSimpleName())
