"""Do the laws hold whatever drivers and operators say, in whatever order? Random stimuli through whole cycles."""

from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.deciding.bounds import needed_tasks
from controlplane.deciding.budgets import copy_limit
from controlplane.engine.scheduler import Scheduler
from controlplane.model import facts as f
from controlplane.model.cluster import Cluster
from controlplane.model.costs import listed
from controlplane.model.decisions import (
    CopyWish,
    Decision,
    DecisionOutcome,
    KillWish,
    ModeSet,
    Report,
    Result,
    Stimulus,
    TargetSet,
)
from controlplane.model.orders import AnyOrder, ContainerGrant, KillAttempt, LaunchCopy, RunNext
from controlplane.model.parameters import EngineSettings
from controlplane.model.reasons import STRANGERS
from tests.scenario import SPARK

HOSTS, SLOTS, TASKS = 3, 2, 5
SAFE, UNSAFE = 1, 2
"""Stage ids: a map stage, and a `foreach` that may never run twice."""
ANSWERS = ("", "above_clamp", "unknown_job", "task_ended")
ENDS = {Result.APPLIED, Result.REFUSED, Result.EXPIRED, Result.MOOT}
"""How an order may end."""
DRIVERS, QUEUES = ("spark:a", "spark:application_1_1"), ("yarn:c:q", "yarn:c:r")

BY_BOUNDS = ("shed-plus", "grass")
"""Speculators that start nothing that a job's bound does not need; an operator may."""

where = st.integers(0, HOSTS - 1)
attempt = st.integers(0, 30)
applications = st.tuples(st.sampled_from(["application_1_1", "application_1_2"]), st.sampled_from(["", "alice"]))
containers = st.tuples(st.integers(0, 9), st.integers(0, 9))
words = st.one_of(
    st.tuples(st.just("start"), attempt, st.sampled_from([SAFE, UNSAFE]), st.integers(0, TASKS), where, st.booleans()),
    st.tuples(
        st.just("end"),
        attempt,
        st.sampled_from([SAFE, UNSAFE]),
        st.integers(0, TASKS),
        where,
        st.sampled_from(f.Outcome),
    ),
    st.tuples(st.just("progress"), attempt, st.integers(0, 2000)),
    st.tuples(st.just("lose"), where),
    st.tuples(st.just("add"), where),
    st.tuples(st.just("close"), st.sampled_from([SAFE, UNSAFE])),
    st.tuples(st.just("full"), st.booleans()),
    st.tuples(st.just("detach")),
    st.tuples(st.just("goodbye"), st.booleans()),
    st.tuples(st.just("mode"), st.sampled_from(f.Mode)),
    st.tuples(st.just("kill"), attempt),
    st.tuples(st.just("copy"), st.sampled_from([SAFE, UNSAFE]), st.integers(0, TASKS)),
    st.tuples(st.just("target"), st.integers(0, 9)),
    st.tuples(st.just("tell"), st.integers(0, 3), st.integers(0, 3)),
    st.tuples(st.just("bound"), st.sampled_from([-1, 500, 3000, 60_000]), st.sampled_from([0, 300_000, 999_999])),
    st.tuples(st.just("ask"), st.integers(0, 2), st.integers(0, 2), st.sampled_from([SAFE, UNSAFE]), st.integers(0, 3)),
    st.tuples(st.just("queue"), st.sampled_from(QUEUES), st.dictionaries(applications, containers, max_size=3)),
    st.tuples(st.just("no queue"), st.sampled_from(QUEUES)),
    st.tuples(st.just("answer"), st.integers(0, 9), st.sampled_from(f.OrderResult), st.sampled_from(ANSWERS)),
    st.tuples(st.just("obey"), attempt, where),
    st.tuples(st.just("silent")),
    st.tuples(st.just("broken")),
)
stories = st.lists(st.tuples(st.sampled_from(DRIVERS), words, st.floats(0.0, 5.0)), max_size=40)

FIRST = 100
"""The first attempt's id of a job that runs already."""


@st.composite
def bounded_stories(draw):
    """A driver's job with a bound runs, two of its tasks slowly and others to their end; then anything happens."""
    deadline_ms, error_bound = draw(st.sampled_from([(20_000, 0), (15_000, 0), (-1, 600_000), (-1, 200_000), (-1, 0)]))
    n_ended, source = draw(st.integers(1, TASKS - 2)), DRIVERS[0]
    story = [(source, ("bound", deadline_ms, error_bound), 0.0)]
    story += [(source, ("start", FIRST + i, SAFE, i, i % HOSTS, False), 0.0) for i in range(TASKS)]
    for now_s in range(1, 9):
        for i in range(TASKS):
            story.append((source, ("progress", FIRST + i, (20 if i < 2 else 120) * now_s), 1.0 / TASKS))
    for i in range(2, 2 + n_ended):
        story.append((source, ("end", FIRST + i, SAFE, i, i % HOSTS, f.Outcome.SUCCESS), 0.1))
    return story + draw(stories)


def everything(whole: bool = True) -> list[f.AnyFact]:
    """A full report's facts: the driver, its executors, and two stages if it is whole."""
    stages = [
        f.StageSubmitted(
            job="j", stage=SAFE, stage_attempt=0, n_tasks=TASKS, kind="shuffle_map", input_bytes=[1000] * TASKS
        ),
        f.StageSubmitted(job="j", stage=UNSAFE, stage_attempt=0, n_tasks=TASKS, kind="result", action="foreach"),
    ]
    executors = [f.ExecutorAdded(executor=f"e{i}", host=f"h{i}", slots=SLOTS) for i in range(HOSTS)]
    attached = f.DriverAttached(application="a", capabilities=SPARK, executor_limit=HOSTS + 1)
    return [attached, *executors, *stages[: 2 if whole else 0]]


def stimulus(source: str, word: tuple, now_s: float) -> Stimulus:
    """One word of a story as the engine hears it."""

    def report(*facts: f.AnyFact, full: bool = False, progress: f.Progress | None = None) -> Report:
        more = {"progress": progress} if progress else {}
        return Report(source=source, epoch=1, received_s=now_s, facts=list(facts), full=full, **more)

    match word:
        case ("start", i, stage, index, host, speculative):
            place = {"executor": f"e{host}", "host": f"h{host}"}
            fact = f.AttemptStarted(
                attempt=i,
                stage=stage,
                stage_attempt=0,
                index=index,
                speculative=speculative,
                order=i if speculative else 0,
                **place,
            )
            return report(fact)
        case ("end", i, stage, index, host, outcome):
            place = {"executor": f"e{host}", "host": f"h{host}"}
            return report(
                f.AttemptEnded(
                    attempt=i, stage=stage, stage_attempt=0, index=index, outcome=outcome, duration_ms=900, **place
                )
            )
        case ("progress", i, size):
            return report(progress=f.Progress(attempt=[i], bytes_read=[size]))
        case ("lose", host):
            return report(f.ExecutorLost(executor=f"e{host}"))
        case ("add", host):
            return report(f.ExecutorAdded(executor=f"e{host}", host=f"h{host}", slots=SLOTS))
        case ("close", stage):
            return report(f.StageEnded(stage=stage, stage_attempt=0))
        case ("tell", n_host_ids, n_edges):
            edges = [(n, n + 1) for n in range(n_edges)]
            return report(f.JobSubmitted(job="j", host_ids=list(range(n_host_ids)), edges=edges))
        case ("bound", deadline_ms, error_bound):
            return report(f.JobSubmitted(job="j", deadline_ms=deadline_ms, error_bound=error_bound))
        case ("ask", i, count, stage, n_nodes):
            nodes = ["n" * 65] * n_nodes
            return report(f.ResourceRequested(request=i, count=count, stage=stage, stage_attempt=0, nodes=nodes))
        case ("full", whole):
            return report(*everything(whole), full=True)
        case ("goodbye", whole):
            return report(*everything(whole)[:-2], f.DriverDetached(), full=True)
        case ("answer", order, result, reason):
            return report(f.OrderOutcome(order=order.order, result=result, reason=reason))
        case ("obey", i, host, copy):
            place = {"executor": f"e{host}", "host": f"h{host}"}
            task = {"stage": copy.stage, "stage_attempt": copy.stage_attempt, "index": copy.index}
            return report(f.AttemptStarted(attempt=i, speculative=True, order=copy.order, **task, **place))
        case ("mode", mode):
            return ModeSet(mode=mode)
        case ("kill", i):
            return KillWish(source=source, attempt=i)
        case ("copy", stage, index):
            return CopyWish(source=source, stage=stage, stage_attempt=0, index=index, copies=3)
        case ("target", target):
            return TargetSet(source=source, job="j", target=target)
        case ("queue", queue, listed):
            queued = [
                f.QueuedApplication(job=id, user=user, running=running, pending=pending)
                for (id, user), (running, pending) in listed.items()
            ]
            can = f.Capabilities(order_pending=True)
            demand = f.QueueDemand(slots=8, applications=queued, cluster_unix_ms=1)
            facts = [f.DriverAttached(application=queue, capabilities=can), demand]
            return Report(source=queue, epoch=1, received_s=now_s, facts=facts, full=True)
        case ("no queue", queue):
            return Report(source=queue, epoch=1, received_s=now_s, facts=[f.DriverDetached()])
    return report(f.DriverDetached())


def check(scheduler: Scheduler, decision: Decision) -> None:
    """The laws, held against what one cycle ordered and left behind."""
    cluster = scheduler.cluster
    for name, orders in decision.orders.items():
        source = cluster.sources.get(name)
        assert not source or source.membership not in STRANGERS or all(isinstance(each, KillAttempt) for each in orders)
        for order in orders:
            if isinstance(order, LaunchCopy):
                assert order.stage == SAFE
            if isinstance(order, KillAttempt) and source and order.attempt in source.attempts:
                task = int(cluster.attempts.task[source.attempts[order.attempt]])
                assert cluster.tasks.done[task] or cluster.tasks.n_live[task] > 1
        grants = {order.job: order.target for order in orders if isinstance(order, ContainerGrant)}
        if source and grants:
            assert sum(grants.values()) <= cluster.pools.slots[source.row]
    for row in cluster.stages.rows():
        info = cluster.stage_infos[int(row)]
        live = [a for a in cluster.attempts.rows() if cluster.attempts.stage[a] == row]
        assert cluster.stages.n_running[row] == len(live) == len(info.live)
        assert cluster.stages.n_done[row] == sum(info.done)
        assert 0 <= cluster.stages.n_active[row] <= len(live)
    assert cluster.executors.running.sum() == len(cluster.attempts)
    for source in cluster.sources.values():
        stages = [cluster.stage_infos[row].fact for row in source.stages.values()]
        jobs = [cluster.job_infos[row] for row in source.jobs.values()]
        asked = [fact for fact, _ in source.requests.values()]
        assert source.n_tasks == sum(fact.n_tasks for fact in stages)
        in_jobs = sum(len(job.host_ids) + 2 * len(job.edges) for job in jobs)
        assert source.n_listed == in_jobs + sum(sum(listed(fact).values()) for fact in (*stages, *asked))
    check_sums(cluster)


def check_budgets(scheduler: Scheduler, decision: Decision, now_s: float) -> None:
    """Where copies were ordered, those that run or are ordered stay within each share, and a task has no more than two.

    A host may have started copies of its own, and lost slots, while none were ordered.
    """
    cluster, settings = scheduler.cluster, scheduler.settings
    tasks, pools = cluster.tasks, cluster.pools
    ordered = {row: int(tasks.ordered_copies[row]) * (tasks.ordered_until_s[row] > now_s) for row in tasks.rows()}
    copies = {row: int(tasks.n_copies[row]) + n * (not tasks.done[row]) for row, n in ordered.items()}
    for name, orders in decision.orders.items():
        launched = [order for order in orders if isinstance(order, LaunchCopy)]
        if not launched or name not in cluster.sources:
            continue
        source = cluster.sources[name]
        slots = int(pools.slots[source.row])
        here = [row for row in copies if tasks.pool[row] == source.row]
        of_job = [sum(copies[row] for row in here if tasks.job[row] == job) for job in source.jobs.values()]
        everywhere = sum(int(pools.slots[each.row]) for each in cluster.sources.values() if each.name in DRIVERS)
        assert max(of_job) <= copy_limit(slots=slots, share=settings.job_copy_share)
        assert sum(copies[row] for row in here) <= copy_limit(slots=slots, share=settings.pool_copy_share)
        assert sum(copies.values()) <= copy_limit(slots=everywhere, share=settings.cluster_copy_share)
        keys = {cluster.task_key(row): row for row in here}
        for order in launched:
            row = keys[order.stage, order.stage_attempt, order.index]
            assert tasks.n_live[row] + ordered[row] <= 1 + settings.max_copies_per_task


def check_bounds(scheduler: Scheduler, decision: Decision, now_s: float) -> None:
    """Once a job's error bound is met, or its deadline has passed, no copy of its input goes out, nor an order."""
    cluster = scheduler.cluster
    for name, orders in decision.orders.items():
        for order in orders:
            source = cluster.sources.get(name)
            if not source or not isinstance(order, LaunchCopy | RunNext):
                continue
            stage = source.stages[order.stage, order.stage_attempt]
            job, stages = int(cluster.stages.job[stage]), cluster.stages
            share, left_s = float(cluster.jobs.error_bound[job]), float(cluster.jobs.deadline_s[job]) - now_s
            if not stages.reads_input[stage] or (isinstance(order, RunNext) and not order.indices):
                continue
            assert left_s >= 0
            needed = needed_tasks(int(stages.n_tasks[stage]), int(stages.n_done[stage]), share)
            assert left_s < inf or share == 0 or needed > 0


def check_sums(cluster: Cluster) -> None:
    """What limits of all sources are held against is what the sources have."""
    sources = cluster.sources.values()
    assert cluster.n_tasks == sum(source.n_tasks for source in sources)
    assert cluster.n_listed == sum(source.n_listed for source in sources)
    assert len(cluster.jobs) == sum(len(source.jobs) for source in sources)
    assert len(cluster.stages) == sum(len(source.stages) for source in sources)
    assert len(cluster.executors) == sum(len(source.executors) for source in sources)


class Orders:
    """Every order of a story, and how each one ended."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, AnyOrder]] = []
        self.outcomes: list[DecisionOutcome] = []

    def take(self, scheduler: Scheduler, decision: Decision) -> None:
        """Each is open or has ended, in one outcome; what comes again as a lease is an order like any other."""
        self.sent += [(source, order) for source, orders in decision.orders.items() for order in orders]
        self.note(scheduler, decision.outcomes)

    def note(self, scheduler: Scheduler, outcomes: list[DecisionOutcome]) -> None:
        """The same, of what ends outside of a cycle."""
        self.outcomes += [outcome for outcome in outcomes if outcome.order]
        assert all(outcome.result in ENDS for outcome in self.outcomes)
        ended = [outcome.order for outcome in self.outcomes]
        assert sorted([*ended, *scheduler.ledger.open]) == sorted(order.order for _, order in self.sent)
        assert {entry.source for entry in scheduler.ledger.open.values()} <= scheduler.cluster.sources.keys()

    def newest(self, source: str, word: tuple) -> tuple:
        """The word, in which the order that a host answers or obeys is one that it was given."""
        given = [order for name, order in self.sent if name == source]
        match word:
            case ("answer", which, result, reason) if given:
                return ("answer", given[-1 - which % len(given)], result, reason)
            case ("obey", i, host):
                copy = next((order for order in reversed(given) if isinstance(order, LaunchCopy)), None)
                return ("obey", i, host, copy) if copy else ("add", host)
            case ("answer", *_):
                return ("full", True)
        return word


def play(scheduler: Scheduler, story: list[tuple[str, tuple, float]]) -> Orders:
    """Tell the story from two attached drivers on; in the end all detach and nothing is left."""
    now_s, orders = 0.0, Orders()
    for source in DRIVERS:
        decision, _ = scheduler.handle([stimulus(source, ("full", True), now_s)], now_s)
        orders.take(scheduler, decision)
    for source, word, pause_s in story:
        now_s += pause_s
        match word:
            case ("silent",):
                orders.note(scheduler, scheduler.forget(source, now_s))
                check_sums(scheduler.cluster)
            case ("broken",):
                fail_halfway(scheduler, stimulus(source, ("full", True), now_s), now_s)
                orders.note(scheduler, scheduler.reset(now_s))
            case _:
                decision, _ = scheduler.handle([stimulus(source, orders.newest(source, word), now_s)], now_s)
                check(scheduler, decision)
                check_budgets(scheduler, decision, now_s)
                if word[0] != "copy" and scheduler.settings.speculator in BY_BOUNDS:
                    check_bounds(scheduler, decision, now_s)
                orders.take(scheduler, decision)
    decision, _ = scheduler.handle([stimulus(source, ("detach",), now_s) for source in (*DRIVERS, *QUEUES)], now_s)
    orders.take(scheduler, decision)
    assert not scheduler.ledger.open
    cluster = scheduler.cluster
    tables = (cluster.pools, cluster.executors, cluster.jobs, cluster.stages, cluster.tasks, cluster.attempts)
    assert [len(table) for table in tables] == [0] * 6
    assert (cluster.queues, cluster.queued, cluster.n_tasks, cluster.n_listed) == ({}, {}, 0, 0)
    return orders


def fail_halfway(scheduler: Scheduler, heard: Stimulus, now_s: float) -> None:
    """A cycle that applies its facts, gives its orders, and then fails."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("controlplane.engine.seeing.follow_pools", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            scheduler.handle([heard], now_s)


@pytest.mark.unit
@pytest.mark.parametrize("speculator", ["ras", "redundant-all", "redundant-small", "relaunch", *BY_BOUNDS])
@settings(max_examples=60, deadline=None)
@given(story=stories)
def test_the_laws_hold_whatever_is_said(speculator, story):
    """No exception, no unsafe copy, no dead task, no target beyond the slots, no orphan row, no endless order."""
    play(Scheduler(EngineSettings(mode=f.Mode.CONTROL, speculator=speculator)), story)


@pytest.mark.unit
@pytest.mark.parametrize("speculator", BY_BOUNDS)
@settings(max_examples=60, deadline=None)
@given(story=bounded_stories())
def test_budgets_and_bounds_hold_whatever_is_said(speculator, story):
    """Copies are ordered here: those of tasks that are slow, of which the job may have one at a time."""
    play(
        Scheduler(
            EngineSettings(
                mode=f.Mode.CONTROL,
                speculator=speculator,
                startup_prior_s=0.5,
                job_copy_share=0.2,
                losing_share=1.0,
            )
        ),
        story,
    )


@pytest.mark.full
@settings(max_examples=20_000, deadline=None)
@given(story=stories)
def test_the_laws_hold_over_thousands_of_stories(story):
    """The same, long enough to meet what a short run does not."""
    play(Scheduler(EngineSettings(mode=f.Mode.CONTROL)), story)
