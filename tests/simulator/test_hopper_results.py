"""Do Hopper's experiments come to what they are known to come to? Small runs, all policies on the same jobs and luck.

Each row is computed from its own points alone. Its size is that of a larger run, within three standard errors; what it
says is asserted by signs and wide bounds, which two seeds of small runs keep to. No figure of the paper is confirmed.
"""

import json
from functools import cache
from itertools import pairwise
from statistics import median
from typing import ClassVar

import numpy as np
import pytest

from controlplane.simulator.experiments.experiment import Scale
from controlplane.simulator.experiments.hopper import claims, examples, fairness, gains, learned, locality, tried
from controlplane.simulator.experiments.hopper.comparisons import (
    LARGE,
    SEVERAL,
    SURE,
    at_middle,
    clear,
    found,
    job_gains,
)
from controlplane.simulator.experiments.hopper.comparisons import gains as gains_of
from controlplane.simulator.experiments.hopper.conditions import (
    BING_LIKE,
    DURATIONS,
    EAGER,
    FACEBOOK,
    HOPPER,
    LAST,
    LOADS,
    NO_CAP,
    PRIO,
    PRIO_EAGER,
    WORLDS,
    at_loads,
)
from controlplane.simulator.experiments.points import Point
from controlplane.simulator.experiments.points.learning import SHARES
from tests.simulator.hopper_sizes import (
    BY_ID,
    EXPECTED,
    HALF_SHARED,
    HALF_SHARED_3,
    OWN,
    OWN_3,
    ROUNDED,
    ROWS,
    SEEDS,
    Measuring,
    measured,
)

pytestmark = pytest.mark.unit


class OfTheirKind(Measuring):
    """Every point comes to what the first of its kind with as many jobs came to, on each of its seeds."""

    first: ClassVar[dict] = {}

    def __call__(self, point: Point) -> list:
        assert self.has(point)
        kind = type(point), getattr(getattr(point, "scenario", point), "jobs", None)
        if kind not in self.first:
            self.first[kind] = point.measure(1)
        return [self.first[kind]] * point.runs


@cache
def results_of(name: str) -> Measuring:
    """On the two seeds of a small run."""
    return Measuring(name)


@pytest.mark.parametrize("name", BY_ID)
def test_a_row_is_judged_by_its_own_points(name):
    """So that it can be run alone; and every claim and note has its numbers."""
    found = BY_ID[name].finding(OfTheirKind(name))
    assert found.claims or found.notes
    assert all(claim.numbers for claim in found.claims)
    assert found.stand_in is bool(BY_ID[name].stand_in)


@pytest.mark.parametrize("name", ROWS)
def test_a_row_comes_to_what_a_larger_run_came_to(name):
    """Within three standard errors of 16 seeds, 1 to 16; each seed's policies have the same jobs and luck.

    The larger run has the same small jobs and clusters on seeds 1001 to 1100. `python -m tests.simulator.hopper_sizes`
    wrote its means to hopper_sizes.json, with their own standard errors, which are about 0.4 times as large.
    """
    expected = json.loads(EXPECTED.read_text())[name]
    ours = measured(name, SEEDS)
    assert ours.keys() == expected.keys()
    off = {label: (abs(one.mean - expected[label][0]), one.error) for label, one in ours.items()}
    assert {label: each for label, each in off.items() if not each[0] <= SURE * each[1] + ROUNDED} == {}


def test_rows_whose_size_is_not_tested_have_no_chance_in_them():
    """One trace, or two jobs whose durations are printed."""
    assert BY_ID.keys() - ROWS.keys() == {"fair-example", "transfer-ratio", "table-1"}


def test_lates_cap_bounds_its_copies_and_nothing_else():
    """A tenth of the slots with it; without it more tasks have a copy."""
    results = results_of("copies")
    for source in (FACEBOOK, BING_LIKE):
        for world in DURATIONS.values():
            at = at_middle(results, source, world)
            capped, free = (found(results, at, world, one) for one in (PRIO, {**PRIO, **NO_CAP}))
            assert all(one.copy_share <= 0.1 for one in capped)
            assert all(a.copies_per_task < b.copies_per_task for a, b in zip(capped, free, strict=True))


def test_the_slowest_task_is_what_the_law_and_the_attempts_make_it():
    """A tail that starts at 1.15 with a tenth of the draws is 1.15 * 0.1^(1 / 1.5) as long; a third attempt helps."""
    results = results_of("slowest-task")

    def times(law: str, name: str, tasks: int) -> float:
        return median(results(claims._slowest(Scale.SMOKE, law, claims.SPECULATORS[name], tasks)))

    pure, tenth, long = claims.LAWS
    for tasks in claims.SLOWEST_TASKS:
        longest = [times(law, "no copies", tasks) for law in (pure, tenth)]
        in_s = longest[0] * (0.05 + 2 ** (1 / 1.5)) - 0.05, longest[1] * (0.05 + 1.15 - 0.3 * 0.4 / 0.9) - 0.05
        assert in_s[1] / in_s[0] == pytest.approx(1.15 * 0.1 ** (1 / 1.5), rel=1e-3)
        for law in claims.LAWS:
            assert 1.08 < times(law, "RAS, 3 attempts", tasks) <= times(law, "RAS, 2 attempts", tasks)
            assert times(law, "RAS, 2 attempts", tasks) < 0.35 * times(law, "no copies", tasks)
        assert times(long, "RAS, 3 attempts", tasks) < 1.5


def test_fair_sharing_ends_the_examples_jobs_when_best_effort_does():
    """20 and 30, not 12 and 22."""
    (ends_s,) = results_of("fair-example")(claims._fair_example())
    assert ends_s == [20.0, 30.0]


def test_fewer_jobs_are_slower_than_under_fair_sharing_than_where_copies_come_last():
    """Hopper's promise of fairness holds where Last has none; the median job is as long either way."""
    results = results_of("over-fair")
    for world in (OWN, OWN_3, HALF_SHARED, HALF_SHARED_3):
        at = at_middle(results, FACEBOOK, world)
        ours, last = (job_gains(results, one, claims.FAIR, at, world) for one in (HOPPER, LAST))
        assert ours.slowed_share < 0.6 * last.slowed_share
        assert abs(ours.quantiles[2]) < 0.005
        assert last.mean < ours.mean


def test_transfers_are_foretold_less_well_than_the_paper_has_it():
    """One trace, no chance."""
    (accuracy,) = results_of("transfer-ratio")(learned.transfer_points(Scale.SMOKE)[0])
    every = accuracy["recurring"] + accuracy["new"]
    assert [np.mean(accuracy["recurring"]), np.mean(every)] == pytest.approx([0.69, 0.36], abs=0.01)


def test_all_durations_teach_the_tail_index_and_the_latest_512_only_nearly():
    """At the end, that is: from the few jobs before, a small run learns it from a few hundred tasks."""
    results = results_of("tail-index")
    for at_once in (False, True):
        window, every = (
            np.abs(np.array(results(learned._tail(Scale.SMOKE, at_once, kept)))[:, SHARES.index(1.0)]).mean()
            for kept in learned.WINDOWS.values()
        )
        assert every < 0.05
        assert every < window < 0.2


@pytest.mark.parametrize("name", examples.KNEE_SPECULATORS)
@pytest.mark.parametrize("tail_index", examples.KNEE_TAIL_INDICES)
def test_another_slot_is_worth_much_up_to_one_a_task_and_little_beyond(name, tail_index):
    """The completion time's knee: not at 2 / tail_index where that is 1.43, nor where the work alone has it, at 0.4."""
    results, speculator = results_of("figure-3"), examples.KNEE_SPECULATORS[name]
    runs = np.array(
        [
            [one["response_s"] for one in results(examples._one_job(Scale.SMOKE, tail_index, speculator, slots))]
            for slots in examples.SLOTS_PER_TASK
        ]
    )
    mean_s = dict(zip(examples.SLOTS_PER_TASK, runs.mean(axis=1), strict=True))
    assert 0.7 < examples.knee_of(runs.mean(axis=1)) < 1.3
    assert mean_s[0.5] - mean_s[1.0] > 4 * (mean_s[1.1] - mean_s[2.0])


def test_copies_that_come_last_lose_and_a_third_attempt_gains():
    """Figure 6, at all loads that keep most slots busy; hardly where half of the tasks are slow whatever runs them."""
    results = results_of("figure-6")
    for at in at_loads(FACEBOOK, LOADS[2:]):
        assert gains_of(results, HOPPER, LAST, at, OWN).mean > 0.03
        assert gains_of(results, HOPPER, PRIO, at, OWN).mean < 0
        third, second = (gains_of(results, PRIO_EAGER, PRIO, at, world).mean for world in (OWN_3, OWN))
        assert third > second + 0.08
        assert 0 < second < 0.1
        for world in (HALF_SHARED, HALF_SHARED_3):
            assert abs(gains_of(results, HOPPER, PRIO, at, world).mean) < 0.05


def test_bing_like_jobs_come_in_bursts_that_make_slots_short():
    """Figure 6 for the other workload: where copies stand in the queue makes a difference."""
    results = results_of("figure-6")
    for at in at_loads(BING_LIKE, LOADS[-3:]):
        assert gains_of(results, LAST, PRIO, at, OWN).mean < -0.005


def test_large_jobs_lose_by_hoppers_slots_and_gain_by_a_third_attempt():
    """Figure 7, Facebook's jobs of more than 500 tasks and of more than one."""
    results = results_of("figure-7")
    at = at_middle(results, FACEBOOK, OWN)
    assert gains_of(results, HOPPER, PRIO, at, OWN, size=LARGE).mean < -0.05
    assert gains_of(results, EAGER, PRIO, at, OWN_3, size=LARGE).mean > 0.1
    of_several, of_all = (gains_of(results, EAGER, PRIO, at, OWN_3, size=size).mean for size in (SEVERAL, None))
    assert of_several > of_all > 0.05


def test_most_single_jobs_gain_nothing_and_a_tenth_of_them_much():
    """Figure 8a, Hopper with RAS and three attempts over Last."""
    results = results_of("figure-8a")
    one = job_gains(results, EAGER, LAST, at_middle(results, FACEBOOK, OWN_3), OWN_3)
    assert abs(one.quantiles[2]) < 0.01
    assert one.quantiles[-1] > 0.25


def test_longer_chains_gain_less_where_copies_help():
    """Figure 8b, with RAS over Prio; clear at each length, and more with a third attempt."""
    results = results_of("figure-8b")
    by_cap = {}
    for name, world in (("2", OWN), ("3", OWN_3)):
        each = [gains_of(results, EAGER, PRIO, at_middle(results, chain, world), world) for chain in gains.CHAINS]
        assert all(map(clear, each))
        assert all(a.mean > b.mean for a, b in pairwise(each))
        by_cap[name] = each
    assert all(three.mean > 2 * two.mean for two, three in zip(by_cap["2"], by_cap["3"], strict=True))


def test_every_speculator_gains_over_copies_that_come_last():
    """Figure 9, Mantri least; over copies at their job's priority none does by more than a point."""
    results = results_of("figure-9")
    at = at_middle(results, FACEBOOK, OWN)
    over_last, over_prio = (
        {name: gains_of(results, ours, base, at, OWN).mean for name, ours, base in gains._speculators(base_name)}
        for base_name in ("Last", "Prio")
    )
    assert min(over_last["LATE"], over_last["GRASS's RAS"]) > 0.05 > over_last["Mantri"] > 0
    assert max(over_prio.values()) < 0.01


def test_unfairness_buys_nothing_and_hurts_some():
    """Figure 10: without any promise of fairness jobs are longer, and at 10 % more than 4 % of them are slower."""
    results, ours = results_of("figure-10"), fairness._with_epsilon
    for world, least in ((OWN, 0.01), (OWN_3, 0.01), (HALF_SHARED, 0.0)):
        at = at_middle(results, FACEBOOK, world)
        assert gains_of(results, ours(1.0), ours(0.0), at, world).mean < -least
        assert abs(gains_of(results, ours(0.1), ours(0.0), at, world).mean) < 0.01
        assert job_gains(results, ours(0.1), ours(0.0), at, world).slowed_share > 0.04


def test_the_locality_rule_brings_tasks_to_their_input():
    """Figure 13: most of all under Prio, which holds no slots, and so has fewer places to choose from than Hopper."""
    results, load = results_of("figure-13"), locality.LOADS["offered load 1"]
    for world in WORLDS.values():
        none, most = (locality._allowing(PRIO, share) for share in (0.0, 20.0))
        shares = [locality._local_share(results, one, {**load, **world}).mean for one in (none, most)]
        assert shares[0] + 0.002 < shares[1]
        assert gains_of(results, most, none, load, world).mean > 0
        assert gains_of(results, locality._allowing(HOPPER, 0.0), none, load, world).mean > 0


def test_more_jobs_come_while_slots_are_short_under_hopper():
    """The statement on Guideline 2: Hopper counts virtual sizes, and holds slots."""
    results = results_of("guidelines")
    at = at_loads(FACEBOOK, LOADS[-1:])[0]
    for world in WORLDS.values():
        ours, base = (np.mean([one.short_share for one in found(results, at, world, p)]) for p in (HOPPER, PRIO))
        assert base < ours < base + 0.15


def test_no_bin_of_a_centralized_hopper_gains_what_the_paper_has():
    """Figure 12: the claims that 50 % are gained, and up to 80 % in a bin, hold nowhere."""
    held = {
        claim.statement: claim.held for claim in BY_ID["figure-12"].finding(Measuring("figure-12", seeds=[1])).claims
    }
    assert not any(held[text] for text in held if "about 50 %" in text or "up to 80 %" in text)


@pytest.mark.parametrize("load", tried.LOADS)
def test_caps_and_kills_are_worth_more_than_hoppers_slots(load):
    """Equal caps, synthetic jobs: a third attempt and kills gain much where durations are independent, slots little."""
    results = results_of("equal-caps")
    place = {**tried.PLACES["Synthetic on 400 slots"], "offered_load": load}
    two, three, two_kill, three_kill = tried.CASES

    def worth(ours: str, case: str, theirs: str, base_case: str, world: dict) -> float:
        a, b = tried._playing(tried.CONTESTANTS[ours], case), tried._playing(tried.CONTESTANTS[theirs], base_case)
        return gains_of(results, a, b, place, world).mean

    own, half_shared = DURATIONS.values()
    for allocator in ("SRPT", "Hopper"):
        ras, late = f"{allocator}+RAS", f"{allocator}+LATE"
        assert worth(ras, three, ras, two, own) > 0.15
        assert worth(ras, two_kill, ras, two, own) > 0.1
        assert worth(late, two_kill, late, two, own) > 0.1
        assert worth(f"{late} without its cap", two, late, two, own) > 0.02
        assert abs(worth(ras, three_kill, ras, three, own)) < 0.06
        assert abs(worth(ras, three, ras, two, half_shared)) < 0.03
    for case in tried.CASES:
        for ours, theirs in tried.ALONE.items():
            for world in (own, half_shared):
                assert abs(worth(ours, case, theirs, case, world)) < 0.05


def test_gains_end_where_more_tasks_are_slow_because_of_their_data():
    """The table of conditions: the more, the less is gained, whatever with."""
    results = results_of("conditions")
    shared = [tried.CONDITIONS[f"{share}% of the tasks shared"] for share in (0, 25, 50)]
    for ours in (HOPPER, EAGER):
        each = [gains_of(results, change.on(ours), change.on(LAST)).mean for change in shared]
        assert each[0] > each[1] > each[2]
    free = tried.CONDITIONS["transfer ratios count as 1"]
    over_prio = [gains_of(results, one.on(HOPPER), one.on(PRIO)).mean for one in (shared[0], free)]
    assert over_prio[0] < over_prio[1] < 0
