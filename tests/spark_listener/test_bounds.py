"""Do deadline(), error_bound() and speculator() set what the shim reads, inside the `with`, and refuse the rest?"""

from datetime import timedelta

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark import SparkContext

from spark_listener import deadline, error_bound, speculator

pytestmark = pytest.mark.unit


class Context:
    """A SparkContext's local properties, of one thread."""

    def __init__(self) -> None:
        self.properties: dict[str, str | None] = {}
        self.ended: Exception | None = None

    def getLocalProperty(self, name):  # noqa: N802  # PySpark's name
        return self.properties.get(name)

    def setLocalProperty(self, name, value):  # noqa: N802
        if self.ended:
            raise self.ended
        self.properties[name] = value


@pytest.fixture
def context(monkeypatch):
    context = Context()
    monkeypatch.setattr(SparkContext, "_active_spark_context", context)
    return context


@pytest.fixture
def properties(context):
    return context.properties


@pytest.mark.parametrize(
    ("within", "want"),
    [
        ("90s", "90000ms"),
        (" 5MIN ", "300000ms"),
        ("1h", "3600000ms"),
        ("11574d", "999993600000ms"),
        ("1500us", "1ms"),
        (timedelta(seconds=1.5), "1500ms"),
    ],
)
def test_a_deadline_holds_inside_and_is_gone_afterwards(properties, within, want):
    with deadline(within):
        assert properties["spark.grasshopper.deadline"] == want
    assert properties["spark.grasshopper.deadline"] is None


def test_an_inner_bound_gives_way_to_the_outer_one_even_if_the_job_fails(properties):
    seen = []

    def job():
        with deadline("5s"):
            seen.append(properties["spark.grasshopper.deadline"])
            raise ZeroDivisionError

    with deadline("90s"), error_bound(0.1):
        with pytest.raises(ZeroDivisionError):
            job()
        assert seen == ["5000ms"]
        assert properties == {"spark.grasshopper.deadline": "90000ms", "spark.grasshopper.error.bound": "0.100000"}


@pytest.mark.parametrize(
    "within", ["", "90", "1.5s", "-5s", "0s", "5parsecs", "99999999999999d", 90, None, timedelta(0)]
)
def test_a_deadline_that_is_none_is_refused_where_it_is_set(properties, within):
    want = r"want a number with a unit \(ms, s, m or min, h, d\), as in .* at most 11574d$"
    with pytest.raises(ValueError, match="deadline: got .*" + want), deadline(within):
        pass
    assert not properties


@pytest.mark.parametrize("share", [-0.1, 1, 1.0, 0.9999996, float("nan"), "0.1", True, None])
def test_an_error_bound_that_is_none_is_refused_where_it_is_set(properties, share):
    with pytest.raises(ValueError, match="error_bound: got"), error_bound(share):
        pass
    assert not properties


def test_a_speculator_is_named_inside(properties):
    with speculator("shed-plus"):
        assert properties["spark.grasshopper.speculator"] == "shed-plus"
    assert properties["spark.grasshopper.speculator"] is None


@pytest.mark.parametrize("name", ["", "hopper+ras", "ras,grass", "two words", "x" * 65, None, 3])
def test_what_is_no_name_of_a_speculator_is_refused_where_it_is_set(properties, name):
    """A pair, a list, or nothing at all; whether there is such a speculator only the control plane knows."""
    with pytest.raises(ValueError, match="speculator: got"), speculator(name):
        pass
    assert not properties


def test_without_a_context_it_says_so(monkeypatch):
    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    with pytest.raises(RuntimeError, match="no SparkContext"), deadline("90s"):
        pass


ENDS = [
    AttributeError("'NoneType' object has no attribute 'setLocalProperty'"),
    Py4JNetworkError("Answer from Java side is empty"),
    Py4JError("An error occurred while calling o20.setLocalProperty"),
    ConnectionRefusedError(111, "Connection refused"),
]
"""What PySpark raises where the context is stopped, and where its JVM has died."""


@pytest.mark.parametrize("bound", [lambda: deadline("5s"), lambda: error_bound(0.1), lambda: speculator("grass")])
@pytest.mark.parametrize("ended", ENDS, ids=lambda ended: type(ended).__name__)
def test_a_context_that_ends_inside_hides_no_error_of_the_users(context, bound, ended):
    """The user must see the job's own error, not one of the reset."""

    def job():
        with bound():
            context.ended = ended
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        job()


@pytest.mark.parametrize("ended", ENDS, ids=lambda ended: type(ended).__name__)
def test_a_session_may_be_stopped_inside(context, ended):
    """There is nothing to put back then."""
    with deadline("5s"):
        context.ended = ended
