"""Does the tail index find the tail, with attempts that were cut short and from few samples, too?"""

import msgspec
import numpy as np
import pytest

from controlplane.estimators.tail_index import Siblings, TailIndex, TailSamples, relative_ages, tail_evidence
from controlplane.model.columns import Attempts, Pools

pytestmark = pytest.mark.unit

TRUE_INDEX = 1.4


def pareto_tail_only(n: int, seed: int) -> np.ndarray:
    """Four of five durations have nothing of a Pareto; the longest fifth is an exact Pareto tail."""
    rng = np.random.default_rng(seed)
    body = rng.uniform(0.02, 1.0, n)
    tail = 1.0 + rng.pareto(TRUE_INDEX, n)
    return np.where(rng.random(n) < 0.8, body, tail)


def observed(samples, finished=None, **settings) -> TailIndex:
    tail = TailIndex(**settings)
    for sample, end in zip(samples, np.ones(len(samples)) if finished is None else finished, strict=True):
        tail.observe(sample, bool(end))
    return tail


@pytest.mark.parametrize("seed", range(5))
def test_hill_finds_the_tail_where_the_whole_sample_misleads(seed):
    """Fitted to all durations, maximum likelihood says less than 1; what Hopper and GRASS mean is 1.4."""
    samples = pareto_tail_only(20_000, seed)
    ends, log_time = tail_evidence(samples, np.ones(len(samples), dtype=bool), n_largest=2000)
    assert ends / log_time == pytest.approx(TRUE_INDEX, abs=4 * TRUE_INDEX / np.sqrt(ends))
    assert len(samples) / np.log(samples / samples.min()).sum() < 1


@pytest.mark.parametrize("seed", range(5))
def test_the_window_gives_the_index_within_its_own_standard_error(seed):
    """By default the latest 2048 durations, a tenth of them tail, a little pull by the prior."""
    estimate = observed(pareto_tail_only(4000, seed), prior=TRUE_INDEX).estimate()
    assert estimate.tail_index == pytest.approx(TRUE_INDEX, abs=4 * estimate.standard_error)
    assert estimate.samples == 2048
    assert estimate.confidence > 0.9


@pytest.mark.parametrize("seed", range(5))
def test_attempts_that_a_copy_beat_do_not_make_the_tail_look_light(seed):
    """Cut off at four times the tail's start; counted as ends they would hide what makes copies worth it."""
    samples = pareto_tail_only(20_000, seed)
    cut, finished = np.minimum(samples, 4.0), samples < 4.0
    estimate = observed(cut, finished, window=20_000).estimate()
    assert estimate.tail_index == pytest.approx(TRUE_INDEX, abs=4 * estimate.standard_error)
    assert observed(cut, window=20_000).estimate().tail_index > TRUE_INDEX + 4 * estimate.standard_error


def test_running_attempts_count_as_not_ended():
    """Stragglers that still run make the tail heavier before any of them has ended."""
    tail = observed(pareto_tail_only(1000, seed=1))
    assert tail.estimate(running=np.full(20, 50.0)).tail_index < tail.estimate().tail_index


def test_without_samples_the_index_is_the_prior():
    """A fresh control plane has to start from something, and says that it knows nothing."""
    estimate = TailIndex(prior=1.3).estimate()
    assert (estimate.tail_index, estimate.confidence, estimate.samples) == (pytest.approx(1.3), 0.0, 0)


def test_few_samples_move_the_prior_a_little():
    """Twenty durations hold two ends: against ten of the prior."""
    estimate = observed([1.0] * 18 + [2.0, 100.0]).estimate()
    assert estimate.confidence == pytest.approx(2 / 12)
    assert 1.0 < estimate.tail_index < 1.5


def test_fewer_than_ten_samples_have_no_tail():
    """A tenth of them is none, so attempts that still run have nothing to be longer than."""
    running = np.full(20, 50.0)
    nine, ten = (observed([1.0] * n).estimate(running=running).tail_index for n in (9, 10))
    assert ten < nine == pytest.approx(1.5)


@pytest.mark.parametrize("samples", [[1.0] * 500, [0.0, -1.0, np.nan, np.inf]])
def test_equal_and_impossible_durations_give_a_number(samples):
    """Hill's estimate is infinite on ties; nothing downstream should meet that."""
    assert np.isfinite(observed(samples).estimate().tail_index)


def test_what_was_learned_survives_json_and_stays_bounded():
    """The store keeps it over a restart."""
    tail = observed(pareto_tail_only(300, seed=2), np.arange(300) % 7 > 0, window=256)
    stored = msgspec.json.decode(msgspec.json.encode(tail.dump()), type=TailSamples)
    assert len(stored.samples) == 256
    again = TailIndex(window=256)
    again.load(stored)
    assert again.dump() == stored
    assert again.estimate().tail_index == pytest.approx(tail.estimate().tail_index, rel=1e-4)


def test_a_new_tail_replaces_the_old_one():
    """A window forgets; a cluster that was repaired must not be thought sick for ever."""
    old, new = pareto_tail_only(3000, seed=3), np.random.default_rng(4).uniform(0.9, 1.1, 3000)
    assert observed([*old, *new]).estimate().tail_index > 5


@pytest.mark.parametrize("at_once", [True, False])
def test_the_order_in_which_siblings_end_does_not_bias_the_index(at_once):
    """Of tasks that start at once the longest have seen all others end, and the shortest none."""
    rng, tail = np.random.default_rng(1), TailIndex(window=100_000)
    for _ in range(2000):
        siblings, durations = Siblings(tail), 1.0 + rng.pareto(TRUE_INDEX, 50)
        for duration in np.sort(durations) if at_once else durations:
            siblings.observe(duration)
        siblings.settle()
    estimate = tail.estimate()
    assert estimate.tail_index == pytest.approx(TRUE_INDEX, abs=3 * estimate.standard_error)


def test_a_sample_is_over_the_geometric_mean_of_all_its_siblings_in_the_end():
    """Those that were killed are compared, too, but nobody is compared with them; the first is nobody's sample."""
    tail = TailIndex(window=10)
    siblings = Siblings(tail)
    for duration, finished in ((1.0, True), (2.0, True), (4.0, False), (8.0, True)):
        siblings.observe(duration, finished)
    assert tail.dump().samples == pytest.approx([2.0, 4 / 2**0.5, 8 / 2**0.5], abs=1e-6)
    siblings.settle()
    assert tail.dump().samples == pytest.approx([2 / 8**0.5, 4 / 16 ** (1 / 3), 8 / 2**0.5], abs=1e-6)
    assert tail.dump().finished == [1, 0, 1]


def test_a_sample_that_counts_no_longer_is_not_corrected():
    """Its place in the window is another's."""
    tail = observed([1.0, 2.0, 3.0], window=2)
    tail.correct(0, 9.0)
    tail.correct(1, 7.0)
    assert tail.dump().samples == [7.0, 3.0]


def test_running_attempts_are_as_old_as_their_age_over_what_a_fresh_one_would_take():
    """By pool, and only of those that are reviewed now."""
    attempts, pools = Attempts(capacity=3), Pools(capacity=2)
    attempts.alive[:], attempts.pool[:] = [True, False, True], [1, 1, 0]
    attempts.start_s[:], attempts.t_new_s[:] = 4.0, 2.0
    pools.tail_reviewed_s[:] = [9.0, 10.0]
    first, ages = relative_ages(10.0, attempts.reported, attempts.estimated, pools.estimated)
    assert (first.tolist(), ages.tolist()) == ([0, 0, 1], [3.0])
