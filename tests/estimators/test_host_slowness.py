"""Is a sick host found, by attempts that never end too, and is it forgotten again? Where does a copy go?"""

import numpy as np
import pytest

from controlplane.estimators.host_slowness import (
    HALF_LIFE_S,
    SLOW_TIMES,
    SPREAD,
    FinishedCosts,
    HostHealth,
    HostSlowness,
    log_slowness,
    rank_hosts,
)

pytestmark = pytest.mark.unit

N_HOSTS, SICK = 5, 3
NOTHING_FINISHED = (np.zeros(1, dtype=np.int64), np.zeros(1))


def cluster(slow_host: int = SICK, times: float = 6.0) -> tuple[np.ndarray, np.ndarray]:
    """Four running attempts a host, of one stage; (host, log slowness against siblings elsewhere)."""
    host = np.repeat(np.arange(N_HOSTS), 4)
    seconds_per_unit = np.where(host == slow_host, times, 1.0) * np.tile([0.9, 1.0, 1.1, 1.0], N_HOSTS)
    return host, log_slowness(np.zeros(len(host), dtype=np.int64), host, np.log(seconds_per_unit), *NOTHING_FINISHED)


def test_a_sick_host_is_found_while_its_tasks_still_run():
    """They may never end, so waiting for an end would mean never finding it."""
    hosts = HostSlowness()
    hosts.review(*cluster())
    assert hosts.health(0.0, N_HOSTS).sick.nonzero()[0].tolist() == [SICK]
    assert hosts.health(0.0, N_HOSTS).slowness[SICK] > 2.5
    assert hosts.health(0.0, N_HOSTS).slowness[0] < 1.0


def test_the_running_attempts_of_one_review_replace_those_of_the_last():
    """Looking five times a second at one attempt is no five attempts."""
    once, often = HostSlowness(), HostSlowness()
    once.review(*cluster())
    for _ in range(100):
        often.review(*cluster())
    assert often.confidence(0.0, N_HOSTS) == pytest.approx(once.confidence(0.0, N_HOSTS))
    often.review(np.empty(0, dtype=np.int64), np.empty(0))
    assert often.confidence(0.0, N_HOSTS).tolist() == [0.0] * N_HOSTS


def test_one_straggler_makes_no_sick_host():
    """Stragglers happen on healthy hosts; one may be three times too slow."""
    hosts = HostSlowness()
    hosts.attempt_ended(2, np.log(3.0), now_s=0.0)
    assert hosts.health(0.0, N_HOSTS).slowness[2] > 1
    assert not hosts.health(0.0, N_HOSTS).sick.any()


def test_one_absurd_attempt_among_good_ones_makes_no_sick_host():
    """An attempt's weight is bounded, however long it hung."""
    hosts = HostSlowness()
    for log_ratio in (np.log(1e6), 0.0, 0.0, 0.0):
        hosts.attempt_ended(2, log_ratio, now_s=0.0)
    assert not hosts.health(0.0, N_HOSTS).sick.any()


def test_a_host_recovers_with_the_half_life():
    """Without news the evidence fades: a repaired host gets copies again."""
    hosts = HostSlowness()
    for _ in range(8):
        hosts.attempt_ended(SICK, np.log(4.0), now_s=100.0)
    before = hosts.confidence(100.0, N_HOSTS)[SICK]
    after = hosts.confidence(100.0 + HALF_LIFE_S, N_HOSTS)[SICK]
    assert (before, after) == (pytest.approx(8 / 10), pytest.approx(4 / 6))
    assert hosts.health(100.0, N_HOSTS).sick[SICK]
    assert not hosts.health(100.0 + 10 * HALF_LIFE_S, N_HOSTS).sick[SICK]


def test_what_is_seen_after_a_repair_outweighs_what_was_seen_before_it():
    """Evidence fades also when more comes in: after three half-lives, eight slow attempts count as one."""
    hosts = HostSlowness()
    for _ in range(8):
        hosts.attempt_ended(SICK, np.log(4.0), now_s=100.0)
    for _ in range(2):
        hosts.attempt_ended(SICK, 0.0, now_s=100.0 + 3 * HALF_LIFE_S)
    health, confidence = (ask(100.0 + 3 * HALF_LIFE_S, N_HOSTS) for ask in (hosts.health, hosts.confidence))
    assert confidence[SICK] == pytest.approx(3 / 5)
    assert health.slowness[SICK] == pytest.approx(4.0 ** (1 / 5))


def after_waves(stages: int, tasks: int, times: float = 1.0) -> HostHealth:
    """The verdict after stages of one wave each, whose tasks take `times` as long on one of the hosts."""
    hosts, chance = HostSlowness(), np.random.default_rng(1)
    for _ in range(stages):
        host = chance.permutation(np.arange(tasks) % N_HOSTS)
        log_cost = SPREAD * chance.standard_normal(tasks) + np.where(host == SICK, np.log(times), 0.0)
        earlier = FinishedCosts()
        for one in np.argsort(log_cost).tolist():
            hosts.attempt_finished(int(host[one]), float(log_cost[one]), earlier, now_s=0.0)
    return hosts.health(0.0, N_HOSTS)


@pytest.mark.parametrize(("stages", "tasks"), [(200, 2), (50, 10), (5, 200)])
def test_equal_hosts_come_out_equal_though_the_slow_tasks_of_a_wave_end_last(stages, tasks):
    """Compared with earlier ones alone, nearly every attempt is slow, and so every host."""
    health = after_waves(stages, tasks)
    assert health.slowness == pytest.approx(np.ones(N_HOSTS), abs=0.25)
    assert not health.sick.any()


@pytest.mark.parametrize(("stages", "tasks"), [(50, 4), (8, 10), (1, 40)])
def test_a_host_that_takes_four_times_as_long_is_found_by_what_finishes(stages, tasks):
    """It ends last in every wave."""
    health = after_waves(stages, tasks, times=4.0)
    assert health.sick.nonzero()[0].tolist() == [SICK]
    assert 2.0 < health.slowness[SICK] < 6.0


def test_one_absurd_attempt_among_others_that_finish_makes_no_sick_host():
    """It counts as eight times too slow, and its siblings on that host as what they are."""
    hosts, earlier = HostSlowness(), FinishedCosts()
    for log_cost in (0.0, np.log(1e6), 0.0, 0.0):
        for host in range(N_HOSTS):
            hosts.attempt_finished(host, log_cost if host == SICK else 0.0, earlier, now_s=0.0)
    assert not hosts.health(0.0, N_HOSTS).sick.any()


def test_hosts_may_turn_up_one_by_one():
    """Rows are given out as hosts are first heard of."""
    hosts = HostSlowness()
    for host in range(3):
        hosts.attempt_ended(host, 0.0, now_s=0.0)
    assert hosts.confidence(0.0, 3).tolist() == [1 / 3] * 3


def test_a_forgotten_row_starts_anew():
    """Rows are given to other hosts when a host is gone."""
    hosts = HostSlowness()
    hosts.review(*cluster())
    hosts.attempt_ended(SICK, 2.0, now_s=0.0)
    hosts.forget([SICK])
    assert hosts.health(0.0, N_HOSTS).slowness[SICK] == 1.0


def test_a_host_of_which_nothing_was_seen_can_be_forgotten():
    """It may leave before any attempt has run there."""
    hosts = HostSlowness()
    hosts.forget([SICK])
    assert hosts.confidence(0.0, N_HOSTS).tolist() == [0.0] * N_HOSTS


def test_bigger_work_is_no_slower_host():
    """The measure is seconds per unit; no progress says nothing, and neither does a stage's only attempt."""
    stage, host = np.array([0, 0, 1, 2]), np.array([0, 1, 0, 1])
    seconds_per_unit = np.array([2.0, 2.0, np.nan, 7.0])
    found = log_slowness(stage, host, np.log(seconds_per_unit), np.zeros(3, dtype=np.int64), np.zeros(3))
    assert found[:2].tolist() == [0.0, 0.0]
    assert np.isnan(found[2:]).all()


def test_finished_siblings_count_as_elsewhere():
    """The last task of a stage runs alone, and is still slow."""
    found = log_slowness(np.array([0]), np.array([1]), np.log([8.0]), np.array([3]), np.array([3 * np.log(2.0)]))
    assert np.exp(found) == pytest.approx([4.0])


def rank(**columns) -> list[int]:
    """Ranks three hosts that are alike but for the given columns."""
    plain = {
        "slots_free": [2, 2, 2],
        "running": [2, 2, 2],
        "slowness": [1.0, 1.0, 1.0],
        "sick": [False, False, False],
        "local": [False, False, False],
        "forbidden": [False, False, False],
    }
    return rank_hosts(**{name: np.array(value) for name, value in (plain | columns).items()}).tolist()


def test_equal_hosts_are_ranked_by_row():
    """Ties must come out the same way every time."""
    assert rank() == [0, 1, 2]


@pytest.mark.parametrize(
    "never", [{"forbidden": [True, False, False]}, {"sick": [True, False, False]}, {"slots_free": [0, 2, 2]}]
)
def test_a_copy_never_goes_to_the_stragglers_host_a_sick_host_or_a_full_one(never):
    """These are refused, not only put last."""
    assert rank(**never) == [1, 2]


@pytest.mark.parametrize(
    ("against", "in_favour"),
    [
        ({"slowness": [SLOW_TIMES, 1.0, 1.0]}, {"local": [True, False, True]}),
        ({"slowness": [1.3, 1.0, 1.0]}, {"running": [0, 2, 2]}),
        ({"local": [True, False, False]}, {"running": [0, 2, 2]}),
        ({"running": [3, 2, 2]}, {"local": [True, False, True]}),
        ({"local": [False, True, True]}, {"slowness": [1.0, 1.1, 1.1]}),
    ],
    ids=[
        "not slow before local",
        "not slow before idle",
        "not sole holder before idle",
        "idle before local",
        "local",
    ],
)
def test_what_speaks_against_a_host_outweighs_the_next_thing_for_it(against, in_favour):
    """Not a slow one, not the only holder of the input, least loaded, local: in this order."""
    assert rank(**(in_favour | against))[-1] == 0


def test_one_of_several_holders_of_the_input_is_preferred():
    """Reading locally is faster, and the straggler's trouble is then not in the only copy of the data."""
    assert rank(local=[False, True, True]) == [1, 2, 0]


def test_the_only_holder_of_the_input_comes_last():
    """If the input's host is what makes the task slow, a copy beside it is as slow."""
    assert rank(local=[True, False, False]) == [1, 2, 0]


def test_no_host_left_is_an_empty_answer():
    """The engine then says that no other healthy host has room."""
    assert rank(forbidden=[True, True, True]) == []


def test_two_crawling_attempts_among_healthy_ones_do_not_make_a_host_sick():
    """Tails are heavy everywhere: a host whose slots happen to hold two stragglers must still take copies."""
    hosts = HostSlowness()
    for second in range(8):
        hosts.attempt_ended(0, 0.0, float(second))
    hosts.review(np.array([0, 0]), np.log([8.0, 8.0]))
    assert not hosts.health(10.0, 1).sick[0]


def test_a_host_on_which_everything_crawls_is_sick_after_a_few_attempts():
    """A sick host must be found before it has taken many copies."""
    hosts = HostSlowness()
    hosts.review(np.zeros(4, dtype=np.int64), np.log(np.full(4, 4.0)))
    assert hosts.health(10.0, 1).sick[0]


def test_stages_are_compared_each_with_its_own():
    """Two stages on the same two hosts, each four times as slow on the second."""
    stage, host = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    slowness = log_slowness(stage, host, np.log([1.0, 4.0, 100.0, 400.0]), np.zeros(2, dtype=np.int64), np.zeros(2))
    assert np.exp(slowness).tolist() == pytest.approx([0.25, 4.0, 0.25, 4.0])
