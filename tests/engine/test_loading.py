"""Is a state that was dumped and loaded again the same state? Then it decides what the engine decided."""

from math import inf

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings

from controlplane.engine.decide import decide, read_snapshot
from controlplane.engine.scheduler import Scheduler
from controlplane.engine.seeing import TaskView
from controlplane.model import facts as f
from controlplane.model.cluster import Cluster
from controlplane.model.columns import Flags
from controlplane.model.decisions import CopyWish, Decision, Report
from controlplane.model.errors import BadSetting
from controlplane.model.finished import FinishedSample
from controlplane.model.orders import LaunchCopy
from controlplane.model.parameters import EngineSettings
from controlplane.model.reasons import Reason
from controlplane.model.snapshot import Snapshot
from controlplane.policies.policy import Policy
from controlplane.policies.seen import Seen
from tests.engine.test_random_stimuli import play, stories
from tests.scenario import Scenario

Shown = dict[tuple[str, int, int, int], dict[str, object]]
"""By source, stage, its attempt and index: every number that a speculator sees of a task, its job, stage and pool."""
shown: list[Shown] = []
"""What speculators have been shown, in order."""


@pytest.fixture(scope="module", autouse=True)
def _watch():
    """Keeps whatever speculators are shown."""
    plain = TaskView.seen

    def seen(view: TaskView, policy: Policy, cluster: Cluster, which: Flags | slice) -> Seen:
        made = plain(view, policy, cluster, which)
        rows = view.rows[which]
        shown.append(
            {_name(cluster, int(row)): _numbers(made, task) for row, task in zip(rows, made.tasks, strict=True)}
        )
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TaskView, "seen", seen)
        yield


def _name(cluster: Cluster, row: int) -> tuple[str, int, int, int]:
    info = cluster.stage_infos[cluster.tasks.stage[row]]
    return info.source, info.fact.stage, info.fact.stage_attempt, int(cluster.tasks.index[row])


def _numbers(seen: Seen, task: np.void) -> dict[str, object]:
    """Rows differ from cluster to cluster; what they point to may not."""
    stage = seen.stages[task["stage"]]
    records = {"task": task, "pool": seen.pools[task["pool"]], "job": seen.jobs[task["job"]], "stage": stage}
    rows = {("task", "pool"), ("task", "job"), ("task", "stage"), ("pool", "queue")}
    rows |= {("stage", "finished_from"), ("stage", "finished_to")}
    numbers: dict[str, object] = {
        f"{name}.{field}": record[field]
        for name, record in records.items()
        for field in record.dtype.names
        if (name, field) not in rows
    }
    if stage["finished_from"] >= 0:
        for number, finished in enumerate(seen.finished[stage["finished_from"] : stage["finished_to"]]):
            numbers |= {f"finished[{number}].{field}": finished[field] for field in finished.dtype.names}
    return numbers


class Dumped(Scheduler):
    """An engine whose state is dumped in each cycle once all is estimated, before anything is decided about copies.

    In each cycle every source reports, so that all pools are due.
    """

    dump: Snapshot | None = None
    compared = launched = 0

    def handle(self, batch, now_s):
        """One cycle; what it orders and says of tasks is what the dump decides."""
        self.dump, plain = None, type(self.learning).watch_hosts
        shown.clear()

        def watch_hosts(cluster: Cluster, now_s: float) -> None:
            self.dump = read_snapshot(msgspec.json.encode(self.snapshot(now_s)))
            plain(self.learning, cluster, now_s)

        self.learning.watch_hosts = watch_hosts
        heard = {stimulus.source for stimulus in batch if isinstance(stimulus, Report)}
        others = [source for name, source in self.cluster.sources.items() if name not in heard]
        silent = [Report(source=one.name, epoch=one.epoch, received_s=now_s, facts=[]) for one in others]
        decision, due_s = super().handle([*batch, *silent], now_s)
        in_shadow = any(self.mode_of(name) is f.Mode.SHADOW for name in self.cluster.sources)
        if self.dump and not in_shadow and not any(isinstance(stimulus, CopyWish) for stimulus in batch):
            self.compare(self.dump, decision)
        return decision, due_s

    def compare(self, dump: Snapshot, decision: Decision) -> None:
        """Every copy with its host, every reason, and every target."""
        tasks, jobs, policy = self.cluster.tasks, self.cluster.jobs, self.steering.policy_name("")
        closing = self.cluster.stages.closing
        live = list(shown)
        shown.clear()
        for pool in decide(dump, policy, self.settings).pools:
            source = self.cluster.sources[pool.source]
            orders = [order for order in decision.orders.get(pool.source, []) if isinstance(order, LaunchCopy)]
            ordered = {(each.stage, each.stage_attempt, each.index, each.host) for each in orders}
            assert {(each.stage, each.stage_attempt, each.index, each.host) for each in pool.copies} == ordered
            for each in pool.copies + pool.refusals:
                info = self.cluster.stage_infos[source.stages[each.stage, each.stage_attempt]]
                assert each.reason == Reason(int(tasks.reason[info.task_rows[each.index]])).label
            for each in (target for target in pool.targets if target.job in source.jobs):
                row = source.jobs[each.job]
                told = (jobs.target[row], jobs.cap[row], jobs.virtual_size[row])
                assert (each.target, each.cap, each.virtual_size) == told
            named = {(each.stage, each.stage_attempt): each.indices for each in pool.waiting}
            infos = [(key, self.cluster.stage_infos[row]) for key, row in source.stages.items()]
            assert named == {key: info.named for key, info in infos if info.named and not closing[info.row]}
            self.launched += len(orders)
            self.compared += 1
        loaded = {name: numbers for each in shown for name, numbers in each.items()}
        for each in live:
            for name, numbers in each.items():
                assert loaded[name] == pytest.approx(numbers, rel=1e-9, abs=1e-6, nan_ok=True), name


def control(policy: str, **more) -> EngineSettings:
    """Settings under which both kinds of policy order."""
    allocator, _, speculator = policy.partition("+")
    return EngineSettings(mode=f.Mode.CONTROL, allocator=allocator, speculator=speculator, **more)


POLICIES = ["hopper+ras", "fair+late", "srpt+mantri", "budgeted+stock-spark", "fifo+redundant-all", "fair+relaunch"]


@pytest.mark.unit
@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=8, deadline=None)
@given(story=stories)
def test_any_state_decides_as_the_engine_did(policy, story):
    """Whatever drivers, queues and operators have said until then."""
    play(Dumped(control(policy)), story)


@pytest.mark.full
@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=1000, deadline=None)
@given(story=stories)
def test_thousands_of_states_decide_as_the_engine_did(policy, story):
    """The same, long enough to meet what a short run does not."""
    play(Dumped(control(policy)), story)


@pytest.mark.unit
@pytest.mark.parametrize("policy", ["hopper+ras", "fair+late", "srpt+mantri", "budgeted+ras", "fair+relaunch"])
@pytest.mark.parametrize("seed", range(3))
def test_a_busy_cluster_decides_as_the_engine_did(policy, seed):
    """Two jobs of tasks at random speeds; orders are carried out late, refused, or lost, and some copies killed."""
    rng = np.random.default_rng(seed)
    early = {"speculator_settings": {"relaunch_factor": 0.3}} if policy == "fair+relaunch" else {}
    scenario = Scenario(control(policy, **early), hosts=6, slots=2)
    engine = scenario.scheduler = Dumped(control(policy, **early))
    scenario.tell([scenario.attached, *scenario.executors], full=True)
    for stage, n_tasks in ((1, 14), (2, 5)):
        scenario.stage(n_tasks, job=f"job-{stage}", stage=stage, input_bytes=1000)
    scenario.tell([f.JobSubmitted(job="job-1", deadline_ms=60_000, error_bound=50_000, kill_late=True)])
    waiting = [(stage, index) for stage, n_tasks in ((1, 14), (2, 5)) for index in range(n_tasks)]
    running: dict[int, tuple[int, int, float, float]] = {}
    number = 0
    for step in range(1, 80):
        scenario.now_s, facts = step / 5, []
        read = {i: round(speed * (scenario.now_s - since_s)) for i, (_, _, speed, since_s) in running.items()}
        for i in [i for i, n in read.items() if n >= 1000]:
            stage, index, _, since_s = running.pop(i)
            facts.append(scenario.ended(i, scenario.now_s - since_s, stage=stage, index=index, bytes_read=1000))
        for i in [i for i, (_, _, speed, _) in running.items() if speed == 500.0 and rng.random() < 0.1]:
            stage, index, _, since_s = running.pop(i)
            killed = {"outcome": f.Outcome.KILLED, "speculative": True}
            facts.append(scenario.ended(i, scenario.now_s - since_s, stage=stage, index=index, **killed))
        free = [host for host in range(6) for _ in range(2)]
        for i in running:
            free.remove(scenario.host_of[i])
        orders = [entry.order for entry in engine.ledger.open.values() if entry.launches]
        for order in orders:
            chance = rng.random()
            host = int(order.host[1:]) if order.host else -1
            if chance < 0.1:
                facts.append(f.OrderOutcome(order=order.order, result=f.OrderResult.REFUSED, reason="no_slot"))
            elif chance < 0.6 and host in free:
                facts.append(
                    scenario.started(
                        number, host, index=order.index, stage=order.stage, speculative=True, order=order.order,
                        attempt_number=1,
                    )
                )  # fmt: skip
                running[number] = (order.stage, order.index, 500.0, scenario.now_s)
                free.remove(host)
                number += 1
        while waiting and free and rng.random() < 0.9:
            stage, index = waiting.pop(0)
            facts.append(scenario.started(number, free.pop(int(rng.integers(len(free)))), index=index, stage=stage))
            running[number] = (stage, index, 30.0 if rng.random() < 0.3 else 400.0, scenario.now_s)
            number += 1
        scenario.tell(facts, progress={i: n for i, n in read.items() if i in running})
    assert engine.launched > 0
    assert engine.compared > 50


def wait(pool, **told):
    """Some of the tasks of its stage wait, as far as nothing else is told."""
    pool["waiting"].append({"stage": 1, "stage_attempt": 0, "indices": []} | told)


@pytest.mark.unit
@pytest.mark.parametrize(
    ("spoil", "place"),
    [
        (lambda pool: pool["tasks"][0].update(job="other"), r"pools\[0\].tasks\[0\].job = 'other'"),
        (lambda pool: pool["tasks"][0].update(stage=9), r"pools\[0\].tasks\[0\].stage = \(9, 0\)"),
        (lambda pool: pool["attempts"].pop(), r"pools\[0\].tasks\[7\] = 7, want a task of one of the pool's attempts"),
        (lambda pool: pool["jobs"].append(pool["jobs"][0]), r"pools\[0\].jobs = 'job 2 times'"),
        (lambda pool: pool["attempts"].append(pool["attempts"][0]), r"pools\[0\].attempts = '0 2 times'"),
        (lambda pool: pool["attempts"][3].update(executor="e9"), r"pools\[0\].attempts = 3, want attempts of its"),
        (lambda pool: pool["jobs"][0]["stages"][0].update(n_tasks=2), r"attempt_started.index = 2, want < n_tasks"),
        (
            lambda pool: pool["jobs"][0]["stages"][0].update(n_tasks=10**9),
            r"n_tasks = 1000000000, want at most 1000000",
        ),
        (lambda pool: wait(pool, stage=9), r"waiting\[0\].stage = \(9, 0\), want one of the pool's stages"),
        (lambda pool: wait(pool, indices=[(7, 8)]), r"waiting\[0\].indices = \[7, 8\], want runs that ascend below"),
        (lambda pool: wait(pool, indices=[(2, 3), (3, 4)]), r"waiting\[0\].indices = \[3, 4\], want runs that ascend"),
        (lambda pool: wait(pool, input_bytes=[1]), r"told as stage_submitted.input_bytes = 1, want n_tasks \(8\) rows"),
        (lambda pool: [wait(pool) for _ in range(2)], r"waiting = '\(1, 0\) 2 times'"),
        (lambda pool: pool["jobs"][0]["stages"][0].update(refusal="bad"), r"refusal = 'bad', want the label"),
        (lambda pool: pool.update(listed={"queue": "q", "reason": "x", "sentence": ""}), r"listed.reason = 'x'"),
        (lambda pool: pool.update(source="mesos:a"), r"pools\[0\].source = 'mesos:a', want spark or mapreduce or yarn"),
        (lambda pool: pool.update(source="yarn:c:q", is_queue=True), r"pools\[0\].jobs\[0\].queued = None"),
    ],
)
def test_a_dump_that_contradicts_itself_is_refused_by_its_place(spoil, place):
    """People cut dumps down by hand."""
    scenario = Scenario()
    scenario.run_with_straggler(seconds=1.0)
    raw = msgspec.to_builtins(scenario.scheduler.snapshot(scenario.now_s))
    spoil(raw["pools"][0])
    with pytest.raises(BadSetting, match=place):
        decide(read_snapshot(msgspec.json.encode(raw)), "fair+late", EngineSettings())


@pytest.mark.unit
def test_what_finished_attempts_took_may_be_told_in_any_order():
    """Policies see it ascending; of those whose input is not known there is no time for a byte."""
    records = FinishedSample.of([3.0, 1.0, 2.0], [0.2, 0.1]).records
    assert records["duration_s"].tolist() == [1.0, 2.0, 3.0]
    assert records["unit_s"].tolist() == [0.1, 0.2, inf]
