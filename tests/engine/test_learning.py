"""Does what is learned reach the decisions, and is what is over forgotten?"""

import msgspec
import pytest
from msgspec.structs import replace

from controlplane.engine.learning import APPLICATIONS_KEPT, STARTUP, Learning, StoredHabits
from controlplane.engine.scheduler import Scheduler
from controlplane.engine.seeing import job_sums
from controlplane.estimators.tail_index import TailSamples
from controlplane.model import cluster as cluster_of_all
from controlplane.model import facts as f
from controlplane.model.cluster import HOST_KEPT_S, KEPT_AFTER_CLOSE_S
from controlplane.model.decisions import Decision, KillWish, Report
from controlplane.model.parameters import EngineSettings
from tests.scenario import SOURCE, Scenario

pytestmark = pytest.mark.unit


def ended_and_stuck(*, stuck: int) -> Scenario:
    """Forty tasks of one second have ended; a few more have run for a minute and do not move."""
    scenario = Scenario(slots=20)
    scenario.stage(40 + stuck, input_bytes=1000)
    scenario.start_all(40 + stuck)
    scenario.now_s = 1.0
    scenario.tell([scenario.ended(i, 1.0 + i / 100, bytes_read=1000) for i in range(40)])
    scenario.now_s = 60.0
    scenario.tell()
    return scenario


def tail_index(scenario: Scenario) -> float:
    """The one that the pool's allocator and estimates go by."""
    cluster = scenario.scheduler.cluster
    return float(cluster.pools.tail_index[cluster.sources[SOURCE].row])


def test_stragglers_that_still_run_make_the_tail_heavier():
    """Waiting for their ends would tell too late that copies are worth slots."""
    assert tail_index(ended_and_stuck(stuck=3)) < 0.8 * tail_index(ended_and_stuck(stuck=0))


def test_a_stage_that_ends_compares_each_task_with_all_others():
    """Four tasks that start at once take 1, 2, 4 and 8 s; the last three are samples, each over the others' mean."""
    scenario = Scenario()
    scenario.stage(4)
    scenario.start_all(4)
    for index in range(4):
        scenario.now_s = 2.0**index
        scenario.tell([scenario.ended(index, 2.0**index)])
    scenario.tell([f.StageEnded(stage=1, stage_attempt=0)])
    (stored,) = scenario.scheduler.learning.dump()["applications"].values()
    logs = [log - (6 - log) / 3 for log in (1, 2, 3)]
    assert stored["tail"]["samples"] == pytest.approx([2**log for log in logs], abs=1e-6)


def test_attempts_that_were_killed_teach_no_durations():
    """One was ended after 0.1 s and one after 90 s; neither says how long a task of its stage takes, here or later."""
    scenario = Scenario()
    scenario.stage(4, name="map")
    scenario.start_all(4)
    scenario.now_s = 90.0
    killed = [scenario.ended(i, seconds, outcome=f.Outcome.KILLED) for i, seconds in ((0, 0.1), (1, 90.0))]
    scenario.tell([*killed, scenario.ended(2, 5.0)])
    scenario.stage(4, job="later", stage=2, name="map")
    stages = scenario.scheduler.cluster.stages
    first, second = (scenario.scheduler.cluster.sources[SOURCE].stages[number, 0] for number in (1, 2))
    assert (stages.n_finished[first], stages.net_sum_s[first]) == (1, 5.0)
    assert stages.prior_duration_s[second] == 5.0


def test_a_stage_and_its_history_count_alike():
    """The mean of a job that runs had start-up in, its history did not: `srpt` took the newer of equal jobs first."""
    scenario = Scenario()
    scenario.stage(4, job="older", name="map", input_bytes=1000)
    scenario.start_all(2)
    scenario.now_s = 3.0
    scenario.tell(progress={0: 100, 1: 100})
    scenario.now_s = 5.0
    scenario.tell([scenario.ended(0, 5.0, bytes_read=1000), scenario.ended(1, 5.0, bytes_read=1000)])
    scenario.stage(4, job="newer", stage=2, name="map", input_bytes=1000)
    sums = job_sums(scenario.scheduler.cluster)
    assert sums.remaining_tasks.tolist() == [2, 4]
    assert sums.remaining_work_s.tolist() == [4.0, 8.0], "2 s each, without the start-up"


def test_a_sick_host_teaches_no_patience():
    """Eight attempts first move after 0.5 s; one that does so after a minute counts as just late.

    In full, it would raise the mean to 8 s, and stragglers would be taken for attempts that are still starting.
    """
    scenario = Scenario()
    scenario.stage(9, input_bytes=1000)
    scenario.start_all(9)
    scenario.now_s = 0.5
    scenario.tell(progress=dict.fromkeys(range(8), 10))
    pools, row = scenario.scheduler.cluster.pools, scenario.scheduler.cluster.sources[SOURCE].row
    mean_s, deviation_s = float(pools.cold_startup_mean_s[row]), float(pools.cold_startup_deviation_s[row])
    assert (mean_s, deviation_s) == pytest.approx((0.5, 0.125 * 0.75**7))
    scenario.now_s = 60.0
    scenario.tell(progress={8: 10})
    late_s = mean_s + 4 * deviation_s
    assert pools.cold_startup_mean_s[row] == pytest.approx(mean_s + (late_s - mean_s) / 8)


def test_progress_that_is_older_than_its_attempt_counts_as_no_start_up_at_all():
    """Reports have ages of their own, and a time below zero would call the next start late at once."""
    scenario = Scenario()
    scenario.stage(1, input_bytes=1000)
    scenario.start_all(1)
    scenario.now_s = 1.0
    scenario.tell(progress=f.Progress(attempt=[0], age_ms=[6000], bytes_read=[10]))
    row = scenario.scheduler.cluster.sources[SOURCE].row
    assert scenario.scheduler.cluster.pools.cold_startup_mean_s[row] == 0.0


@pytest.mark.parametrize(("first_s", "taught"), [(1.0, 1), (20.0, 0)])
def test_only_estimates_from_rates_teach_how_wrong_a_rate_may_be(first_s, taught):
    """An attempt that is late before its first progress is foretold by its siblings' times: no rate was seen."""
    scenario = Scenario()
    scenario.stage(4, input_bytes=1000)
    scenario.start_all(4)
    for step in range(1, 60):
        scenario.now_s = step / 2
        read = round(1000 * max(0.0, scenario.now_s - first_s + 0.5) / 30)
        scenario.tell(progress={0: read} if read else None)
    scenario.now_s = 30.0
    scenario.tell([scenario.ended(0, 30.0, bytes_read=1000)])
    pools = scenario.scheduler.cluster.pools
    assert (pools.n_foretold + pools.n_cold_foretold)[scenario.scheduler.cluster.sources[SOURCE].row] == taught


def test_more_applications_than_are_remembered_keep_their_tails_while_they_run():
    """Only what has gone may be forgotten; otherwise a hundred busy drivers would learn nothing at all."""
    scheduler, n = Scheduler(EngineSettings()), APPLICATIONS_KEPT + 20
    for index in range(4):
        for number in range(n):
            place = {"stage": 1, "stage_attempt": 0, "index": index, "executor": "e", "host": "h"}
            facts: list = [
                f.AttemptStarted(attempt=index, **place),
                f.AttemptEnded(attempt=index, outcome=f.Outcome.SUCCESS, duration_ms=1000, **place),
            ]
            if index == 0:
                stage = f.StageSubmitted(job="j", stage=1, stage_attempt=0, n_tasks=5)
                executor = f.ExecutorAdded(executor="e", host="h", slots=2)
                attached = f.DriverAttached(application=f"app-{number}")
                facts = [attached, executor, f.JobSubmitted(job="j"), stage, *facts]
            report = Report(source=f"spark:{number}", epoch=1, received_s=float(index), facts=facts, full=index == 0)
            scheduler.handle([report], float(index))
    pools = [source.row for source in scheduler.cluster.sources.values()]
    assert {scheduler.learning.tail_samples(pool) for pool in pools} == {3}


def test_the_next_run_of_an_application_begins_with_its_start_ups():
    """Executors of one program start alike: nobody waits five seconds again to see that a second is usual."""
    scenario = Scenario()
    scenario.tell([f.DriverAttached(application="1", name="daily")], source="spark:1", full=True)
    stage = f.StageSubmitted(job="j", stage=1, stage_attempt=0, n_tasks=1, input_bytes=[1000])
    started = f.AttemptStarted(attempt=1, stage=1, stage_attempt=0, index=0, executor="e", host="h")
    executor = f.ExecutorAdded(executor="e", host="h", slots=1)
    scenario.tell([executor, f.JobSubmitted(job="j"), stage, started], source="spark:1")
    scenario.now_s = 0.8
    scenario.tell(progress={1: 10}, source="spark:1")
    again = Learning(EngineSettings())
    learned = scenario.scheduler.learned()
    learned["applications"]["daily"]["startup"]["slots"] = 99.0  # no start-up time, whoever wrote it
    again.load(learned)
    for scheduler in (scenario.scheduler, Scheduler(EngineSettings())):
        scheduler.restore(again.dump())
        facts = [f.DriverAttached(application="2", name="daily")]
        scheduler.handle([Report(source="spark:2", epoch=1, received_s=1.0, facts=facts, full=True)], 1.0)
        pools, row = scheduler.cluster.pools, scheduler.cluster.sources["spark:2"].row
        assert (pools.cold_startup_mean_s[row], pools.cold_startup_deviation_s[row]) == pytest.approx((0.8, 0.2))
        assert pools.startup_mean_s[row] != pools.startup_mean_s[row]
        assert pools.slots[row] == 0


def test_a_store_that_is_read_late_completes_what_an_application_has_shown_since():
    """Start-ups are seen before any task has ended. Those of the store are older; its tail is the only one."""
    scenario = Scenario()
    scenario.stage(4, input_bytes=1000)
    scenario.start_all(4)
    scenario.now_s = 0.8
    scenario.tell(progress=dict.fromkeys(range(4), 10))
    (name,) = scenario.scheduler.learned()["applications"]
    stored = StoredHabits(tail=TailSamples(samples=[1.0] * 9, finished=[1] * 9), startup=dict.fromkeys(STARTUP, 5.0))
    scenario.scheduler.restore({"applications": {name: msgspec.to_builtins(stored)}})
    pools, row = scenario.scheduler.cluster.pools, scenario.scheduler.cluster.sources[SOURCE].row
    for _ in range(2):
        assert scenario.scheduler.learning.tail_samples(row) == 9
        assert pools.cold_startup_mean_s[row] == pytest.approx(0.8)
        scenario.tell(progress=dict.fromkeys(range(4), 20))
    assert pools.startup_mean_s[row] == 5.0


def test_what_a_full_report_tells_again_after_a_restart_teaches_nothing_twice():
    """The tail's window and the stages' history survive the restart. The open stage does not: it is counted again."""
    scenario = Scenario(slots=20)
    scenario.stage(20, name="map", input_bytes=1000)
    copy = scenario.started(40, 1, index=19, speculative=True)
    scenario.start_all(20)
    scenario.tell([copy])
    scenario.now_s = 4.0
    ends = [scenario.ended(i, 1.0 + i / 10, bytes_read=1000) for i in range(12)]
    ends.append(scenario.ended(40, 1.0, index=19, speculative=True, bytes_read=1000))
    scenario.tell(ends)
    learned = scenario.scheduler.learned()
    for application in learned["applications"].values():
        application["startup"] = dict.fromkeys(STARTUP, 5.0)
    (stage,) = [info.fact for info in scenario.scheduler.cluster.stage_infos.values()]

    def restarted(told: bool) -> tuple[Scheduler, Decision]:
        scheduler = Scheduler(EngineSettings())
        scheduler.restore(learned)
        facts = [scenario.attached, *scenario.executors, stage, *(replace(fact, told=told) for fact in ends)]
        report = Report(source=SOURCE, epoch=1, received_s=9.0, facts=facts, full=True)
        return scheduler, scheduler.handle([report], 9.0)[0]

    (again, decision), (anew, decision_anew) = restarted(told=True), restarted(told=False)
    assert again.learned() == learned
    assert anew.learned()["stages"] != learned["stages"], "nobody has learned these"
    assert anew.learned()["applications"] != learned["applications"]
    assert (len(decision.stock_copies), len(decision_anew.stock_copies)) == (0, 1)
    for name in ("n_done", "n_finished", "net_sum_s", "log_cost_sum"):
        first, other = (getattr(scheduler.cluster.stages, name)[0] for scheduler in (again, anew))
        assert first == pytest.approx(other), name
    assert again.cluster.stages.n_finished[0] == 13


def test_a_hundred_applications_are_remembered_after_they_have_gone():
    """The newest ones, beside the one that runs: a recurring application comes back, and the store stays small."""
    scheduler = Scheduler(EngineSettings())
    scheduler.restore({"applications": {f"app {number}": {} for number in range(150)}})
    facts = [f.DriverAttached(application="1", name="runs")]
    scheduler.handle([Report(source=SOURCE, epoch=1, received_s=0.0, facts=facts, full=True)], 0.0)
    assert list(scheduler.learned()["applications"]) == [*(f"app {number}" for number in range(50, 150)), "runs"]


def test_what_finished_tasks_have_written_raises_the_transfer_ratio():
    """It still has to be fetched, so it belongs to the remaining downstream transfer (Hopper, section 4.2)."""

    def ratio(written: int) -> float:
        scenario = Scenario()
        for job in ("first", "second"):
            scenario.tell([f.JobSubmitted(job=job, name="query", stages=[1, 2], stage_tasks=[4, 1], edges=[(1, 2)])])
            scenario.stage(4, job=job, name="map")
            base = 0 if job == "first" else 10
            scenario.tell([scenario.started(base + i, i, index=i) for i in range(4)])
            scenario.now_s += 1.0
            n_ended = 4 if job == "first" else 2
            facts = [scenario.ended(base + i, 1.0, index=i, shuffle_bytes_written=written) for i in range(n_ended)]
            over = [f.StageEnded(stage=1, stage_attempt=0, shuffle_write_bytes=4000), f.JobEnded(job=job)]
            scenario.tell(facts + over * (job == "first"))
        cluster = scenario.scheduler.cluster
        return float(cluster.jobs.transfer_ratio[cluster.sources[SOURCE].jobs["second"]])

    assert ratio(1000) == pytest.approx(2 * ratio(0))


def test_a_bushy_dag_sums_transfers_and_work_over_its_open_stages():
    """Hopper, section 4.2. Beside much work, a stage with little of it hardly counts, however much it writes.

    Maps take 10 s and write 1,000 bytes a second, scans take 1 s and write 9,000: 4 tasks of each left are 40,000 and
    36,000 bytes for 44 s of work. The mean of both stages' ratios would be almost three times that.
    """
    scenario = Scenario()
    edges = [(1, 3), (2, 3)]
    for number in range(2):
        job = f"job {number}"
        submitted = f.JobSubmitted(job=job, name="query", stages=[1, 2, 3], stage_tasks=[4, 4, 1], edges=edges)
        scenario.tell([submitted])
        for stage, name, seconds, per_s in ((1, "map", 10.0, 1000), (2, "scan", 1.0, 9000)):
            scenario.stage(4, job=job, stage=stage, name=name)
            if number == 0:
                attempts = [10 * stage + index for index in range(4)]
                scenario.tell([scenario.started(attempt, 0, index=attempt % 10, stage=stage) for attempt in attempts])
                scenario.now_s += seconds
                facts = [scenario.ended(attempt, seconds, index=attempt % 10, stage=stage) for attempt in attempts]
                written = round(4 * seconds * per_s)
                scenario.tell([*facts, f.StageEnded(stage=stage, stage_attempt=0, shuffle_write_bytes=written)])
        if number == 0:
            scenario.tell([f.JobEnded(job=job)])
    typical = scenario.scheduler.learning.transfer.typical_bytes_per_work_s
    cluster = scenario.scheduler.cluster
    ratio = float(cluster.jobs.transfer_ratio[cluster.sources[SOURCE].jobs["job 1"]])
    assert ratio == pytest.approx((40_000 + 36_000) / 44 / typical)


def test_a_task_whose_like_has_never_ended_is_taken_for_one_of_a_second():
    """Four maps take 4 s each by their past and write 100 bytes a second, four scans write 900 a second."""
    scenario = Scenario()
    writes = {"map": {"shuffled_bytes": 100.0, "work_s": 1.0}, "scan": {"shuffled_bytes": 900.0, "work_s": 1.0}}
    typical = {"typical": {"shuffled_bytes": 100.0, "work_s": 1.0}}
    scenario.scheduler.restore(
        {"stages": {"stages": {"map|4|": {"duration_s": 4.0}}}, "transfer": {"classes": writes, "all": typical}}
    )
    scenario.tell([f.JobSubmitted(job="job", stages=[1, 2, 3], stage_tasks=[4, 4, 1], edges=[(1, 3), (2, 3)])])
    scenario.stage(4, stage=1, name="map")
    scenario.stage(4, stage=2, name="scan")
    cluster = scenario.scheduler.cluster
    ratio = float(cluster.jobs.transfer_ratio[cluster.sources[SOURCE].jobs["job"]])
    assert ratio == pytest.approx((16 * 100 + 4 * 900) / (16 + 4) / 100)


def test_only_open_stages_that_feed_another_leave_anything_to_be_fetched():
    """No stage comes after the last one, and nobody runs what is left of one that has ended."""
    scenario = Scenario()
    writes = {"map": {"shuffled_bytes": 100.0, "work_s": 1.0}, "scan": {"shuffled_bytes": 900.0, "work_s": 1.0}}
    typical = {"typical": {"shuffled_bytes": 100.0, "work_s": 1.0}}
    scenario.scheduler.restore({"transfer": {"classes": writes, "all": typical}})
    scenario.tell([f.JobSubmitted(job="job", stages=[1, 2, 3], stage_tasks=[4, 4, 4], edges=[(1, 3), (2, 3)])])
    for stage, name in enumerate(("map", "scan", "result"), start=1):
        scenario.stage(4, stage=stage, name=name)
    cluster = scenario.scheduler.cluster
    row = cluster.sources[SOURCE].jobs["job"]
    assert cluster.jobs.transfer_ratio[row] == pytest.approx(5.0)
    scenario.tell([f.StageEnded(stage=1, stage_attempt=0)])
    assert cluster.jobs.transfer_ratio[row] == pytest.approx(9.0)


def test_transfer_ratios_are_held_against_what_came_out():
    """The second run writes twice as much as the first, so it was foretold at half; the first not at all."""
    scenario = Scenario()
    for number, written in enumerate((4000, 8000)):
        job = f"job {number}"
        scenario.tell([f.JobSubmitted(job=job, name="query", stages=[1, 2], stage_tasks=[4, 1], edges=[(1, 2)])])
        scenario.stage(4, job=job, name="map")
        scenario.tell([scenario.started(10 * number + i, i, index=i) for i in range(4)])
        scenario.now_s += 1.0
        ended = [scenario.ended(10 * number + i, 1.0, index=i) for i in range(4)]
        over = f.StageEnded(stage=1, stage_attempt=0, shuffle_write_bytes=written)
        scenario.tell([*ended, over, f.JobEnded(job=job)])
    accuracy = scenario.scheduler.snapshot(scenario.now_s).accuracy
    assert (accuracy["transfer_ratio_samples"], accuracy["transfer_ratio_median_ratio"]) == (1, pytest.approx(0.5))


def test_a_host_that_left_long_ago_gives_its_row_back():
    """With dynamic allocation hosts come and go for weeks; what was learned of one fades long before."""
    scenario = Scenario(hosts=2)
    scenario.tell([f.ExecutorLost(executor="e1")])
    cluster = scenario.scheduler.cluster
    scenario.now_s = HOST_KEPT_S - 1
    scenario.tell()
    assert set(cluster.host_rows) == {"h0", "h1"}
    scenario.now_s = HOST_KEPT_S + 1
    scenario.tell()
    assert set(cluster.host_rows) == {"h0"}
    scenario.tell([f.ExecutorAdded(executor="e2", host="h2", slots=1)])
    assert cluster.hosts.size == 2


def test_of_hosts_that_left_those_that_left_first_are_forgotten_first(monkeypatch):
    """A source that lets executors come and go on ever new hosts would leave millions within ten minutes."""
    monkeypatch.setattr(cluster_of_all, "MOST_LEFT_HOSTS", 2)
    scenario = Scenario(hosts=5)
    for executor in ("e3", "e0", "e1", "e2"):
        scenario.now_s += 1
        scenario.tell([f.ExecutorLost(executor=executor)])
    assert set(scenario.scheduler.cluster.host_rows) == {"h1", "h2", "h4"}


def test_a_host_that_comes_back_soon_is_remembered():
    """Executors of an idle application are given up within a minute, and the sick host is still sick after it."""
    scenario = Scenario(hosts=2)
    scenario.tell([f.ExecutorLost(executor="e1")])
    scenario.now_s = HOST_KEPT_S - 1
    scenario.tell([f.ExecutorAdded(executor="e2", host="h1", slots=1)])
    scenario.now_s = 2 * HOST_KEPT_S
    scenario.tell()
    assert set(scenario.scheduler.cluster.host_rows) == {"h0", "h1"}


@pytest.mark.parametrize("leaves", [False, True])
def test_a_shadow_copy_whose_straggler_never_ends_well_is_forgotten_with_its_stage_or_driver(leaves):
    """It never loses a race, and where drivers run for weeks each one would stay."""
    scenario = Scenario(EngineSettings(mode=f.Mode.SHADOW))
    scenario.run_with_straggler()
    ledger = scenario.scheduler.ledger
    assert ledger.shadows
    over = f.StageEnded(stage=1, stage_attempt=0, outcome=f.Outcome.FAILED)
    failed = [scenario.ended(3, 9.0, outcome=f.Outcome.FAILED), over]
    scenario.tell([f.DriverDetached()] if leaves else failed)
    assert not ledger.shadows


def test_orders_about_attempts_that_never_end_are_forgotten_with_their_stage():
    """A driver that runs for weeks loses some ends, and each would leave a copy or a kill behind."""
    scenario = Scenario()
    (copy, *_) = scenario.run_with_straggler(slow=3)
    scenario.tell([scenario.started(100, 0, index=3, speculative=True, order=copy.order)])
    scenario.handle(KillWish(source=SOURCE, attempt=100))
    scenario.tell([f.StageEnded(stage=1, stage_attempt=0), f.JobEnded(job="job")])
    ledger = scenario.scheduler.ledger
    assert (ledger._copies.keys(), ledger._kills.keys()) == ({(SOURCE, 100)}, {(SOURCE, (1, 0, 3))})
    scenario.now_s += KEPT_AFTER_CLOSE_S + 1
    scenario.tell()
    assert (ledger._copies, ledger._kills) == ({}, {})
    assert {entry.kind for entry in ledger.open.values()} <= {"container_grant"}


BAD_ENTRIES = {
    "applications": [
        None,
        5,
        {"tail": {"samples": ["x"], "finished": [1]}},
        {"tail": {"samples": [1.0], "finished": []}},
        {"shared_slowness": {"seen_log": -1.0}},
        {"shared_slowness": {"seen_log": 1.0, "kept_log": 2.0}},
    ],
    "stages": [None, {}, {"duration_s": "1"}, {"duration_s": 0.0}, {"duration_s": 1.0, "log_cost": None}],
    "transfer": [None, {"work_s": 0.0}, {"shuffled_bytes": -1.0, "work_s": 1.0}, {"work_s": None}],
}
CASES = [(part, entry) for part, entries in BAD_ENTRIES.items() for entry in entries]


@pytest.mark.parametrize(("part", "entry"), CASES)
def test_stored_entries_that_are_not_fit_are_left_out_and_named(part, entry):
    """Each would fail every cycle that its application is in, for everybody, and start after start."""
    learned = {
        "applications": {"good": {}, **({"bad": entry} if part == "applications" else {})},
        "stages": {"stages": {"good": {"duration_s": 1.0}, **({"bad": entry} if part == "stages" else {})}},
        "transfer": {"classes": {"good": {"work_s": 1.0}, **({"bad": entry} if part == "transfer" else {})}},
    }
    learning = Learning(EngineSettings())
    assert learning.load(learned) == ["bad"]
    kept = learning.dump()
    names = {*kept["applications"], *kept["stages"]["stages"], *kept["transfer"]["classes"]}
    assert (names, len(kept["applications"])) == ({"good"}, 1)


@pytest.mark.parametrize("part", ["applications", "stages", "transfer"])
@pytest.mark.parametrize("stored", [None, [], "x", 5])
def test_a_stored_part_that_is_none_does_not_take_the_others_with_it(part, stored):
    """What is left can still be used, and what is not is told."""
    good = {
        "applications": {"good": {}},
        "stages": {"stages": {"good": {"duration_s": 1.0}}},
        "transfer": {"classes": {"good": {"work_s": 1.0}}},
    }
    learning = Learning(EngineSettings())
    assert len(learning.load(good | {part: stored})) == 1
    kept = learning.dump()
    names = {"applications": kept["applications"], "stages": kept["stages"]["stages"]}
    names["transfer"] = kept["transfer"]["classes"]
    assert {name for name, entries in names.items() if "good" in entries} == good.keys() - {part}


def test_a_late_recall_is_older_than_what_has_been_learned_meanwhile():
    """A stage's newer past stays, and so does the longest stage that was seen."""
    learning = Learning(EngineSettings())
    learning.load({"stages": {"stages": {"a": {"duration_s": 100.0}}}})
    learning.load({"stages": {"stages": {"a": {"duration_s": 5.0}, "b": {"duration_s": 6.0}}}})
    stages = learning.dump()["stages"]["stages"]
    assert {name: stage["duration_s"] for name, stage in stages.items()} == {"a": 100.0, "b": 6.0}
    unknown = f.StageSubmitted(job="j", stage=1, stage_attempt=0, n_tasks=3, kind="result")
    assert learning.remaining.history.late_s(unknown, 0.0) == 200.0


def test_what_an_application_has_learned_in_this_run_outlasts_a_late_recall():
    """The store was locked at the start; by now there are three durations, and the store knows of one."""
    old, learning = Scenario(), Scenario()
    for scenario, n_tasks in ((old, 1), (learning, 3)):
        scenario.stage(4)
        scenario.start_all(4)
        scenario.now_s = 2.0
        scenario.tell([scenario.ended(i, 2.0) for i in range(n_tasks)])
    now = learning.scheduler.learning.dump()["applications"]
    learning.scheduler.learning.load(old.scheduler.learning.dump())
    assert learning.scheduler.learning.dump()["applications"] == now != old.scheduler.learning.dump()["applications"]


def test_a_late_recall_leaves_what_has_been_learned_meanwhile():
    """A store that was locked at the start is read when it can be, and may know nothing of those who came since."""
    learning = Learning(EngineSettings())
    learning.load({"applications": {"new": {}}, "stages": {"stages": {"new": {"duration_s": 1.0}}, "all": {}},
                   "transfer": {"classes": {"new": {"work_s": 1.0}}}})  # fmt: skip
    known = learning.dump()
    assert learning.load({}) == []
    assert learning.dump() == known
    learning.load({"applications": {"old": {}}})
    assert set(learning.dump()["applications"]) == {"new", "old"}
