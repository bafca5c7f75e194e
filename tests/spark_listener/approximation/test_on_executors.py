"""Do tasks answer where this package is not installed?"""

import subprocess
import sys

import pytest
from pyspark import Accumulator, accumulators, cloudpickle

from spark_listener.approximation import on_executors

pytestmark = pytest.mark.unit
ELSEWHERE = """
import pickle, sys
sys.modules["spark_listener"] = None
print(list(pickle.loads(sys.stdin.buffer.read())(3, [1, 2.5])))
"""


@pytest.fixture
def accumulator():
    yield (told := Accumulator(-1, {}, on_executors.Answers()))
    del accumulators._accumulatorRegistry[told.aid]


def test_executors_need_not_have_this_package(accumulator):
    """They have Spark, by `attach()` alone."""
    function = cloudpickle.dumps(on_executors.answering(accumulator, on_executors.answer_of_elements))
    told = subprocess.run([sys.executable, "-c", ELSEWHERE], input=function, capture_output=True, check=False)
    assert told.stdout.decode().strip() == "[(3, (2, ((2, 3.5),)))]", told.stderr.decode()


def test_an_answer_goes_to_the_accumulator_and_to_the_job(accumulator):
    accumulator.add({0: (1, ((1, 1),))})
    assert list(on_executors.answering(accumulator, on_executors.answer_of_elements)(3, [1, 2])) == [
        (3, (2, ((2, 3),)))
    ]
    assert accumulator.value == {0: (1, ((1, 1),)), 3: (2, ((2, 3),))}


def test_a_row_of_sums_is_read_to_the_end():
    """Spark ends a Python worker that has not; starting one for each partition made a query ten times as long."""
    ends = []

    def rows():
        yield 9, 8, 2.5
        ends.append("read")

    assert on_executors.answer_of_aggregate(rows()) == (9, ((8, 2.5),))
    assert ends


def test_a_sum_is_what_rdd_sum_has_for_the_partition():
    """Python's own sum, which compensates floats from 3.12 on."""
    values = [0.1] * 10
    assert on_executors.answer_of_elements(iter(values)) == (10, ((10, sum(values)),))


def test_what_is_no_number_after_numbers_fails_the_task():
    """As in `RDD.sum`; half a sum would be silently wrong."""
    with pytest.raises(TypeError):
        on_executors.answer_of_elements(iter([1, "two"]))
