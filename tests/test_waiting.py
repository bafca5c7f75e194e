"""Does a test that waits in vain say for what?"""

import asyncio

import pytest

from tests.waiting import eventually, in_time

pytestmark = pytest.mark.unit


def test_the_first_true_answer_comes_back():
    """Whoever waits for something wants to have it."""
    answers = iter(["", 0, "there"])
    assert eventually(lambda: next(answers), every_s=0.0) == "there"


def test_what_never_holds_is_an_error_that_quotes_it():
    """A False that nobody asserts would let the test pass."""
    with pytest.raises(AssertionError, match=r"not within 0 s: .*never=1.*: the log"):
        eventually(lambda never=1: not never, within_s=0.0, about=lambda: "the log")


def test_the_same_on_an_event_loop():
    with pytest.raises(AssertionError, match=r"not within 0 s: .*never=1"):
        asyncio.run(in_time(lambda never=1: not never, within_s=0.0))
