"""Which tasks are copied, where to, and which are not though they take long?"""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from controlplane.estimators.tail_index import mean_time_s
from controlplane.model import facts as f
from controlplane.model.orders import LaunchCopy
from controlplane.model.parameters import EngineSettings
from controlplane.model.reasons import GUESSED, Action, Reason, sentence
from tests.scenario import SOURCE, Scenario, orders, with_copy

pytestmark = pytest.mark.unit
CONTROL = EngineSettings(mode=f.Mode.CONTROL)


@pytest.mark.parametrize("policy", ["hopper+ras", "fair+late"])
def test_a_straggler_is_copied_to_another_host_with_its_reason(policy):
    """The whole point: one slow attempt, one copy elsewhere, and the numbers that speak for it."""
    allocator, speculator = policy.split("+")
    scenario = Scenario(replace(CONTROL, allocator=allocator, speculator=speculator))
    copies = scenario.run_with_straggler(slow=3)
    assert [copy.index for copy in copies] == [3]
    assert copies[0].host in {"h0", "h1", "h2"}
    launch = next(r for r in scenario.records() if r.action is Action.LAUNCH_COPY)
    assert launch.reason in (Reason.SAVES_SLOT_TIME, Reason.LONGEST_TO_END)
    assert launch.inputs["t_rem_s"] > 2 * launch.inputs["t_new_s"]
    assert launch.attempt == 3
    assert ("wait", 0.0) in launch.alternatives


def test_none_copies_nothing_and_claims_nothing():
    """Without a speculator of ours the host's own shall go on."""
    scenario = Scenario(replace(CONTROL, speculator="none"))
    assert scenario.run_with_straggler() == []
    assert scenario.decisions[-1].claims == {SOURCE: []}


def test_a_bigger_task_is_not_copied():
    """Ten times the bytes at the same speed is skew; a copy would take as long."""
    scenario = Scenario()
    scenario.stage(8, input_bytes=[1000] * 7 + [10_000])
    scenario.start_all(8)
    copies = []
    for step in range(1, 100):
        scenario.now_s = step / 10
        live = scenario.scheduler.cluster.sources[SOURCE].attempts
        read = {i: round(300 * scenario.now_s) for i in live}
        over = [scenario.ended(i, scenario.now_s, bytes_read=1000) for i, n in read.items() if i < 7 and n >= 1000]
        copies += scenario.tell(over, progress=read).orders.get(SOURCE, [])
    assert not [order for order in copies if isinstance(order, LaunchCopy)]


@pytest.mark.parametrize("policy", ["hopper+ras", "fair+late"])
def test_of_ten_tasks_of_many_sizes_the_slow_one_is_copied(policy):
    """After SPARK-32170, from progress alone: three have several times as much to read, one reads at a tenth's rate."""
    stage = json.loads((Path(__file__).parents[1] / "golden/spark_32170.json").read_text())
    sizes = [1000 * records for records in stage["records"]]
    allocator, speculator = policy.split("+")
    scenario = Scenario(EngineSettings(mode=f.Mode.CONTROL, allocator=allocator, speculator=speculator), hosts=6)
    scenario.stage(10, input_bytes=sizes)
    scenario.tell([scenario.started(task, task // 2) for task in range(10)])
    copied = set()
    while scenario.now_s < stage["elapsed_s"]:
        scenario.now_s += 0.2
        read = [
            min(1000 * rate * scenario.now_s, size) for rate, size in zip(stage["records_per_s"], sizes, strict=True)
        ]
        decision = scenario.tell(progress={task: int(n_bytes) for task, n_bytes in enumerate(read)})
        copied |= {order.index for order in decision.orders.get(SOURCE, []) if isinstance(order, LaunchCopy)}
    assert copied == set(stage["inefficient"])


def test_an_attempt_between_two_reports_is_not_a_straggler():
    """It reads as fast as its siblings and is heard of less often; slots are idle, so a copy would cost no more."""
    scenario = Scenario()
    scenario.stage(3, input_bytes=1000)
    scenario.start_all(3)
    for step in range(1, 33):
        scenario.now_s = step / 10
        heard = [0, 1, 2] if step == 1 or step % 5 == 0 else [0, 1]
        scenario.tell(progress={attempt: round(300 * scenario.now_s) for attempt in heard})
    assert not [record for record in scenario.records() if record.action is Action.LAUNCH_COPY]


def test_a_starting_jvm_is_not_a_straggler():
    """Nothing is decided before an attempt could have made its first progress."""
    scenario = Scenario(replace(CONTROL, startup_prior_s=3.0))
    scenario.stage(2, input_bytes=1000)
    scenario.start_all(2)
    for step in range(1, 29):
        scenario.now_s = step / 10
        assert not [o for o in scenario.tell().orders.get(SOURCE, []) if isinstance(o, LaunchCopy)]
    task = scenario.scheduler.snapshot(scenario.now_s).pools[0].tasks[0]
    assert task.reason == "too_new"


def test_a_cold_start_is_late_when_other_cold_ones_have_long_been_reading():
    """Four JVMs start together; a sick host's attempt must not wait for the prior that stands for none seen."""
    scenario = Scenario(replace(CONTROL, startup_prior_s=5.0))
    scenario.stage(4, input_bytes=1000)
    scenario.start_all(4)
    copied_at_s = None
    for step in range(1, 60):
        scenario.now_s = step / 10
        read = {i: round(400 * max(scenario.now_s - 0.5, 0.0)) for i in range(3)}
        orders = scenario.tell(progress=read).orders.get(SOURCE, [])
        if copied_at_s is None and any(isinstance(order, LaunchCopy) and order.index == 3 for order in orders):
            copied_at_s = scenario.now_s
    assert copied_at_s is not None
    assert 0.5 < copied_at_s < 2.0


def test_a_task_s_inputs_are_those_of_its_decisions():
    """What is shown of a live task says how long a fresh one takes on average, and what its job asks for.

    A fresh one takes the geometric mean of Pareto times, whose mean is larger by the tail. Demand is the paper's k b,
    tasks times the least such time, for that is what thresholds are found for: start-up and slowdowns do not count.
    """
    scenario = Scenario()
    scenario.run_with_straggler()
    pool = scenario.scheduler.snapshot(scenario.now_s).pools[0]
    inputs = pool.tasks[0].inputs
    assert inputs["t_new_s"] == pytest.approx(10 / 3, rel=0.1)
    assert inputs["expected_s"] == pytest.approx(mean_time_s(inputs["t_new_s"], pool.startup_s, pool.tail_index))
    mean_work_s = inputs["expected_s"] - pool.startup_s
    assert inputs["demand_s"] == pytest.approx(8 * mean_work_s * (1 - 1 / pool.tail_index))


def test_a_task_is_as_large_as_the_attempt_that_has_read_most_of_it_shows():
    """Its siblings read 1,000 bytes each. The original has read three times as much, its copy has just begun."""
    scenario = Scenario()
    with_copy(scenario)
    scenario.now_s += 1.0
    scenario.tell(progress={3: 3000, 100: 10})
    assert scenario.scheduler.snapshot(scenario.now_s).pools[0].tasks[0].inputs["relative_size"] == pytest.approx(3.0)


@pytest.mark.parametrize(("waiting", "copied_s"), [(0, 0.4), (20, 1.1)])
def test_short_tasks_that_have_reported_nothing_are_not_late_within_their_first_moments(waiting, copied_s):
    """Most of those that take a tenth of a second end before they report; one of two tenths is no straggler."""
    scenario = Scenario(CONTROL)
    scenario.stage(25 + waiting, input_bytes=1000)
    for first in range(0, 24, 8):
        scenario.tell([scenario.started(first + i, i % 4) for i in range(8)])
        scenario.now_s += 0.05
        scenario.tell(progress={first: 100, first + 1: 100})
        scenario.now_s += 0.05
        scenario.tell([scenario.ended(first + i, 0.1, bytes_read=1000) for i in range(8)])
    start_s = scenario.now_s
    decision = scenario.tell([scenario.started(24, 0)])
    while not orders(decision) and scenario.now_s < start_s + 3.0:
        scenario.now_s += 0.1
        decision = scenario.tell()
    assert scenario.now_s - start_s == pytest.approx(copied_s)


@pytest.mark.parametrize(("waiting", "too_new"), [(0, False), (20, True)])
def test_while_slots_are_idle_silence_is_suspicious_sooner(waiting, too_new):
    """A needless copy of a slow start then costs no other task its slot, and a late one costs the job seconds."""
    scenario = Scenario()
    scenario.stage(4, input_bytes=1000)
    scenario.stage(waiting, job="other", stage=2)
    scenario.start_all(4)
    for step in range(1, 10):
        scenario.now_s = step / 10
        scenario.tell(progress={i: round(400 * max(scenario.now_s - 0.5, 0.0)) for i in range(3)})
    assert (scenario.scheduler.snapshot(scenario.now_s).pools[0].tasks[3].reason == "too_new") is too_new


def test_the_only_task_of_a_stage_is_copied_when_its_host_hangs():
    """A single task has no siblings; the past of other stages must do (users name this case first)."""
    scenario = Scenario(replace(CONTROL, startup_prior_s=1.0))
    scenario.stage(1, input_bytes=1000)
    scenario.tell([scenario.started(0, 0)])
    orders = []
    for step in range(1, 100):
        scenario.now_s = step / 5
        orders += scenario.tell().orders.get(SOURCE, [])
    copies = [order for order in orders if isinstance(order, LaunchCopy)]
    assert copies
    assert copies[0].host != "h0"


@pytest.mark.parametrize(("input_bytes", "is_guess"), [(1000, False), (0, True)])
def test_a_time_left_that_no_progress_speaks_for_is_told_as_a_guess(input_bytes, is_guess):
    """Past its siblings' durations it grows with the age, and whoever watches the task sees it come out wrong."""
    scenario = Scenario()
    scenario.stage(4, input_bytes=input_bytes)
    scenario.start_all(4)
    scenario.now_s = 10.0
    scenario.tell([scenario.ended(i, 10.0) for i in range(3)], progress={3: 100} if input_bytes else None)
    scenario.now_s = 20.0
    scenario.tell(progress={3: 200} if input_bytes else None)
    records = [each for each in scenario.records() if each.stage == 1]
    (task,) = scenario.scheduler.snapshot(scenario.now_s).pools[0].tasks
    told = [sentence(each.reason, each.inputs) for each in records] + [sentence(Reason.ON_SCHEDULE, task.inputs)]
    timed = [each for each in told if " s more" in each or "ends in" in each]
    assert timed
    assert all(each.endswith(GUESSED) is is_guess for each in timed)


def test_a_fresh_copy_makes_no_guess_of_a_time_that_progress_speaks_for():
    """The time left is the original's, which ends first; that its copy has read nothing yet says nothing of it."""
    scenario = Scenario()
    scenario.stage(4, input_bytes=1000)
    scenario.start_all(4)
    scenario.now_s = 10.0
    scenario.tell([scenario.ended(i, 10.0) for i in range(3)], progress={3: 900})
    scenario.tell([scenario.started(100, 0, index=3, speculative=True, attempt_number=1)])
    (task,) = scenario.scheduler.snapshot(scenario.now_s).pools[0].tasks
    assert task.inputs["progress"] == pytest.approx(0.9)


@pytest.mark.parametrize(("is_restarted", "copied_s"), [(True, 6.0), (False, 2.0)])
def test_a_python_worker_that_starts_again_after_its_first_rows_is_not_silent(is_restarted, copied_s):
    """The JVM reads at once and waits for the worker, which took the first tasks five seconds before any row."""
    scenario = Scenario(CONTROL)
    scenario.stage(40, operators="Scan parquet, MapInPandas")

    def read(attempts, records):
        return f.Progress(attempt=list(attempts), records_read=[records] * len(attempts))

    def run(attempts, startup_s, killed=()):
        scenario.tell([scenario.started(i, i % 4) for i in attempts])
        scenario.now_s += startup_s
        scenario.tell(progress=read(attempts, 500))
        scenario.now_s += 0.4
        scenario.tell(progress=read(attempts, 1000))
        scenario.now_s += 0.1
        ends = {i: f.Outcome.KILLED if i in killed else f.Outcome.SUCCESS for i in attempts}
        scenario.tell(scenario.ended(i, startup_s + 0.5, records_read=1000, outcome=ends[i]) for i in attempts)

    run(range(8), 5.0)
    run(range(8, 16), 0.3)
    run(range(16, 24), 0.3, killed={23} if is_restarted else ())
    start_s = scenario.now_s
    scenario.tell([scenario.started(24, 3)])
    scenario.now_s += 0.4
    decision = scenario.tell(progress=read([24], 1100))
    while not orders(decision) and scenario.now_s < start_s + 9.0:
        scenario.now_s += 0.1
        decision = scenario.tell()
    assert scenario.now_s - start_s == pytest.approx(copied_s)


@pytest.mark.parametrize("is_told_first", [False, True])
@pytest.mark.parametrize(("operators", "is_cold"), [("Scan parquet, MapInPandas, Exchange", True), ("textFile", False)])
def test_the_task_after_a_kill_is_compared_with_those_that_had_to_start_a_worker_too(operators, is_cold, is_told_first):
    """A killed Python task takes its worker along; whoever comes next forks and imports anew, as the first ones did.

    Spark's listener hears of the end after the shim has heard of the next start on that slot.
    """
    scenario = Scenario()
    scenario.stage(24, operators=operators)
    scenario.start_all(8)
    scenario.now_s = 3.0
    scenario.tell([scenario.ended(i, 3.0) for i in range(8)])
    scenario.tell([scenario.started(i, i % 4) for i in range(8, 15)])
    scenario.now_s = 4.0
    killed = scenario.ended(8, 1.0, outcome=f.Outcome.KILLED)
    scenario.tell(scenario.ended(i, 1.0) for i in range(9, 12))
    scenario.tell(sorted([killed, scenario.started(16, 0)], key=lambda fact: (fact is killed) == is_told_first))
    scenario.tell([scenario.started(17, 1)])
    attempts = scenario.scheduler.cluster.attempts
    cold = {int(attempts.id[row]): bool(attempts.cold[row]) for row in attempts.rows()}
    assert cold == {12: False, 13: False, 14: False, 16: is_cold, 17: False}
    scenario.now_s = 4.2
    scenario.tell([scenario.ended(16, 0.2), scenario.started(18, 0)])
    assert not attempts.cold[scenario.scheduler.cluster.sources[SOURCE].attempts[18]]


@pytest.mark.parametrize("is_cold", [False, True])
def test_two_of_eight_that_hang_are_late_though_few_of_their_own_kind_have_ended(is_cold):
    """They hang on executors that are warm, or not; two siblings ended on such ones and four on others, all in .1 s.

    Neither shows progress. Were each compared with its own kind alone, the other would be one of three for ever.
    """
    scenario = Scenario(CONTROL)
    scenario.stage(8)
    cold, warm = ((0, 1, 2, 3), (4, 5, 6, 7)) if is_cold else ((2, 3, 4, 5), (0, 1, 6, 7))
    scenario.tell([scenario.started(index, index % 4) for index in cold])
    scenario.now_s = 0.1
    scenario.tell([scenario.ended(index, 0.1) for index in cold if index > 1])
    scenario.tell([scenario.started(index, 2 + index % 2 if is_cold else index % 4) for index in warm])
    scenario.now_s = 0.2
    scenario.tell([scenario.ended(index, 0.1) for index in warm if index > 1])
    copied = set()
    while copied != {0, 1} and scenario.now_s < 30.0:
        scenario.now_s += 0.2
        copied |= {order.index for order in orders(scenario.tell()) if isinstance(order, LaunchCopy)}
    assert copied == {0, 1}
    assert scenario.now_s < 12.0


@pytest.mark.parametrize("starts_first", [False, True])
@pytest.mark.parametrize("hung", [7, 14])
def test_a_task_that_hangs_after_a_cold_first_wave_is_compared_with_warm_ones(hung, starts_first):
    """Six first tasks load and fork for 16 s, all others take 1.7 s; a shim may report a slot's next start first."""
    scenario = Scenario(CONTROL, hosts=3, foretold_error=0.5)
    scenario.stage(24)
    ends_s = dict.fromkeys(range(6), 16.0)
    scenario.tell([scenario.started(index, index % 3) for index in ends_s])
    began_s, copied, n_started = dict.fromkeys(ends_s, 0.0), [], 6
    while not copied and scenario.now_s < 60.0:
        scenario.now_s = round(scenario.now_s + 0.1, 1)
        facts = []
        for index in [index for index, end_s in ends_s.items() if end_s <= scenario.now_s and index != hung]:
            pair = [scenario.ended(index, ends_s.pop(index) - began_s[index])]
            if n_started < 24:
                pair.append(scenario.started(n_started, scenario.host_of[index]))
                began_s[n_started], ends_s[n_started] = scenario.now_s, scenario.now_s + 1.7
                n_started += 1
            facts += reversed(pair) if starts_first else pair
        copied = [order.index for order in orders(scenario.tell(facts)) if isinstance(order, LaunchCopy)]
    assert copied == [hung]
    assert scenario.now_s - began_s[hung] <= 5.1
    launch = next(r for r in scenario.records() if r.action is Action.LAUNCH_COPY)
    assert launch.inputs["t_new_s"] < 2.0
