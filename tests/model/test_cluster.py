"""Do facts change the state as they should, once, and whatever order or company they come in?"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from controlplane.hosts import KINDS
from controlplane.model import facts as f
from controlplane.model.apply import apply
from controlplane.model.changes import Changes
from controlplane.model.cluster import Cluster
from controlplane.model.columns import ints
from controlplane.model.decisions import Report
from controlplane.model.table import Table
from tests.scenario import SOURCE, Scenario

pytestmark = pytest.mark.unit


def test_rows_are_reused_after_growth():
    """Two hours of attempts must fit into the rows of those that live at once."""

    class Numbers(Table):
        value = ints(-1)

    table = Numbers(capacity=2)
    rows = [table.add(value=i) for i in range(5)]
    table.remove(rows[1])
    assert table.value[rows[1]] == -1
    assert table.add(value=9) == rows[1]
    assert table.value[table.rows()].tolist() == [0, 9, 2, 3, 4]


def test_a_stage_takes_its_requests_along():
    """Spark asks for slots when a stage comes and says nothing when it goes; a retry of it asks anew."""
    scenario = Scenario()
    scenario.stage(2)
    asked = [f.ResourceRequested(request=f"{n}", count=2, job="job", stage=1, stage_attempt=n) for n in (0, 1)]
    scenario.tell([*asked, f.StageEnded(stage=1, stage_attempt=0)])
    assert list(scenario.scheduler.cluster.sources[SOURCE].requests) == ["1"]


def counts(cluster: Cluster) -> dict:
    """Everything that is counted, for comparisons."""
    stages = cluster.stages.rows()
    return {
        "attempts": sorted(cluster.attempts.id[cluster.attempts.rows()].tolist()),
        "running": cluster.executors.running[cluster.executors.rows()].tolist(),
        "stages": [
            [int(column[row]) for column in (cluster.stages.n_done, cluster.stages.n_active, cluster.stages.n_running)]
            for row in stages
        ],
        "copies": cluster.stages.n_copies[stages].tolist(),
        "slots": cluster.pools.slots[cluster.pools.rows()].tolist(),
    }


def recounted(cluster: Cluster) -> list[list[int]]:
    """(done, active, running) of every stage, counted from the attempts and tasks themselves."""
    out = []
    for row in cluster.stages.rows():
        info = cluster.stage_infos[int(row)]
        live = [a for a in cluster.attempts.rows() if cluster.attempts.stage[a] == row]
        active = {int(cluster.attempts.task[a]) for a in live if not cluster.tasks.done[cluster.attempts.task[a]]}
        out.append([sum(info.done), len(active), len(live)])
    return out


events = st.lists(
    st.tuples(
        st.sampled_from(["start", "copy", "success", "killed", "failed", "lose", "add"]),
        st.integers(0, 5),
        st.integers(0, 2),
    ),
    max_size=40,
)


@settings(max_examples=200, deadline=None)
@given(events=events, repeat=st.booleans())
def test_counters_equal_a_recount_and_repeats_change_nothing(events, repeat):
    """Whatever happens in whatever order, the counters are those of the attempts that live; a fact twice is one."""
    cluster, changes = Cluster(KINDS), Changes()
    scenario = [f.DriverAttached(application="a")]
    scenario += [f.ExecutorAdded(executor=f"e{i}", host=f"h{i}", slots=2) for i in range(3)]
    scenario += [f.StageSubmitted(job="j", stage=1, stage_attempt=0, n_tasks=6)]
    apply(cluster, Report(source="spark:a", epoch=1, received_s=0.0, facts=scenario, full=True), changes)
    live: dict[int, tuple[int, int]] = {}
    for n, (kind, index, host) in enumerate(events, 1):
        where = {"executor": f"e{host}", "host": f"h{host}"}
        fact: f.AnyFact
        if kind in ("start", "copy"):
            fact = f.AttemptStarted(
                attempt=n, stage=1, stage_attempt=0, index=index, speculative=kind == "copy", **where
            )
            live[n] = (index, host)
        elif kind == "lose":
            fact = f.ExecutorLost(executor=f"e{host}")
        elif kind == "add":
            fact = f.ExecutorAdded(executor=f"e{host}", host=f"h{host}", slots=2)
        else:
            attempt = min(live, default=n)
            index, host = live.pop(attempt, (index, host))
            fact = f.AttemptEnded(
                attempt=attempt,
                stage=1,
                stage_attempt=0,
                index=index,
                executor=f"e{host}",
                host=f"h{host}",
                outcome=f.Outcome(kind),
                duration_ms=5,
            )
        report = Report(source="spark:a", epoch=1, received_s=float(n), facts=[fact])
        apply(cluster, report, changes)
        if repeat:
            before = counts(cluster)
            apply(cluster, report, changes)
            assert counts(cluster) == before
    state = counts(cluster)
    assert state["stages"] == recounted(cluster)
    assert sum(state["running"]) == len(state["attempts"])
    assert min(cluster.executors.running) >= 0
    assert not changes.bad


def test_a_full_report_sweeps_away_what_it_does_not_name():
    """After a gap only the full report is the truth: attempts it leaves out are lost, jobs are over."""
    scenario = Scenario()
    scenario.stage(2)
    scenario.start_all(2)
    scenario.stage(1, job="other", stage=2)
    stage = f.StageSubmitted(job="job", stage=1, stage_attempt=0, n_tasks=2, kind="shuffle_map")
    executors = scenario.executors[:3]
    scenario.tell([scenario.attached, *executors, f.JobSubmitted(job="job"), stage, scenario.started(0, 0)], full=True)
    cluster = scenario.scheduler.cluster
    assert list(cluster.sources[SOURCE].attempts) == [0]
    assert list(cluster.sources[SOURCE].jobs) == ["job"]
    assert cluster.pools.slots[0] == 6


def test_what_a_job_is_made_of_takes_the_place_of_what_was_told_before():
    """A job group that never ends leaves its old Spark jobs out, and so do we."""
    scenario = Scenario()
    for spark_job in (7, 8):
        stages = [spark_job, spark_job + 10]
        job = f.JobSubmitted(job="j", host_ids=[spark_job], stages=stages, stage_tasks=[4, 1], edges=[tuple(stages)])
        scenario.tell([job])
    cluster = scenario.scheduler.cluster
    info = cluster.job_infos[cluster.sources[SOURCE].jobs["j"]]
    assert (info.host_ids, info.edges, info.stage_tasks) == ([8], [(8, 18)], {8: 4, 18: 1})


def test_an_unknown_source_is_asked_for_everything():
    """Facts without context are not guessed at."""
    scenario = Scenario()
    report = Report(source="spark:new", epoch=1, received_s=0.0, facts=[f.JobSubmitted(job="j")])
    assert scenario.handle(report).want_full == {"spark:new"}


@pytest.mark.parametrize("unknown", [{"executor": "e9", "host": "h9"}, {"stage": 2}])
def test_a_start_on_an_executor_or_in_a_stage_that_is_not_known_asks_for_everything(unknown):
    """The report that told of it was lost; without another the attempt would never be seen."""
    scenario = Scenario()
    scenario.stage(1)
    assert scenario.tell([replace(scenario.started(0, 0), **unknown)]).want_full == {SOURCE}
    assert not scenario.tell([scenario.started(0, 0)]).want_full


@pytest.mark.parametrize("unknown", [{"executor": "e9", "host": "h9"}, {"stage": 2}])
def test_a_full_report_is_not_answered_by_a_wish_for_another(unknown):
    """An attempt may outlive its stage, of which a control plane that has started since can learn nothing more."""
    scenario = Scenario()
    scenario.stage(1)
    facts = [scenario.attached, *scenario.executors, replace(scenario.started(0, 0), **unknown)]
    assert not scenario.tell(facts, full=True).want_full


def test_a_full_report_may_end_in_a_goodbye():
    """An executor that it leaves out went first; nothing of the source is there to be swept."""
    scenario = Scenario()
    scenario.stage(2)
    scenario.start_all(2)
    scenario.tell([scenario.attached, scenario.executors[0], f.DriverDetached()], full=True)
    assert not scenario.scheduler.cluster.sources


def test_a_job_that_ends_again_looks_at_no_stage_that_is_over():
    """Thousands of ends of a job of thousands of stages stopped the control plane for a minute."""
    scenario = Scenario()
    for stage in range(3):
        scenario.stage(1, stage=stage)
    info = scenario.scheduler.cluster.job_infos[scenario.scheduler.cluster.sources[SOURCE].jobs["job"]]
    scenario.tell([scenario.started(stage, 0, stage=stage, index=0) for stage in range(3)])
    scenario.tell([f.StageEnded(stage=0, stage_attempt=0)])
    assert (len(info.stage_rows), len(info.open_rows)) == (3, 2)
    scenario.tell([f.JobEnded(job="job")] * 2)
    assert (len(info.stage_rows), len(info.open_rows)) == (3, 0)


def test_a_report_holds_a_queue_once():
    """It is the whole queue: another one in the same report is refused, and the first counts."""
    scenario = Scenario()
    attached = f.DriverAttached(application="q", capabilities=f.Capabilities(order_pending=True))
    demands = [f.QueueDemand(slots=slots, applications=[]) for slots in (8, 9)]
    report = Report(source="yarn:q", epoch=1, received_s=0.0, facts=[attached, *demands], full=True)
    (bad,) = scenario.handle(report).bad_facts
    assert "queue_demand" in str(bad)
    cluster = scenario.scheduler.cluster
    assert cluster.pools.slots[cluster.sources["yarn:q"].row] == 8


def test_a_newer_epoch_forgets_the_old_one():
    """A restarted driver's attempt ids begin again and must not meet the old ones."""
    scenario = Scenario()
    scenario.stage(2)
    scenario.start_all(2)
    scenario.tell([scenario.attached], full=True, epoch=2)
    assert not scenario.scheduler.cluster.sources[SOURCE].attempts
    assert scenario.scheduler.cluster.pools.slots[scenario.scheduler.cluster.sources[SOURCE].row] == 0


def test_a_bad_fact_is_refused_by_itself_and_names_its_field():
    """One impossible index must not cost the rest of the message."""
    scenario = Scenario()
    scenario.stage(2)
    decision = scenario.tell([scenario.started(7, 0, index=7), scenario.started(1, 1)])
    assert decision.bad_facts == [(SOURCE, "spark:app reported attempt_started.index = 7, want < n_tasks (2)")]
    assert list(scenario.scheduler.cluster.sources[SOURCE].attempts) == [1]


def test_tasks_are_done_whose_ends_a_full_report_leaves_out():
    """A driver with many finished tasks tells their numbers only; a task that runs again is told as running."""
    scenario = Scenario()
    cluster = scenario.scheduler.cluster
    done = f.StageSubmitted(job="job", stage=1, stage_attempt=0, n_tasks=10, done=[(0, 3), (7, 7)])
    for _ in range(2):
        scenario.tell([scenario.attached, *scenario.executors, f.JobSubmitted(job="job"), done], full=True)
        assert counts(cluster)["stages"] == [[5, 0, 0]]
    scenario.tell([scenario.started(9, 0, index=9), scenario.started(3, 1, speculative=True)])
    assert recounted(cluster) == counts(cluster)["stages"] == [[5, 1, 2]]


def test_an_age_is_counted_back_from_when_its_report_came():
    """Whoever attaches to a running driver knows how long its attempts have run."""
    scenario = Scenario()
    scenario.stage(1)
    scenario.now_s = 50.0
    scenario.tell([replace(scenario.started(0, 0), age_ms=3000)])
    assert scenario.scheduler.cluster.attempts.start_s[0] == 47.0


def test_the_loser_of_a_task_that_a_full_report_calls_done_does_not_undo_it():
    """It runs on for a while, older than the report; what starts after the report runs the task again."""
    scenario = Scenario()
    cluster = scenario.scheduler.cluster
    scenario.now_s = 10.0
    done = f.StageSubmitted(job="job", stage=1, stage_attempt=0, n_tasks=10, done=[(0, 3)])
    loser = replace(scenario.started(0, 0, index=0), age_ms=5000)
    scenario.tell([scenario.attached, *scenario.executors, f.JobSubmitted(job="job"), done, loser], full=True)
    assert recounted(cluster) == counts(cluster)["stages"] == [[4, 0, 1]]
    scenario.now_s = 11.0
    scenario.tell([scenario.ended(0, 6.0, outcome=f.Outcome.KILLED), scenario.started(1, 1, index=1)])
    assert recounted(cluster) == counts(cluster)["stages"] == [[3, 1, 1]]


def test_what_ended_just_before_a_driver_starts_anew_does_not_keep_its_new_ends_from_teaching():
    """Both are in one batch; the rows that the old ends speak of are gone."""
    scenario = Scenario()
    scenario.stage(2)
    scenario.start_all(2)
    anew = [scenario.attached, *scenario.executors, f.StageSubmitted(job="job", stage=1, stage_attempt=0, n_tasks=2)]
    ends = [scenario.ended(0, 1.0)]
    scenario.handle(
        Report(source=SOURCE, epoch=1, received_s=0.0, facts=ends),
        Report(source=SOURCE, epoch=2, received_s=0.0, facts=[*anew, *ends], full=True),
    )
    assert scenario.scheduler.cluster.stages.n_finished[0] == 1


@pytest.mark.parametrize("n_live", [2, 8])
def test_whatever_runs_are_done_the_counters_are_those_of_the_tasks(n_live):
    """Tasks that are done may be live as well, fewer of them than a run is long, or more."""
    scenario = Scenario()
    scenario.stage(10)
    scenario.start_all(n_live)
    for done in ([(5, 7)], [(0, 0), (2, 2), (5, 7)], [(0, 9)]):
        scenario.tell([f.StageSubmitted(job="job", stage=1, stage_attempt=0, n_tasks=10, done=done)])
        over = {index for first, last in done for index in range(first, last + 1)}
        expected = [len(over), len(set(range(n_live)) - over), n_live]
        assert recounted(scenario.scheduler.cluster) == counts(scenario.scheduler.cluster)["stages"] == [expected]


@pytest.mark.parametrize("done", [[(0, 3), (3, 5)], [(4, 5), (0, 1)], [(2, 1)], [(8, 10)], [(0, 9)] * 2])
@pytest.mark.parametrize("is_known", [False, True])
def test_runs_that_do_not_ascend_within_the_stage_are_refused(done, is_known):
    """The same run told a million times in one message would stop every other driver for hours."""
    scenario = Scenario()
    stages = scenario.scheduler.cluster.sources[SOURCE].stages
    if is_known:
        scenario.stage(10)
    n_tasks = 20 if is_known else 10
    bad = f.StageSubmitted(job="job", stage=1, stage_attempt=0, n_tasks=n_tasks, done=done)
    ((_, problem),) = scenario.tell([bad]).bad_facts
    assert "reported stage_submitted.done = " in problem
    assert problem.endswith("want runs that ascend below n_tasks (10)")
    assert bool(stages) is is_known
    assert not scenario.scheduler.cluster.stages.n_done.any()


def test_a_report_says_once_which_tasks_of_a_stage_are_done():
    """So what a message costs is bounded by the tasks of its stages, however often it names them."""
    scenario = Scenario()
    once, again = (
        f.StageSubmitted(job="job", stage=1, stage_attempt=0, n_tasks=10, done=[run]) for run in ((0, 3), (7, 7))
    )
    scenario.tell([once, again])
    assert counts(scenario.scheduler.cluster)["stages"] == [[4, 0, 0]]
    scenario.tell([again])
    assert counts(scenario.scheduler.cluster)["stages"] == [[5, 0, 0]]


def test_a_job_whose_stages_and_their_tasks_do_not_match_is_refused():
    """Which number of tasks belongs to which stage is then anybody's guess; not to know it is no mistake."""
    scenario = Scenario()
    decision = scenario.tell([f.JobSubmitted(job="torn", stages=[1, 2], stage_tasks=[4])])
    assert decision.bad_facts == [(SOURCE, "spark:app reported job_submitted.stage_tasks = 1, want stages (2) rows")]
    assert not scenario.tell([f.JobSubmitted(job="whole", stages=[1, 2])]).bad_facts
    assert list(scenario.scheduler.cluster.sources[SOURCE].jobs) == ["whole"]


def test_progress_columns_of_different_lengths_are_refused_whole():
    """A torn message must not give one attempt another's bytes."""
    scenario = Scenario()
    scenario.stage(2, input_bytes=10)
    scenario.start_all(2)
    report = Report(
        source=SOURCE, epoch=1, received_s=1.0, facts=[], progress=f.Progress(attempt=[0, 1], bytes_read=[5])
    )
    assert "progress.bytes_read" in scenario.handle(report).bad_facts[0][1]
    assert scenario.scheduler.cluster.attempts.bytes_read[:2].tolist() == [0, 0]


def test_progress_never_goes_back():
    """Totals so far may arrive out of order, and a column that is left out says nothing."""
    scenario = Scenario()
    scenario.stage(1)
    scenario.tell([scenario.started(0, 0)])
    columns = ("bytes_read", "bytes_written", "records_read", "records_written", "rows_out", "cpu_ms")
    for totals in ((10, 20, 30, 40, 50, 6000), (1, 2, 3, 4, 5, 600), ()):
        told = dict(zip(columns, ([total] for total in totals), strict=False))
        progress = f.Progress(attempt=[0], **told)
        scenario.handle(Report(source=SOURCE, epoch=1, received_s=0.0, facts=[], progress=progress))
    attempt = scenario.scheduler.cluster.attempts.reported[0]
    known = ("bytes_read", "bytes_written", "records_read", "records_written", "rows_out", "cpu_s")
    assert [attempt[name] for name in known] == [10, 20, 30, 40, 50, 6.0]


def test_a_report_without_more_work_is_no_progress():
    """Nothing read yet is no end of the start-up, and what was read before is no sign of life."""
    scenario = Scenario()
    scenario.stage(1, input_bytes=1000)
    scenario.tell([scenario.started(0, 0)])
    seen = []
    for now_s, n_bytes in ((1.0, 0), (2.0, 500), (3.0, 500)):
        scenario.now_s = now_s
        scenario.tell(progress={0: n_bytes})
        attempt = scenario.scheduler.cluster.attempts.reported[0]
        seen.append((attempt["first_s"], attempt["advanced_s"]))
    assert np.array(seen) == pytest.approx(np.array([(np.nan, 0.0), (2.0, 2.0), (2.0, 2.0)]), nan_ok=True)


def test_work_in_a_new_unit_is_counted_from_the_beginning():
    """The first bytes may come after many records: a thousand records are not a thousand bytes."""
    scenario = Scenario()
    scenario.stage(1, input_bytes=[4000])
    scenario.tell([scenario.started(0, 0)])
    seen = []
    for now_s, told in ((1.0, {"records_read": [999]}), (2.0, {"records_read": [1000], "bytes_read": [500]})):
        scenario.now_s = now_s
        scenario.tell(progress=f.Progress(attempt=[0], **told))
        attempt = scenario.scheduler.cluster.attempts.reported[0]
        seen.append(tuple(attempt[name] for name in ("work", "first_work", "first_s", "advanced_s")))
    assert seen == [(999.0, 999.0, 1.0, 1.0), (500.0, 0.0, 1.0, 2.0)]


def test_an_end_without_a_start_counts_once():
    """Starts may be dropped by a full queue; an end tells the whole story by itself."""
    scenario = Scenario()
    scenario.stage(2)
    scenario.host_of[0] = 1
    end = scenario.ended(0, 2.0)
    scenario.now_s = 3.0
    scenario.tell([end, end])
    cluster = scenario.scheduler.cluster
    assert counts(cluster)["stages"] == [[1, 0, 0]]
    assert cluster.executors.running.tolist()[:4] == [0, 0, 0, 0]


def test_a_task_that_lost_its_output_counts_as_unfinished_again():
    """After a fetch failure Spark runs a finished map task again."""
    scenario = Scenario()
    scenario.stage(2)
    scenario.start_all(2)
    scenario.now_s = 1.0
    scenario.tell([scenario.ended(0, 1.0)])
    scenario.now_s = 2.0
    scenario.tell([scenario.started(5, 2, index=0)])
    assert counts(scenario.scheduler.cluster)["stages"] == [[0, 2, 2]]


def test_everything_is_gone_after_the_driver_detached():
    """No orphan rows: they would be a leak, and ghosts in every sum."""
    scenario = Scenario()
    scenario.run_with_straggler(seconds=1.0)
    scenario.tell([f.DriverDetached()])
    cluster = scenario.scheduler.cluster
    tables = (cluster.pools, cluster.executors, cluster.jobs, cluster.stages, cluster.tasks, cluster.attempts)
    assert [len(table) for table in tables] == [0] * 6
    assert not cluster.stage_infos
    assert not cluster.job_infos


def test_a_free_row_names_no_row_of_another_table():
    """Of which -1 is none: any other number may be the row of something that lives, or of nothing at all."""
    scenario = Scenario()
    scenario.run_with_straggler(seconds=1.0)
    scenario.tell([f.DriverDetached()])
    cluster = scenario.scheduler.cluster
    naming = {"pool", "host", "job", "stage", "task", "newest", "older", "executor"}
    for table in (cluster.executors, cluster.jobs, cluster.stages, cluster.tasks, cluster.attempts):
        for name in naming & {*vars(type(table))}:
            assert set(getattr(table, name).tolist()) == {-1}, (type(table).__name__, name)


def test_what_an_executor_took_along_had_run_until_its_loss_was_heard():
    """Its host tells of no end."""
    scenario = Scenario()
    scenario.stage(1)
    scenario.tell([scenario.started(0, 0)])
    changes = Changes()
    lost = f.ExecutorLost(executor="e0", reason="gone")
    apply(scenario.scheduler.cluster, Report(source=SOURCE, epoch=1, received_s=2.5, facts=[lost]), changes)
    (ended,) = changes.ended
    assert (ended.fact.outcome, ended.fact.duration_ms) == (f.Outcome.LOST, 2500)


def test_the_end_of_a_stage_changes_its_job():
    """What it has left decides on its target."""
    scenario = Scenario()
    scenario.stage(1)
    changes = Changes()
    facts = [f.StageEnded(stage=1, stage_attempt=0)]
    apply(scenario.scheduler.cluster, Report(source=SOURCE, epoch=1, received_s=0.0, facts=facts), changes)
    assert changes.jobs == set(scenario.scheduler.cluster.job_infos)


def test_a_task_of_one_byte_has_that_size_and_one_of_none_has_an_unknown_one():
    """Zero bytes is what a host says that knows no better."""
    scenario = Scenario()
    scenario.stage(2, input_bytes=[1, 0])
    scenario.start_all(2)
    assert scenario.scheduler.cluster.tasks.input_bytes[:2].tolist() == pytest.approx([1.0, np.nan], nan_ok=True)


def test_a_copy_that_beats_two_saves_what_the_better_of_them_needed():
    """The better one would have ended 2 s later, the other one 4 s."""
    scenario = Scenario()
    scenario.stage(1)
    attempts = [scenario.started(0, 0), scenario.started(1, 1, index=0), scenario.started(2, 2, index=0)]
    scenario.tell(attempts)
    cluster = scenario.scheduler.cluster
    cluster.attempts.t_rem_s[:2] = 4.0, 2.0
    changes = Changes()
    end = scenario.ended(2, 9.0, index=0)
    apply(cluster, Report(source=SOURCE, epoch=1, received_s=9.0, facts=[end]), changes)
    assert changes.ended[0].saved_s == 2.0


def test_a_task_is_as_large_as_its_input_is_over_the_mean_of_those_that_are_known():
    """The third one's is not."""
    scenario = Scenario()
    scenario.stage(3, input_bytes=[1000, 3000, 0])
    scenario.start_all(3)
    sizes = scenario.scheduler.cluster.tasks.relative_size[:3].tolist()
    assert sizes == pytest.approx([0.5, 1.5, np.nan], nan_ok=True)
