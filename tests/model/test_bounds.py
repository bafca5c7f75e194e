"""Does one source, one fact or one stage cost only what it may, however much it says?"""

import tracemalloc

import pytest
from msgspec.structs import replace

from controlplane.model import apply as applying
from controlplane.model import attempts as starting
from controlplane.model import facts as f
from controlplane.model.apply import MOST_REQUESTS, MOST_TASKS, apply, forget
from controlplane.model.attempts import MOST_AT_ONCE
from controlplane.model.changes import Changes
from controlplane.model.decisions import Report
from tests.looks import Counted
from tests.scenario import SOURCE, Scenario

pytestmark = pytest.mark.unit


def test_of_a_thousand_open_requests_none_goes_and_of_more_the_oldest():
    """A host that never takes one back would make the list grow for as long as it lives."""
    scenario = Scenario()
    asked = [f.ResourceRequested(request=f"{n}", count=1) for n in range(MOST_REQUESTS + 1)]
    for n_asked, first in ((MOST_REQUESTS, "0"), (MOST_REQUESTS + 1, "1")):
        scenario.tell(asked[:n_asked])
        requests = scenario.scheduler.cluster.sources[SOURCE].requests
        assert (len(requests), next(iter(requests))) == (MOST_REQUESTS, first)


@pytest.mark.parametrize("ends", ["executors", "driver"])
def test_losing_executors_looks_at_their_own_attempts_only(ends):
    """Thousands are lost at once where a zone fails: a look at all attempts for each would stop the control plane."""
    scenario = Scenario()
    scenario.stage(3)
    scenario.start_all(3)
    cluster = scenario.scheduler.cluster
    source = cluster.sources[SOURCE]
    attempts = source.attempts = Counted(source.attempts)
    lost = [f.ExecutorLost(executor=executor) for executor in source.executors]
    if ends == "executors":
        apply(cluster, Report(source=SOURCE, epoch=1, received_s=9.0, facts=lost), Changes())
    else:
        forget(cluster, SOURCE, Changes())
    assert (dict(attempts), len(cluster.attempts), cluster.attempts_on) == ({}, 0, {})
    assert attempts.looked == (ends == "driver")


def test_the_tasks_of_a_stage_cost_nothing_before_they_are_done():
    """A small message can name stages of millions of tasks: no byte for any of them, nor a sample of their times."""
    scenario = Scenario()
    large = [f.StageSubmitted(job="job", stage=n, stage_attempt=0, n_tasks=MOST_TASKS // 1000) for n in range(1000)]
    tracemalloc.start()
    try:
        assert not scenario.tell(large).bad_facts
        assert tracemalloc.get_traced_memory()[0] < MOST_TASKS / 2
    finally:
        tracemalloc.stop()


def test_a_source_has_no_more_tasks_than_any_driver_could():
    """Once they are done they cost a byte each; what ends makes room."""
    scenario = Scenario()
    n_tasks = MOST_TASKS // 10
    stages = [f.StageSubmitted(job="job", stage=n, stage_attempt=0, n_tasks=n_tasks) for n in range(11)]
    assert scenario.tell(stages).bad_facts == [
        (
            SOURCE,
            f"spark:app reported stage_submitted.n_tasks = {n_tasks}, "
            f"want at most {MOST_TASKS} with those of its 10 other stages",
        )
    ]
    assert not scenario.tell(stages[:10]).bad_facts
    scenario.tell([f.StageEnded(stage=4, stage_attempt=0)])
    assert not scenario.tell(stages[10:]).bad_facts


@pytest.mark.parametrize(
    ("field", "one", "end"),
    [
        (
            "executor_added.executor",
            lambda n: f.ExecutorAdded(executor=f"more-{n}", host="h", slots=1),
            f.ExecutorLost(executor="more-0"),
        ),
        ("job_submitted.job", lambda n: f.JobSubmitted(job=f"{n}"), f.JobEnded(job="0")),
        (
            "stage_submitted.stage",
            lambda n: f.StageSubmitted(job="0", stage=n, stage_attempt=0, n_tasks=0),
            f.StageEnded(stage=0, stage_attempt=0),
        ),
    ],
)
def test_a_source_has_no_more_executors_jobs_and_stages_than_any_driver_could(monkeypatch, field, one, end):
    """A hundred thousand hosts made other drivers wait for seconds; what ends makes room."""
    scenario = Scenario()
    n_before = len(scenario.scheduler.cluster.sources[SOURCE].executors) if "executor" in field else 0
    monkeypatch.setattr(applying, "MOST_OPEN", n_before + 3)
    assert not scenario.tell([one(n) for n in range(3)]).bad_facts
    assert not scenario.tell([one(n) for n in range(3)]).bad_facts, "what is known needs no room"
    ((_, problem),) = scenario.tell([one(3)]).bad_facts
    assert problem.startswith(f"spark:app reported {field} = ")
    assert problem.endswith(f"want at most {n_before + 3} at once")
    scenario.tell([end])
    assert not scenario.tell([one(3)]).bad_facts


def test_a_source_has_no_longer_lists_than_any_driver_could(monkeypatch):
    """Fourteen messages within all limits held 1.4 GB; what ends, or is told anew, makes room."""
    monkeypatch.setattr(applying, "MOST_LISTED", 100)
    scenario = Scenario()
    edges = [(n, n + 1) for n in range(40)]
    job = f.JobSubmitted(job="first", edges=edges)
    stage = f.StageSubmitted(job="first", stage=1, stage_attempt=0, n_tasks=10, preferred_hosts=[["a"]] * 10)
    assert not scenario.tell([job, stage, job]).bad_facts
    assert scenario.tell([f.JobSubmitted(job="second", stages=[1], edges=edges)]).bad_facts == [
        (
            SOURCE,
            "spark:app reported job_submitted.edges = 81, "
            "want at most 100 in its lists, with the 100 of its other jobs, stages and requests",
        )
    ]
    other = f.StageSubmitted(job="first", stage=2, stage_attempt=0, n_tasks=10, input_bytes=[1] * 10)
    ((_, problem),) = scenario.tell([other]).bad_facts
    assert problem.startswith("spark:app reported stage_submitted.input_bytes = 10, want at most 100 in its lists")
    assert not scenario.tell([f.JobSubmitted(job="first"), other]).bad_facts
    scenario.tell([f.JobEnded(job="first")])
    assert scenario.scheduler.cluster.sources[SOURCE].n_listed == 0


def test_the_nodes_of_requests_are_lists_of_their_source_and_long_names_count_more(monkeypatch):
    """A thousand requests for a thousand nodes each, by names of 256 characters, can hold 300 MB."""
    monkeypatch.setattr(applying, "MOST_LISTED", 100)
    scenario = Scenario()
    scenario.stage(1)
    cluster = scenario.scheduler.cluster
    n_before = cluster.n_listed

    def asked(request: int, nodes: list[str], count: int = 1) -> f.ResourceRequested:
        return f.ResourceRequested(request=request, count=count, stage=1, stage_attempt=0, nodes=nodes)

    long = [f"{n:065}" for n in range((100 - n_before) // 2)]
    assert not scenario.tell([asked(1, long), asked(1, long)]).bad_facts, "one takes the place of the other"
    ((_, problem),) = scenario.tell([asked(1, [*long, "a", "b"]), asked(2, [])]).bad_facts
    assert problem.startswith("spark:app reported resource_requested.nodes = ")
    assert list(cluster.sources[SOURCE].requests) == [1, 2], "what is refused leaves the one before"
    assert cluster.n_listed == n_before + 2 * len(long)
    assert not scenario.tell([asked(1, [], count=0), asked(2, long)]).bad_facts
    scenario.tell([f.StageEnded(stage=1, stage_attempt=0)])
    assert not scenario.tell([asked(3, long)]).bad_facts, "those of a stage go with it"
    scenario.tell([f.DriverDetached()])
    assert cluster.n_listed == 0


def test_a_task_has_no_more_live_attempts_than_any_host_runs():
    """What is done for each looks at the others: 5,000 of one task held the control plane up for a minute."""
    scenario = Scenario()
    scenario.stage(2)
    tasks = scenario.scheduler.cluster.tasks
    decision = scenario.tell([scenario.started(n, 0, index=0) for n in range(MOST_AT_ONCE + 1)])
    assert [fact for _, fact in decision.bad_facts] == [
        f"{SOURCE} reported attempt_started.index = 0, want a task with fewer than {MOST_AT_ONCE} live attempts"
    ]
    assert tasks.n_live[0] == MOST_AT_ONCE
    assert not scenario.tell([scenario.started(900, 0, index=1)]).bad_facts
    assert not scenario.tell([scenario.ended(MOST_AT_ONCE, 1.0, index=0)]).bad_facts
    assert tasks.done[0], "the end of one that was refused tells all the same"


def test_of_a_stages_ended_attempts_the_newest_are_remembered(monkeypatch):
    """A driver that tries one task again and again made the control plane grow for as long as the stage is open."""
    monkeypatch.setattr(starting, "MOST_ENDED", 3)
    scenario = Scenario()
    scenario.stage(2)
    (info,) = scenario.scheduler.cluster.stage_infos.values()
    for n in range(5):
        scenario.tell([scenario.started(n, 0, index=0), scenario.ended(n, 1.0, index=0, outcome=f.Outcome.FAILED)])
    assert list(info.ended) == [2, 3, 4]
    scenario.tell([scenario.started(4, 0, index=0)])
    assert not info.live, "a full report may name the start of one that has just ended"
    unknown = [replace(scenario.ended(0, 1.0, index=0), attempt=n, executor="gone") for n in range(5, 9)]
    scenario.tell(unknown)
    assert list(info.ended) == [6, 7, 8]


def test_a_source_has_no_more_started_tasks_than_any_driver_could(monkeypatch):
    """Each costs some 300 bytes until its stage is over; what ends makes room."""
    monkeypatch.setattr(starting, "MOST_STARTED", 3)
    scenario = Scenario()
    scenario.stage(4)
    scenario.stage(4, stage=2)
    cluster = scenario.scheduler.cluster
    decision = scenario.tell([scenario.started(n, 0) for n in range(4)])
    assert [fact for _, fact in decision.bad_facts] == [
        f"{SOURCE} reported attempt_started.index = 3, want at most 3 started tasks in the source's open stages"
    ]
    assert not scenario.tell([scenario.started(9, 1, index=0)]).bad_facts, "one that has started needs no more room"
    assert not scenario.tell([scenario.ended(3, 1.0)]).bad_facts
    info = cluster.stage_infos[cluster.sources[SOURCE].stages[1, 0]]
    assert info.is_done(3), "the end of one that was refused tells all the same"
    scenario.tell([*(scenario.ended(n, 1.0) for n in range(3)), scenario.ended(9, 1.0, index=0)])
    scenario.tell([f.StageEnded(stage=1, stage_attempt=0)])
    assert not scenario.tell([scenario.started(20, 0, index=0, stage=2)]).bad_facts


def test_an_executor_that_is_lost_looks_for_no_next_task_on_it():
    """Of 3,000 Python tasks on one, each looked at all others for the one that had lost its worker: five seconds."""
    scenario = Scenario()
    scenario.stage(3, operators="ArrowEvalPython")
    scenario.tell([scenario.started(n, 0) for n in range(3)])
    cluster = scenario.scheduler.cluster
    (row,) = [row for row, name in cluster.executor_names.items() if name == "e0"]
    on_it = cluster.attempts_on[row] = Counted(cluster.attempts_on[row])
    scenario.tell([f.ExecutorLost(executor="e0")])
    assert (on_it, on_it.looked) == ({}, 1)


def test_a_stage_that_closes_looks_at_its_own_requests_only():
    """A job of 20,000 stages ended beside 1,000 requests: two seconds."""
    scenario = Scenario()
    scenario.stage(3)
    asked = [f.ResourceRequested(request=n, count=1, stage=n % 2 + 1, stage_attempt=0) for n in range(6)]
    scenario.tell([*asked, f.ResourceRequested(request=0, count=0, stage=1, stage_attempt=0)])
    source = scenario.scheduler.cluster.sources[SOURCE]
    source.requests = Counted(source.requests)
    apply(
        scenario.scheduler.cluster,
        Report(source=SOURCE, epoch=1, received_s=1.0, facts=[f.StageEnded(stage=1, stage_attempt=0)]),
        Changes(),
    )
    assert (sorted(source.requests.keys()), source.requests.looked) == ([1, 3, 5], 0)
    assert source.requests_of == {(2, 0): {1, 3, 5}}
    scenario.tell([f.ResourceRequested(request=n, count=0, stage=2, stage_attempt=0) for n in (1, 3, 5)])
    assert source.requests_of == {}, "stages that nobody has heard of would stay for ever"


def test_the_lists_of_all_sources_have_a_bound(monkeypatch):
    """Twenty sources of one application's token could have taken seven gigabytes; others keep an equal part."""
    monkeypatch.setattr(applying, "MOST_LISTED_BY_ALL", 100)
    scenario = Scenario()
    others = [f"spark:{name}" for name in "ab"]
    for other in others:
        scenario.tell([scenario.attached], full=True, source=other)

    def kept(source: str, job: str, n: int) -> bool:
        return not scenario.tell([f.JobSubmitted(job=job, host_ids=list(range(n)))], source=source).bad_facts

    assert [kept(others[0], "j", 90), kept(others[1], "j", 20), kept(others[1], "k", 20)] == [True, True, False]
    assert not kept(others[0], "j", 91)
    scenario.tell([f.DriverDetached()], source=others[0])
    assert kept(others[1], "k", 60)
    assert scenario.scheduler.cluster.n_listed == 80


@pytest.mark.parametrize(
    ("limit", "field", "one", "end"),
    [
        (
            "MOST_TASKS_BY_ALL",
            "stage_submitted.n_tasks = 10",
            lambda n: f.StageSubmitted(job="j", stage=n, stage_attempt=0, n_tasks=10),
            f.StageEnded(stage=0, stage_attempt=0),
        ),
        (
            "MOST_OPEN_BY_ALL",
            "stage_submitted.stage = ",
            lambda n: f.StageSubmitted(job="j", stage=n, stage_attempt=0, n_tasks=0),
            f.StageEnded(stage=0, stage_attempt=0),
        ),
        ("MOST_OPEN_BY_ALL", "job_submitted.job = ", lambda n: f.JobSubmitted(job=f"{n}"), f.JobEnded(job="0")),
        (
            "MOST_OPEN_BY_ALL",
            "executor_added.executor = ",
            lambda n: f.ExecutorAdded(executor=f"{n}", host="h", slots=1),
            f.ExecutorLost(executor="0"),
        ),
    ],
)
def test_what_all_sources_have_has_a_bound_of_which_each_may_have_an_equal_part(monkeypatch, limit, field, one, end):
    """Twenty sources of one token could have had 400,000 jobs, and 200 MB of tasks; others keep their part."""
    each = 10 if "TASKS" in limit else 1
    monkeypatch.setattr(applying, limit, 9 * each)
    scenario = Scenario(hosts=0)
    greedy, late = "spark:greedy", "spark:late"
    for source in (greedy, late):
        scenario.tell([scenario.attached], full=True, source=source)
    assert not scenario.tell([one(n) for n in range(9)], source=greedy).bad_facts, "all of it, while nobody else asks"
    ((_, problem),) = scenario.tell([one(9)], source=greedy).bad_facts
    assert problem.startswith(f"{greedy} reported {field}")
    assert f"want at most {3 * each} " in problem, "the bound over three sources"
    assert not scenario.tell([one(n) for n in range(9)], source=greedy).bad_facts, "what is known needs no room"
    assert len(scenario.tell([one(n) for n in range(4)], source=late).bad_facts) == 1, "three of four"
    for _ in range(4):
        scenario.tell([end], source=late)
    scenario.tell([f.DriverDetached()], source=greedy)
    assert not scenario.tell([one(n) for n in range(10, 16)], source=late).bad_facts, "what goes makes room"


def test_a_queue_that_has_too_many_applications_is_refused_whole(monkeypatch):
    """Of half a queue, those that are not named would seem to run on, and the others to be all."""
    monkeypatch.setattr(applying, "MOST_OPEN_BY_ALL", 6)
    scenario = Scenario(hosts=0)
    queue = "yarn:cluster:queue"

    def demand(*names: str) -> f.QueueDemand:
        return f.QueueDemand(slots=9, applications=[f.QueuedApplication(job=n, running=1, pending=0) for n in names])

    scenario.tell([scenario.attached, demand("a", "b", "c", "d")], full=True, source=queue)
    scenario.tell([f.JobSubmitted(job=f"{n}") for n in range(3)])
    assert not scenario.tell([demand("a", "b", "c", "d")], source=queue).bad_facts, "what is known needs no room"
    ((_, problem),) = scenario.tell([demand("a", "b", "e")], source=queue).bad_facts
    assert problem == f"{queue} reported queue_demand.applications = 3, want at most 3 at once"
    source = scenario.scheduler.cluster.sources[queue]
    assert list(source.jobs) == ["a", "b", "c", "d"]
    for named in (["a"], ["a", "e"]):
        assert not scenario.tell([demand(*named)], source=queue).bad_facts
        assert list(source.jobs) == named, "who is not named has ended"
