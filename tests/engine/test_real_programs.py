"""Are stragglers found in programs that do more than read, and healthy tasks left alone?

Each test plays what executors report of one kind of program: when its counts move, and when they do not.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from controlplane.engine import seeing
from controlplane.estimators.remaining import RemainingTimes
from controlplane.model import facts as f
from controlplane.model.columns import Pools
from controlplane.model.orders import LaunchCopy
from controlplane.model.parameters import EngineSettings
from controlplane.model.reasons import Action, Reason, sentence
from tests.scenario import SOURCE, Scenario

pytestmark = pytest.mark.unit
CONTROL = EngineSettings(mode=f.Mode.CONTROL)
NEVER_S = 1e9
STEP_S = 0.2


@dataclass(frozen=True, kw_only=True)
class Task:
    """When a task starts, what its counts are at an age, and its age when it ends."""

    ends_s: float
    starts_s: float = 0.0
    records: Callable[[float], float] = lambda age_s: 0.0
    rows_out: Callable[[float], float] | None = None
    cpu_s: Callable[[float], float] | None = None
    records_in_all: int = 0


def play(
    tasks: list[Task],
    *,
    settings: EngineSettings = CONTROL,
    before_s: float = 0.0,
    waiting: int = 0,
    foretold_error: float = 1.0,
    **stage,
) -> tuple[Scenario, dict[int, float]]:
    """Run the tasks for 20 s, in turn on four hosts; returns the scenario, and when a copy of each was ordered first.

    Two tasks of another stage may have taken `before_s`, and those of another job may be `waiting` all the time.
    """
    scenario, copied_s = Scenario(settings, slots=len(tasks) // 4 + 2, foretold_error=foretold_error), {}
    if before_s:
        scenario.stage(2, job="earlier", stage=9, name="earlier")
        scenario.tell([scenario.started(90 + index, 0, index=index, stage=9) for index in range(2)])
        scenario.tell([scenario.ended(90 + index, before_s, index=index, stage=9) for index in range(2)])
    scenario.stage(len(tasks), **stage)
    if waiting:
        scenario.stage(waiting, job="waiting", stage=8)
    live: dict[int, Task] = {}
    for step in range(round(20.0 / STEP_S) + 1):
        scenario.now_s = now_s = step * STEP_S
        over = [i for i, task in live.items() if task.starts_s + task.ends_s <= now_s]
        facts = [scenario.ended(i, live.pop(i).ends_s, records_read=tasks[i].records_in_all) for i in over]
        begun = [i for i, task in enumerate(tasks) if now_s - STEP_S < task.starts_s <= now_s]
        facts += [scenario.started(i, i % 4) for i in begun]
        live |= {i: tasks[i] for i in begun}
        ages_s = [(task, now_s - task.starts_s) for task in live.values()]
        columns = f.Progress(
            attempt=list(live),
            records_read=[int(task.records(age_s)) for task, age_s in ages_s],
            rows_out=[-1 if task.rows_out is None else int(task.rows_out(age_s)) for task, age_s in ages_s],
            cpu_ms=[-1 if task.cpu_s is None else int(1000 * task.cpu_s(age_s)) for task, age_s in ages_s],
        )
        for order in scenario.tell(facts, progress=columns if live else None).orders.get(SOURCE, []):
            if isinstance(order, LaunchCopy):
                copied_s.setdefault(order.index, now_s)
    return scenario, copied_s


def up_to(most: float, per_s: float, from_s: float = 0.0, stops_s: float = NEVER_S) -> Callable[[float], float]:
    """A count that grows from `from_s` on, to `most` or until it stops."""
    return lambda age_s: max(0.0, min(most, per_s * (min(age_s, stops_s) - from_s)))


def udf(ends_s: float, *, hangs_s: float = NEVER_S, counts_rows: bool = False) -> Task:
    """A Python UDF over 75,000 rows: its runner has read them all at once, and the worker takes its time."""
    return Task(
        ends_s=ends_s,
        records=up_to(75_000, 1e6),
        rows_out=up_to(75_000, 75_000 / 3.0, 0.2, hangs_s) if counts_rows else None,
        cpu_s=lambda age_s: 0.1,
        records_in_all=75_000,
    )


def test_a_udf_that_hangs_after_its_rows_were_read_is_copied():
    """Rows that the Python runner has read are no work done: siblings needed three more seconds, it needs for ever."""
    scenario, copied_s = play([udf(3.0 + i / 10) for i in range(4)] + [udf(NEVER_S)], name="collect at udf.py:9")
    assert list(copied_s) == [4]
    assert copied_s[4] < 2.5 * 3.3
    launch = next(each for each in scenario.records() if each.action is Action.LAUNCH_COPY)
    assert launch.inputs["progress"] is None or launch.inputs["progress"] != launch.inputs["progress"]
    assert launch.inputs["score"] > 0
    assert "It has" not in sentence(launch.reason, launch.inputs)


def test_while_it_hangs_no_sentence_says_that_it_has_more_to_do():
    """`skew_not_straggler` is a statement about its work, and needs evidence of more work."""
    scenario, _ = play([udf(3.0) for _ in range(4)] + [udf(NEVER_S)], settings=replace(CONTROL, speculator="late"))
    assert Reason.SKEW_NOT_STRAGGLER not in {each.reason for each in scenario.records()}


def test_a_udf_whose_rows_stop_coming_out_is_copied_before_any_sibling_ends():
    """Where the operator's rows are counted, its siblings run past the point where it stands."""
    tasks = [udf(6.0, counts_rows=True) for _ in range(7)] + [udf(NEVER_S, hangs_s=1.0, counts_rows=True)]
    _, copied_s = play(tasks, before_s=2.0)
    assert list(copied_s) == [7]
    assert copied_s[7] < 4.0


def test_healthy_udfs_that_end_within_half_as_much_again_get_no_copy():
    """Nothing is slow, so every copy is a loss; idle slots are no reason."""
    _, copied_s = play([udf(3.0 + 1.5 * i / 7) for i in range(8)])
    assert copied_s == {}


def test_healthy_tasks_that_sort_in_silence_get_no_copy():
    """They read for a second and sort for three: the first to be silent is no straggler, for its thread computes."""
    tasks = [
        Task(
            ends_s=4.0 + i / 8,
            records=up_to(1000, 1000 / (1.0 + i / 8)),
            cpu_s=lambda age_s: round(0.9 * age_s, 1),
            records_in_all=1000,
        )
        for i in range(8)
    ]
    _, copied_s = play(tasks)
    assert copied_s == {}


@pytest.mark.parametrize("sizes_are_known", [True, False])
def test_a_bigger_task_that_reads_at_its_siblings_pace_is_not_copied(sizes_are_known):
    """Three times the records: by its file's length, or by what it has read itself once siblings have ended."""
    tasks = [Task(ends_s=2.0, records=up_to(1000, 500), records_in_all=1000) for _ in range(7)]
    tasks.append(Task(ends_s=6.0, records=up_to(3000, 500), records_in_all=3000))
    lengths = [100] * 7 + [300] if sizes_are_known else []
    scenario, copied_s = play(tasks, relative_bytes=lengths)
    assert copied_s == {}
    assert scenario.scheduler.cluster.sources[SOURCE].attempts == {}


def test_tasks_that_count_nothing_are_judged_by_their_siblings_durations():
    """An external call: nothing moves. One takes ten times as long, the others between two and three seconds."""
    tasks = [Task(ends_s=2.0 + i / 7) for i in range(7)] + [Task(ends_s=NEVER_S)]
    _, copied_s = play(tasks, settings=replace(CONTROL, startup_prior_s=1.0))
    assert list(copied_s) == [7]
    assert 3.0 < copied_s[7] < 6.5


def test_a_stage_of_one_task_without_past_is_left_alone_until_it_is_late_by_any_measure():
    """A parquet footer is read in a fresh JVM: no sibling, no past, and other stages took a tenth of it."""
    scenario = Scenario(CONTROL, foretold_error=1.0)
    scenario.stage(4, stage=9, job="earlier", name="tiny")
    scenario.tell([scenario.started(90 + i, i, index=i, stage=9) for i in range(4)])
    scenario.now_s = 0.5
    scenario.tell([scenario.ended(90 + i, 0.5, index=i, stage=9) for i in range(4)])
    scenario.stage(1, name="parquet at App.java:3")
    scenario.tell([scenario.started(0, 0)])
    launched = []
    for step in range(1, 60):
        scenario.now_s = 0.5 + step / 5
        launched += [order for order in scenario.tell().orders.get(SOURCE, []) if isinstance(order, LaunchCopy)]
    assert launched == []


def test_equal_tasks_that_take_longer_than_any_before_are_not_stragglers_together():
    """Stages of this kind took a second so far; eight alike that take ten are a longer stage."""
    brief = replace(CONTROL, startup_prior_s=0.5)
    _, copied_s = play([Task(ends_s=10.0) for _ in range(8)], before_s=1.0, settings=brief)
    assert copied_s == {}


@pytest.mark.parametrize("minutes", [10, 300])
def test_an_attempt_that_lasts_many_times_as_long_as_its_siblings_is_late(minutes):
    """However long tasks are."""
    scenario = Scenario(CONTROL, foretold_error=1.0)
    scenario.stage(4)
    scenario.start_all(4)
    scenario.now_s = 60.0 * minutes
    scenario.tell([scenario.ended(i, 60.0 * minutes) for i in range(3)])
    launched = []
    for _ in range(59):
        scenario.now_s += 6.0 * minutes
        launched += [order for order in scenario.tell().orders.get(SOURCE, []) if isinstance(order, LaunchCopy)]
    assert {order.index for order in launched} == {3}


def test_start_up_on_cold_executors_is_no_work():
    """Nine of the siblings' eleven seconds were a cold start: one that hangs is copied a few seconds after it."""
    tasks = [Task(ends_s=11.0, records=up_to(1000, 500, 9.0), records_in_all=1000) for _ in range(7)]
    tasks.append(Task(ends_s=NEVER_S, records=up_to(1000, 500, 9.0, 10.0)))
    _, copied_s = play(tasks)
    assert list(copied_s) == [7]
    assert copied_s[7] < 14.0


def test_an_executor_that_freezes_is_noticed_while_others_go_on():
    """Two tasks of a frozen executor fall silent before half-way: nobody has to wait for the first sibling to end."""
    healthy = [Task(ends_s=8.0, records=up_to(8000, 1000), cpu_s=lambda s: s, records_in_all=8000) for _ in range(6)]
    frozen = [Task(ends_s=NEVER_S, records=up_to(8000, 1000, 0.0, 3.0), cpu_s=lambda s: min(s, 3.0)) for _ in range(2)]
    _, copied_s = play(healthy + frozen, before_s=3.0)
    assert set(copied_s) == {6, 7}
    assert max(copied_s.values()) < 8.0


def test_the_first_batch_says_little_of_the_pace():
    """A quarter is read at once and the rest at the siblings' pace: a rate seen for an instant foretells minutes."""
    tasks = [Task(ends_s=4.0, records=lambda s: 250 + 190 * s, records_in_all=1000) for _ in range(4)]
    tasks += [Task(ends_s=4.4, records=lambda s: 250 + max(0.0, 180 * (s - 0.6)), records_in_all=1000)]
    _, copied_s = play(tasks, relative_bytes=[100] * 5)
    assert copied_s == {}


def warming_up(ends_s: float) -> Callable[[float], float]:
    """A thousand records of which half come in the last fifth of the time."""
    return lambda age_s: 1000 * min(age_s / ends_s, 1.0) ** 3


def test_the_first_tasks_of_a_stage_on_an_executor_are_compared_with_one_another():
    """Code is loaded and compiled, Python forked: 2 to 3.2 s, faster and faster, where later tasks take 0.4 s."""
    first = [Task(ends_s=2.0 + 0.4 * i, records=warming_up(2.0 + 0.4 * i), records_in_all=1000) for i in range(4)]
    later = [
        Task(ends_s=0.4, starts_s=2.0 + i // 2 / 5, records=up_to(1000, 4000), records_in_all=1000) for i in range(16)
    ]
    on_those_that_are_ready = [task for pair in zip(later[::2], later[1::2], strict=True) for task in pair]
    _, copied_s = play(first + on_those_that_are_ready)
    assert copied_s == {}


def slow_at_first(foretold_error: float) -> dict[int, float]:
    """Of eight tasks that start beside each other, one reads a tenth as fast for a second and then as fast as all."""
    tasks = [Task(ends_s=2.0, records=up_to(1000, 500), records_in_all=1000) for _ in range(8)]
    tasks += [Task(ends_s=2.0, starts_s=2.0, records=up_to(1000, 500), records_in_all=1000) for _ in range(7)]
    slow = Task(ends_s=2.9, starts_s=2.0, records=lambda s: 50 * s + max(0.0, 450 * (s - 1.0)), records_in_all=1000)
    _, copied_s = play([*tasks, slow], foretold_error=foretold_error, relative_bytes=[100] * 16)
    return copied_s


def test_a_rate_is_believed_as_soon_as_earlier_ones_have_been():
    """Where first glances foretold well, a tenth of the pace is a straggler at once; else nobody knows yet."""
    assert slow_at_first(foretold_error=1.0) == {}
    assert list(slow_at_first(foretold_error=0.0)) == [15]


def test_who_is_ahead_of_its_siblings_is_not_late():
    """No stage took longer than a second so far. All have run for as long; one began to read before the others did."""
    tasks = [Task(ends_s=8.0, records=up_to(4000, 500, 2.5), records_in_all=4000) for _ in range(7)]
    tasks.append(Task(ends_s=8.0, records=up_to(4000, 500, 0.5), records_in_all=4000))
    brief = replace(CONTROL, startup_prior_s=0.2)
    _, copied_s = play(tasks, before_s=0.5, settings=brief)
    assert copied_s == {}


def test_every_good_glance_counts_the_more_the_fewer_there_were():
    """An application of thirty tasks may not wait for twenty of them: seven that foretold well shorten the look."""
    pools, times = Pools(1), RemainingTimes(startup_prior_s=5.0)
    row = pools.add()
    for _ in range(7):
        times.foretold_seen(pools, row, 4.0, 4.0, is_cold=True)
    assert pools.cold_foretold_error[row] == pytest.approx(0.5 / 8)
    assert pools.foretold_error[row] == 0.5
    times.foretold_seen(pools, row, 1000.0, 0.0, is_cold=True)
    assert pools.cold_foretold_error[row] == pytest.approx(0.5 / 8 * 7 / 8 + 1 / 8)


def test_first_tasks_on_a_new_executor_teach_nothing_of_later_glances():
    """While classes are loaded a task stands still, and then all is done at once."""
    scenario, taught = Scenario(CONTROL, foretold_error=0.5), []
    for stage in (1, 2):
        begun_s, attempts = scenario.now_s, range(4 * stage, 4 * stage + 4)
        scenario.stage(4, stage=stage, input_bytes=1000)
        scenario.tell([scenario.started(one, one % 4, index=one % 4, stage=stage) for one in attempts])
        for step in range(1, 5):
            scenario.now_s = begun_s + step * STEP_S
            scenario.tell(progress=dict.fromkeys(attempts, 10 * step))
        scenario.now_s = begun_s + 1.0
        scenario.tell([scenario.ended(one, 1.0, index=one % 4, stage=stage, bytes_read=1000) for one in attempts])
        taught.append(scenario.scheduler.cluster.pools.n_cold_foretold[0])
    assert taught == [0, 4]


def copied_after_s(waiting: int, *, startup_s: float = 0.4, cpu_s: Callable[[float], float] | None = None) -> float:
    """When the last of eight tasks is copied that takes 20 s where others take 4; `waiting` more have no slot yet."""
    tasks = [Task(ends_s=4.0, records=up_to(100, 250, 0.4), records_in_all=100, cpu_s=cpu_s) for _ in range(7)]
    tasks.append(Task(ends_s=20.0, records=up_to(100, 250, startup_s), records_in_all=100, cpu_s=cpu_s))
    _, copied_s = play(tasks, waiting=waiting)
    return copied_s.get(7, NEVER_S)


def test_a_long_start_and_a_busy_thread_excuse_nobody_while_slots_are_idle():
    """A slow host starts slowly and computes all the time; a needless copy then costs no other task its slot."""
    assert copied_after_s(0) < 6.0
    assert copied_after_s(0, startup_s=3.0) == pytest.approx(copied_after_s(0), abs=STEP_S)
    assert copied_after_s(0, cpu_s=lambda age_s: age_s) == pytest.approx(copied_after_s(0), abs=STEP_S)
    assert copied_after_s(40, startup_s=3.0) > copied_after_s(40) + 1.0
    assert copied_after_s(40, cpu_s=lambda age_s: age_s) > copied_after_s(40) + 1.0


def test_short_tasks_are_late_within_a_second_while_slots_are_idle():
    """Seven take 0.4 s: a stage of such tasks is over before anything can be a second late."""

    def copied_s(waiting: int) -> float:
        tasks = [Task(ends_s=0.4, records=up_to(100, 500), records_in_all=100) for _ in range(7)]
        tasks.append(Task(ends_s=10.0, records=up_to(100, 500), records_in_all=100))
        return play(tasks, waiting=waiting)[1].get(7, NEVER_S)

    assert copied_s(waiting=0) < 1.3 < copied_s(waiting=40)


def test_tasks_that_end_before_their_first_report_teach_that_starting_is_quick():
    """Else short tasks, of whose start nothing is ever seen, would be waited for as long as those of slow imports."""
    scenario = Scenario(CONTROL)
    pools = scenario.scheduler.cluster.pools
    scenario.stage(8)
    scenario.tell([scenario.started(i, i % 4) for i in range(8)])
    for now_s in (0.2, 2.0):
        scenario.now_s = now_s
        scenario.tell(progress=f.Progress(attempt=[0], records_read=[int(100 * now_s) - 19]))
    slow_s = pools.cold_startup_mean_s[0]
    scenario.tell([scenario.ended(1, 2.0)])
    assert pools.cold_startup_mean_s[0] == slow_s
    scenario.tell([scenario.ended(2, 0.01), scenario.ended(3, 0.01)])
    quicker_s = pools.cold_startup_mean_s[0]
    assert quicker_s < slow_s
    scenario.tell([scenario.ended(4, 2.0)])
    assert pools.cold_startup_mean_s[0] == quicker_s, "what is learned of one report outlives the next"


def test_a_fresh_attempt_is_thought_to_start_as_cold_ones_do_while_no_other_was_seen():
    """Policies are shown as much as is part of its duration, not a start that takes no time."""
    scenario = Scenario(CONTROL)
    cluster = scenario.scheduler.cluster
    scenario.stage(4, input_bytes=1000)
    scenario.tell([scenario.started(at, at % 4) for at in range(4)])
    scenario.now_s = 5.0
    scenario.tell(progress=dict.fromkeys(range(4), 10))
    shown, _, _ = seeing.view_groups(cluster, scenario.now_s)
    assert np.isnan(cluster.pools.startup_mean_s[0])
    assert shown["startup_s"][0] == cluster.pools.cold_startup_mean_s[0] > 4.0


def test_records_of_tasks_that_are_followed_by_bytes_are_no_pace():
    """Spark counts bytes once in a thousand records, so a slow reader shows records alone for its first seconds."""
    scenario, copied = Scenario(CONTROL, slots=3), []
    scenario.stage(16, input_bytes=1_000_000)
    for wave in (0, 8):
        begun_s, attempts = scenario.now_s, range(wave, wave + 8)
        scenario.tell([scenario.started(one, one % 4) for one in attempts])
        for step in range(1, 75):
            scenario.now_s = begun_s + step * STEP_S
            read = 3000 * step * STEP_S / 15.0
            progress = f.Progress(
                attempt=list(attempts),
                records_read=[int(read)] * 8,
                bytes_read=[1_000_000 * (int(read) // 1000) // 3] * 8,
            )
            orders = scenario.tell(progress=progress).orders.get(SOURCE, [])
            copied += [order.index for order in orders if isinstance(order, LaunchCopy)]
        scenario.now_s = begun_s + 15.0
        scenario.tell([scenario.ended(one, 15.0, bytes_read=1_000_000, records_read=3000) for one in attempts])
    assert copied == []


def test_a_report_that_claims_to_be_older_than_its_attempt_makes_no_cost_negative():
    """All has been read, and, by that report's age, before the attempt was launched."""
    scenario = Scenario(CONTROL)
    scenario.stage(2, input_bytes=200)
    scenario.start_all(2)
    for now_s, read, age_ms in ((3.0, 100, 0), (3.2, 200, 9000)):
        scenario.now_s = now_s
        scenario.tell(progress=f.Progress(attempt=[0], bytes_read=[read], age_ms=[age_ms]))
    attempts = scenario.scheduler.cluster.attempts
    assert attempts.advanced_s[0] < attempts.start_s[0]
    assert attempts.log_cost[0] == pytest.approx(math.log(3.0 / 200))


def test_a_copy_starts_up_too_where_all_tasks_were_first_on_their_executors():
    """Then only first tasks have shown how long that takes."""
    scenario = Scenario(CONTROL)
    scenario.stage(4)
    scenario.start_all(4)
    scenario.now_s = 3.0
    scenario.tell(progress=f.Progress(attempt=[0, 1, 2, 3], records_read=[10] * 4))
    scenario.now_s = 5.0
    scenario.tell([scenario.ended(i, 5.0, records_read=100) for i in range(3)])
    pools, attempts = scenario.scheduler.cluster.pools, scenario.scheduler.cluster.attempts
    row = next(iter(scenario.scheduler.cluster.sources[SOURCE].attempts.values()))
    assert math.isnan(pools.startup_mean_s[0])
    assert attempts.t_new_s[row] > pools.cold_startup_mean_s[0]


def test_a_group_that_is_larger_by_its_bytes_alone_is_no_straggler():
    """A Python task reads batches of rows: eight of each, and one task's hold eighteen times as much."""
    scenario = Scenario(CONTROL)
    scenario.stage(8)
    scenario.start_all(8)
    large, orders = 262_000, []
    for tenth in range(1, 160):
        scenario.now_s = tenth / 10
        if tenth == 20:
            sizes = [large] + [15_000] * 7
            scenario.tell(progress=f.Progress(attempt=list(range(8)), bytes_read=sizes, records_read=[8] * 8))
        elif tenth == 50:
            scenario.tell(scenario.ended(i, 5.0, bytes_read=15_000, records_read=8) for i in range(1, 8))
        else:
            orders += scenario.tell().orders.get(SOURCE, [])
    assert not [order for order in orders if isinstance(order, LaunchCopy)]
