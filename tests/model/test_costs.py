"""Do the lists of a fact cost their sender what they cost everybody?"""

import pytest

from controlplane.model import facts as f
from controlplane.model.costs import cost_of_lists, listed

pytestmark = pytest.mark.unit


def finished(*runs: tuple[int, int], n_tasks: int = 1_000_000) -> f.StageSubmitted:
    """A stage with runs of finished tasks."""
    return f.StageSubmitted(job="j", stage=1, stage_attempt=0, n_tasks=n_tasks, done=list(runs))


def test_a_run_costs_by_its_tasks():
    """Ten stages of a million tasks, said to be done again and again, took 25 ms for the price of twelve facts."""
    assert cost_of_lists([finished((0, 999_999))] * 10) == pytest.approx(10 * (0.1 + 100))
    assert cost_of_lists([finished((0, 0), (2, 2), (4, 5))]) == pytest.approx(0.3 + 4 / 10_000)


def test_runs_cost_by_themselves_whatever_the_fact_says_of_its_stage():
    """A stage that is known keeps its number of tasks, so a repeated fact may name a smaller one."""
    assert cost_of_lists([finished((0, 999_999), n_tasks=0)]) == pytest.approx(100.1)


@pytest.mark.parametrize(("runs", "cost"), [([(10**6, 0)], 0.1), ([(0, 2**53)], 100.1), ([(0, 10**6)] * 9, 100.9)])
def test_runs_that_will_be_refused_make_no_other_fact_cheaper_and_are_refused_as_such(runs, cost):
    """Their cost is neither negative nor beyond what a message may hold."""
    assert cost_of_lists([finished(*runs)]) == pytest.approx(cost)


@pytest.mark.parametrize(("n_chars", "elements"), [(0, 1), (1, 1), (64, 1), (65, 2), (128, 2), (129, 3), (1024, 16)])
def test_a_name_counts_once_for_each_64_characters_begun(n_chars, elements):
    """One of 256 characters takes five times the memory of a short one."""
    name = "n" * n_chars
    stage = f.StageSubmitted(
        job="j", stage=1, stage_attempt=0, n_tasks=2, preferred_hosts=[[name], ["a", name]], committers=["", name]
    )
    held = listed(stage)
    assert (held["preferred_hosts"], held["committers"]) == (2 + 1 + 2 * elements, 1 + elements)
    assert listed(f.ResourceRequested(request=1, count=1, nodes=[name, "c"])) == {"nodes": elements + 1}


def test_the_price_of_an_application_covers_a_hundred_tags():
    """Tags cost nothing, however many and long; those of ten thousand ordinary applications still fit a message."""

    def demand(n_tags: int) -> f.QueueDemand:
        tags = ["t" * 65] * n_tags
        return f.QueueDemand(slots=1, applications=[f.QueuedApplication(job="a", running=0, pending=0, tags=tags)])

    assert [cost_of_lists([demand(n)]) for n in (0, 20, 50, 100, 1000)] == [0.5, 0.5, 0.5, 1.0, 10.0]
