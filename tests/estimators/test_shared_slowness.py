"""Do copies stop where they never leave their originals' slowness behind, and go on where they do?"""

import json
import math

import pytest

from controlplane.estimators.shared_slowness import ENDS_KEPT, MOST_LOG, PRIOR_LOG, SharedSlowness
from controlplane.model import facts as f
from controlplane.model.orders import LaunchCopy
from controlplane.model.parameters import EngineSettings
from tests.scenario import SOURCE, Scenario

pytestmark = pytest.mark.unit

N_TASKS, STRAGGLER = 8, 3
STRAGGLES = [10 if task == STRAGGLER else 100 for task in range(N_TASKS)]
"""Bytes that each task reads in a second."""
UNLIMITED = EngineSettings(
    mode=f.Mode.CONTROL, losing_share=1.0, losing_allowance_tasks=1e6, speculator_settings={"gs_on_free_slots": 0.0}
)
"""Neither budgets nor free slots shall hide what the estimate does."""


def copies_by_stage(copy_rate: int, n_stages: int = 12, scenario: Scenario | None = None) -> list[int]:
    """Stages of eight tasks, one of which reads 30 bytes/s instead of 300; its copies read at `copy_rate`."""
    scenario, copies, next_attempt = scenario or Scenario(UNLIMITED), [], 0
    for stage in range(1, n_stages + 1):
        scenario.stage(N_TASKS, stage=stage, input_bytes=1000)
        rate, begun_s, index_of, n_copies = {}, {}, {}, 0
        for index in range(N_TASKS):
            rate[next_attempt], index_of[next_attempt] = 30 if index == STRAGGLER else 300, index
            begun_s[next_attempt] = scenario.now_s
            host = (index + stage) % 4
            scenario.tell([scenario.started(next_attempt, host, index=index, stage=stage)])
            next_attempt += 1
        while rate:
            scenario.now_s += 0.1
            read = {one: round(rate[one] * (scenario.now_s - begun_s[one])) for one in rate}
            over = {index_of[one] for one, n in read.items() if n >= 1000}
            ended = [one for one in rate if index_of[one] in over]
            facts = []
            for one in sorted(ended, key=lambda one: read[one] < 1000):
                outcome = f.Outcome.SUCCESS if read[one] >= 1000 else f.Outcome.KILLED
                told = {"index": index_of[one], "stage": stage, "bytes_read": read[one], "outcome": outcome}
                facts.append(scenario.ended(one, scenario.now_s - begun_s[one], **told))
            for one in ended:
                del rate[one]
            live = {one: n for one, n in read.items() if one in rate}
            for order in scenario.tell(facts, progress=live).orders.get(SOURCE, []):
                if isinstance(order, LaunchCopy):
                    n_copies += 1
                    rate[next_attempt], index_of[next_attempt] = copy_rate, order.index
                    begun_s[next_attempt] = scenario.now_s
                    more = {"speculative": True, "order": order.order, "attempt_number": 1}
                    host = int(order.host[1:])
                    scenario.tell([scenario.started(next_attempt, host, index=order.index, stage=stage, **more)])
                    next_attempt += 1
        scenario.tell([f.StageEnded(stage=stage, stage_attempt=0)])
        copies.append(n_copies)
    return copies


@pytest.fixture(scope="module")
def slow_data():
    """Twelve stages whose copies are as slow as their originals, and how many copies each had. Not to be changed."""
    scenario = Scenario(UNLIMITED)
    return scenario, copies_by_stage(copy_rate=30, scenario=scenario)


def test_copies_go_on_where_they_are_fast():
    """Bad luck and sick hosts are left behind: every straggler gets its copy."""
    assert copies_by_stage(copy_rate=300) == [1] * 12


def test_copies_stop_where_they_are_as_slow_as_their_originals(slow_data):
    """Slow data is slow for every attempt; a slot for it is a slot lost."""
    _, copies = slow_data
    assert copies[0] > 0
    assert copies[-3:] == [0, 0, 0]


@pytest.mark.parametrize("kept", [0.0, 0.5, 1.0])
def test_the_share_tends_to_what_the_pairs_show(kept):
    """With much evidence the prior hardly counts."""
    assert seen((1.0, kept * 1.0), times=1000).kept == pytest.approx(kept, abs=PRIOR_LOG / MOST_LOG)


def test_what_no_longer_holds_is_forgotten():
    """An application may get other data: new pairs outweigh however many old ones."""
    shared = seen((1.0, 1.0), times=10_000)
    for _ in range(500):
        shared.observe(1.0, 0.0)
    assert shared.kept < 0.02


@pytest.mark.parametrize("pair", [(0.1, 3.0), (math.nan, 1.0), (3.0, math.nan)])
def test_an_original_of_common_speed_tells_nothing(pair):
    """Copies on idle slots race originals that are hardly slower; their noise must not pass for evidence."""
    assert seen(pair, times=100).kept == 0.0


def test_the_next_run_of_an_application_knows_from_its_first_straggler(slow_data):
    """A recurring application meets the same slow data again; nor does a restart of the control plane wipe that out."""
    learned, _ = slow_data
    again = Scenario(UNLIMITED)
    again.scheduler.restore(json.loads(json.dumps(learned.scheduler.learned())))
    assert copies_by_stage(30, n_stages=1, scenario=again) == [0]


def test_the_next_run_in_the_same_place_knows_it_too():
    """The commonest next run gets the row in the table that the last one has left."""
    scenario = Scenario(UNLIMITED)
    copies_by_stage(30, scenario=scenario)
    scenario.tell([f.DriverDetached()])
    scenario.tell([scenario.attached, *scenario.executors], full=True, epoch=2)
    assert copies_by_stage(30, n_stages=1, scenario=scenario) == [0]


def test_one_race_counts_no_more_than_its_original_was_slow():
    """A copy's first bytes, or a host that stands still, must not outweigh dozens of races."""
    shared = SharedSlowness()
    shared.observe(0.6, 100.0)
    assert shared == seen((0.6, 0.6), times=1)
    shared.observe(0.6, -100.0)
    assert shared.kept == 0.0


def raced(
    rates: list[int], *, hosts: int = 4, seconds: float = 2.0, copy_rate: int = 10, ends: bool = True
) -> tuple[float, float]:
    """Tasks read at `rates`, in bytes a second, and for `seconds` a copy of the straggler; then its original `ends`.

    Returns the share that the pool is estimated by in that cycle, and how much slowness has been seen.
    """
    scenario = Scenario(UNLIMITED, hosts=hosts, slots=8)
    scenario.stage(len(rates), input_bytes=1000)
    scenario.start_all(len(rates))
    for step in range(1, 51):
        scenario.now_s = step / 10
        scenario.tell(progress={one: round(rate * step / 10) for one, rate in enumerate(rates)})
    scenario.tell([scenario.started(100, 0, index=STRAGGLER, speculative=True)])
    for step in range(1, round(5 * seconds) + 1):
        scenario.now_s += 0.2
        running = {one: round(rate * scenario.now_s) for one, rate in enumerate(rates)}
        scenario.tell(progress=running | {100: round(copy_rate * step / 5)})
    scenario.tell([scenario.ended(STRAGGLER, scenario.now_s, bytes_read=1000)] if ends else [])
    (learned,) = scenario.scheduler.learned()["applications"].values()
    return float(scenario.scheduler.cluster.pools.kept_slowness[0]), learned["shared_slowness"]["seen_log"]


def test_a_copy_that_has_only_begun_tells_nothing():
    """Until it has been watched for a while, its speed is that of its start."""
    assert raced(STRAGGLES, seconds=0.4) == (0.0, 0.0)


def test_a_race_counts_once_and_as_soon_as_both_can_be_read():
    """A copy as slow as its original has kept almost all. Ends would count wins before the races of slow work."""
    kept, seen_log = raced(STRAGGLES, ends=False)
    assert seen_log > 1.0
    assert kept == pytest.approx(seen_log / (PRIOR_LOG + seen_log), rel=0.2)
    assert raced(STRAGGLES) == pytest.approx((kept, seen_log), rel=2.0 / ENDS_KEPT)


def test_copies_alone_are_no_race():
    """The original has been killed; two copies that are as slow say nothing of what a copy sheds."""
    scenario = Scenario(UNLIMITED)
    scenario.stage(N_TASKS, input_bytes=1000)
    scenario.start_all(N_TASKS)
    for attempt, host in ((100, 0), (101, 1)):
        scenario.tell([scenario.started(attempt, host, index=STRAGGLER, speculative=True)])
    scenario.tell([scenario.ended(STRAGGLER, 0.0, outcome=f.Outcome.KILLED)])
    for scenario.now_s in (1.0, 2.0, 3.0, 4.0):
        rates = {one: 100 for one in range(N_TASKS) if one != STRAGGLER} | {100: 10, 101: 10}
        scenario.tell(progress={one: round(rate * scenario.now_s) for one, rate in rates.items()})
    (learned,) = scenario.scheduler.learned()["applications"].values()
    assert learned["shared_slowness"]["seen_log"] == 0.0


def test_the_share_that_copies_are_judged_by_fades_in_the_cycle_in_which_a_task_ends():
    """The copy was exactly as slow as its original, so that what was kept is what was seen."""
    kept, seen_log = raced(STRAGGLES)
    assert kept == pytest.approx(seen_log / (PRIOR_LOG + seen_log), rel=1e-9)


def test_who_has_stopped_copying_tries_again():
    """Evidence fades while tasks end, for no race would contradict it any more."""
    shared = seen((1.0, 1.0), times=100)
    for _ in range(round(5 * ENDS_KEPT)):
        shared.task_ended()
    assert shared.kept < 0.5


def test_what_a_sick_host_does_to_an_original_is_none_of_its_own_slowness():
    """All that run on the second of two hosts are four times slower, one that is copied among them."""
    assert raced([100, 25] * 8, hosts=2, copy_rate=100) == (0.0, 0.0)


def seen(pair, *, times):
    shared = SharedSlowness()
    for _ in range(times):
        shared.observe(*pair)
    return shared
