"""Do the intervals of a bounded action hold the truth as often as they say, where slow partitions hold more?

Both rules that give a sample run here as a list scheduler would let them: partitions start in the random order, each
on the slot that is free first. That the rule which takes what ended first fails shows that these worlds are hard.
"""

import heapq
from itertools import pairwise

import numpy as np
import pytest

from spark_listener.approximation.partial import Partial
from spark_listener.approximation.stopping import Bound, drawn_by, sampled

pytestmark = pytest.mark.unit
PARTITIONS, SLOTS, SEEDS = 100, 8, 200


def a_fifth_is_slow(chance, n):
    """A fifth of the partitions takes three times as long and holds three times as much."""
    return np.where(chance.random(n) < 0.2, 3.0, 1.0) * chance.uniform(0.8, 1.2, n)


def lognormal(chance, n):
    """The largest of a hundred takes and holds three to four times the median."""
    return chance.lognormal(0.0, 0.5, n)


def exponential(chance, n):
    """Half of all is in a sixth of the partitions."""
    return chance.exponential(1.0, n)


def pareto(chance, n):
    """Tail index 2.2: the sample's error itself has no variance."""
    return 1.0 + chance.pareto(2.2, n)


def scheduled(order, took_s):
    """By partition, when it starts and when it ends."""
    free, starts_s, ends_s = [0.0] * SLOTS, {}, {}
    for partition in order:
        starts_s[partition] = heapq.heappop(free)
        ends_s[partition] = starts_s[partition] + took_s[partition]
        heapq.heappush(free, ends_s[partition])
    return starts_s, ends_s


def by_error(share, seed, took_s):
    """Seen are the partitions that were drawn."""
    order = Bound(error=1.0 - share, is_random=True, seed=seed).order(len(took_s))
    return set(order), order


def by_deadline(share, seed, took_s):
    """The deadline is when that share of the work is done."""
    bound = Bound(within_s=share * took_s.sum() / SLOTS, is_random=True, seed=seed)
    order = bound.order(len(took_s))
    starts_s, ends_s = scheduled(order, took_s)
    seen = {partition for partition, end_s in ends_s.items() if end_s <= bound.within_s}
    started, ended = (sum(at_s <= bound.draws_at_s() for at_s in each.values()) for each in (starts_s, ends_s))
    return seen, sampled(order, drawn_by(started, ended, len(took_s)), seen)


def what_ended_first(share, seed, took_s):
    """The rule that nobody should use: all that has ended by the deadline, as if it were a sample."""
    seen, _ = by_deadline(share, seed, took_s)
    return seen, tuple(seen)


def covered(world, rule, share, partitions=PARTITIONS, seeds=SEEDS):
    """By estimate, the share of intervals that hold the truth; and how many there are."""
    held = {"count": [], "sum": [], "mean": []}
    for seed in range(seeds):
        chance = np.random.default_rng([seed, 7])
        took_s = world(chance, partitions)
        rows = np.round(100 * took_s)
        sums = rows * chance.uniform(1.0, 2.0, partitions)
        seen, sample = rule(share, seed, took_s)
        answers = {each: (int(rows[each]), ((int(rows[each]), float(sums[each])),)) for each in seen}
        partial = Partial(partitions=partitions, columns=("value",), answers=answers, sample=sample)
        assert not partial.is_complete
        truths = {"count": rows.sum(), "sum": sums.sum(), "mean": sums.sum() / rows.sum()}
        for name, found in (("count", partial.count), ("sum", partial.sum()), ("mean", partial.mean())):
            if found.withheld is None:
                held[name].append(found.low <= truths[name] <= found.high)
    return {name: sum(each) / max(len(each), 1) for name, each in held.items()}, len(held["count"])


@pytest.mark.parametrize("share", [0.5, 0.8])
@pytest.mark.parametrize("rule", [by_error, by_deadline])
@pytest.mark.parametrize(
    ("world", "least_given"), [(a_fifth_is_slow, 0.9), (lognormal, 0.9), (exponential, 0.6), (pareto, 0.6)]
)
def test_an_interval_holds_the_truth_where_slow_partitions_hold_more(world, least_given, rule, share):
    """With heavy tails some deadlines have no sample; an error bound always has one."""
    shares, given = covered(world, rule, share)
    assert given >= (least_given if rule is by_deadline else 1.0) * SEEDS
    assert min(shares.values()) >= 0.93, shares


@pytest.mark.parametrize(
    ("rule", "share", "partitions"), [(by_error, 0.8, 25), (by_error, 0.5, 40), (by_deadline, 0.5, 80)]
)
@pytest.mark.parametrize("world", [a_fifth_is_slow, lognormal, exponential, pareto])
def test_the_smallest_samples_that_give_an_interval_hold_the_truth_as_often(world, rule, share, partitions):
    shares, given = covered(world, rule, share, partitions)
    assert given > 0.3 * SEEDS
    assert min(shares.values()) >= 0.93, shares


@pytest.mark.parametrize(("rule", "share", "partitions"), [(by_error, 0.8, 23), (by_deadline, 0.8, 79)])
def test_smaller_ones_give_none(rule, share, partitions):
    assert covered(lognormal, rule, share, partitions, seeds=20)[1] == 0


@pytest.mark.parametrize("share", [0.5, 0.8])
@pytest.mark.parametrize("world", [exponential, pareto])
def test_what_ended_first_is_no_sample(world, share):
    """In the same worlds, so that the test above says something."""
    shares, _ = covered(world, what_ended_first, share)
    assert shares["count"] < 0.88, shares
    assert shares["sum"] < 0.88, shares


def test_a_random_order_starts_each_partition_once_and_each_seed_its_own():
    orders = [Bound(within_s=1.0, is_random=True, seed=seed).order(PARTITIONS) for seed in (1, 2, 1)]
    assert all(sorted(order) == list(range(PARTITIONS)) for order in orders)
    assert orders[0] == orders[2]
    assert all(one != other for one, other in pairwise(orders))
