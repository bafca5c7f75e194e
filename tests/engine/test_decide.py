"""Does a snapshot tell enough for a policy to decide as it did in the engine?"""

from math import inf

import msgspec
import pytest
from msgspec import structs

from controlplane.engine.decide import Advice, decide, read_snapshot
from controlplane.engine.loading import load
from controlplane.model import facts as f
from controlplane.model.decisions import PolicySet
from controlplane.model.errors import BadSetting
from controlplane.model.facts import Mode
from controlplane.model.orders import LaunchCopy
from controlplane.model.parameters import EngineSettings
from controlplane.model.reasons import WHY_COPIED, Reason
from tests.scenario import SOURCE, SPARK, Scenario

pytestmark = pytest.mark.unit

WHY = {reason.label for reason in WHY_COPIED}


def settings_of(policy, mode=Mode.SHADOW, **more):
    allocator, _, speculator = policy.partition("+")
    return EngineSettings(mode=mode, allocator=allocator, speculator=speculator, **more)


def dumped(scenario):
    """The snapshot as it comes back from its JSON."""
    return read_snapshot(msgspec.json.encode(scenario.scheduler.snapshot(scenario.now_s)))


def assert_decides_as_the_engine(scenario, policy):
    """Same targets, and of every running task the same reason, be it for a copy or against one."""
    snapshot = dumped(scenario)
    (pool,), (advice,) = snapshot.pools, decide(snapshot, policy, scenario.scheduler.settings).pools
    assert {each.job: (each.target, each.cap) for each in advice.targets} == {
        job.job: (job.target, job.cap) for job in pool.jobs if job.remaining_tasks or job.n_running
    }
    pending = Reason.ORDER_PENDING.label
    assert {(task.stage, task.index): pending if task.ordered_copies else task.reason for task in pool.tasks} == {
        (each.stage, each.index): each.reason for each in advice.copies + advice.refusals
    }
    assert all((each.reason in WHY) == (each in advice.copies) for each in advice.copies + advice.refusals)
    return advice


@pytest.mark.parametrize(
    "policy", ["hopper+ras", "hopper+late", "fair+stock-spark", "fifo+mantri", "unified+unified", "fair+none"]
)
def test_a_dump_decides_what_the_engine_decided_in_that_cycle(policy):
    """At every tenth of a second of a job with a straggler, and another one that is not safe to copy."""
    scenario = Scenario(settings_of(policy), hosts=6)
    scenario.stage(2, job="other", stage=2, kind="result", action="foreach")
    scenario.tell([scenario.started(100 + i, 3, index=i, stage=2) for i in range(2)])
    scenario.stage(8, input_bytes=1000)
    scenario.start_all(8)
    live, copied = set(range(8)), 0
    for step in range(1, 120):
        scenario.now_s = step / 10
        read = {i: round((30 if i == 3 else 300) * scenario.now_s) for i in live}
        over = {i for i, n in read.items() if n >= 1000}
        scenario.tell([scenario.ended(i, scenario.now_s, bytes_read=1000) for i in over], progress=read)
        live -= over
        copied += len(assert_decides_as_the_engine(scenario, policy).copies)
    assert bool(copied) == (policy != "fair+none")


@pytest.mark.parametrize(
    ("policy", "settings", "copies"),
    [
        ("fair+stock-spark", {"quantile": 0.5}, True),
        ("fair+stock-spark", {"quantile": 1.0}, False),
        ("fifo+mantri", {"confidence": 0.9}, True),
        ("fifo+mantri", {"confidence": 1.0}, False),
    ],
)
@pytest.mark.parametrize("input_bytes", [1000, 0])
def test_a_dump_tells_what_has_finished(policy, settings, copies, input_bytes):
    """Seven of eight tasks end within the first seconds; with a size by which they are weighed, or without."""
    scenario = Scenario(settings_of(policy, speculator_settings=settings), hosts=6)
    scenario.stage(8, input_bytes=input_bytes)
    scenario.start_all(8)
    copied = 0
    for step in range(1, 60):
        scenario.now_s = step / 2
        over = [scenario.ended(i, step / 2, bytes_read=1000) for i in range(7) if i + 1 == step]
        scenario.tell(over, progress={7: 10 * step})
        copied += len(assert_decides_as_the_engine(scenario, policy).copies)
    assert bool(copied) == copies


@pytest.mark.parametrize("hold_slots", [True, False])
@pytest.mark.parametrize(
    ("policy", "settings"),
    [("hopper+ras", {"hold_slots": 1.0}), ("budgeted+ras", {"reserved_share": 0.5})],
)
def test_a_host_that_cannot_hold_slots_gets_no_caps(policy, settings, hold_slots):
    """Neither a cap nor a part for originals alone, whoever asks; a part of their own would leave copies room."""
    can = structs.replace(SPARK, hold_slots=hold_slots)
    scenario = Scenario(settings_of(policy, allocator_settings=settings), hosts=4, capabilities=can)
    scenario.run_with_straggler(seconds=1.0)
    scenario.stage(300, job="other", stage=2)
    capped = 0
    for _ in range(40):
        scenario.go_on(3, 8, 0.1)
        advice = assert_decides_as_the_engine(scenario, policy)
        capped += sum(target.cap >= 0 for target in advice.targets)
    assert bool(capped) == hold_slots


def test_after_an_order_its_copy_is_on_its_way():
    """Also in the dump of the very cycle that ordered it: nobody orders it twice."""
    scenario = Scenario(settings_of("hopper+ras", Mode.CONTROL))
    scenario.run_with_straggler(seconds=0.1)
    orders = []
    while not orders:
        orders = scenario.go_on(3, 8, 0.1)
        (advice,) = decide(dumped(scenario), "hopper+ras", scenario.scheduler.settings).pools
        assert not advice.copies
    assert [each.reason for each in advice.refusals if each.index == 3] == [Reason.ORDER_PENDING.label]


def test_a_copy_on_its_way_to_a_host_that_has_gone_is_no_bad_dump():
    """Its only executor is lost before the copy starts; another straggler is then placed elsewhere."""
    scenario = Scenario(settings_of("fair+ras", Mode.CONTROL), hosts=12, slots=1)
    host = scenario.run_with_straggler(seconds=3.0)[0].host
    scenario.tell([f.ExecutorLost(executor=f"e{host[1:]}")])
    dump = dumped(scenario)
    assert [task.ordered_hosts for task in dump.pools[0].tasks if task.ordered_hosts] == [[host]]
    assert host not in [each.host for each in dump.hosts]
    assert decide(dump, "fair+redundant-all", scenario.scheduler.settings).pools[0].copies


@pytest.mark.parametrize("policy", ["hopper+ras", "budgeted+late", "fifo+mantri"])
@pytest.mark.parametrize(("hosts", "executor_limit"), [(1, 0), (1, 1), (1, 2), (4, 4), (4, 5)])
def test_executors_that_come_for_copies_are_decided_alike(policy, hosts, executor_limit):
    """Eight busy slots on one host or on four; a copy needs a ninth one, or one elsewhere."""
    scenario = Scenario(settings_of(policy), hosts=hosts, slots=8 // hosts, executor_limit=executor_limit)
    scenario.run_with_straggler(seconds=0.1)
    copied = 0
    for _ in range(60):
        scenario.go_on(3, 8, 0.1)
        copied += len(assert_decides_as_the_engine(scenario, policy).copies)
    assert bool(copied) == (executor_limit > 1)


def test_a_copy_that_finds_no_room_takes_none_from_a_restart():
    """Three slots are full. A copied straggler that needs longest would have a third attempt; the other starts anew."""
    shares = {"job_copy_share": 1.0, "pool_copy_share": 1.0, "cluster_copy_share": 1.0}
    settings = settings_of("fair+mantri", speculator_settings={"kill_margin_s": 5.0}, **shares)
    scenario = Scenario(settings, hosts=3, slots=1)
    scenario.stage(3, input_bytes=1000)
    scenario.start_all(3)
    scenario.now_s = 1.0
    copy = scenario.started(3, 0, index=1, speculative=True, attempt_number=1)
    scenario.tell([scenario.ended(0, 1.0, bytes_read=1000), copy], progress={1: 10, 2: 20})
    for step in range(2, 5):
        scenario.now_s = step / 2
        scenario.tell(progress={1: 5 * step, 2: 20 * step, 3: 5 * step})
        advice = assert_decides_as_the_engine(scenario, "fair+mantri")
    assert [(each.index, each.reason) for each in advice.copies] == [(2, Reason.ENDS_SOONER_ANEW.label)]
    assert [(each.index, each.reason) for each in advice.refusals] == [(1, Reason.NO_SLOT_IN_TARGET.label)]


def test_another_policy_may_be_asked_than_the_one_that_ran():
    """The question on call: would `fair+late` have copied this?"""
    scenario = Scenario(settings_of("fifo+none"))
    scenario.run_with_straggler()
    (advice,) = decide(dumped(scenario), "fair+ras", EngineSettings()).pools
    assert [(each.index, each.reason) for each in advice.copies] == [(3, "saves_slot_time")]
    assert "A copy saves" in advice.copies[0].sentence
    assert "nan" not in advice.copies[0].sentence


def test_nothing_is_changed_by_asking():
    """The engine's next cycle is the same whether anybody asked or not."""
    asked, not_asked = (Scenario(settings_of("hopper+ras")) for _ in range(2))
    for scenario in (asked, not_asked):
        scenario.run_with_straggler(seconds=1.0)
    decide(asked.scheduler.snapshot(asked.now_s), "fair+late", EngineSettings())
    assert asked.go_on(3, 8, 1.0) == not_asked.go_on(3, 8, 1.0)
    assert msgspec.json.encode(asked.records()) == msgspec.json.encode(not_asked.records())


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"max_copies_per_task": 0}, Reason.HOST_CANNOT),
        ({"job_copy_share": 0.0}, Reason.NO_BUDGET_JOB),
        ({"pool_copy_share": 0.0}, Reason.NO_BUDGET_POOL),
        ({"cluster_copy_share": 0.0}, Reason.NO_BUDGET_CLUSTER),
    ],
)
def test_budgets_and_limits_count(settings, reason):
    """A policy is asked within the settings in force."""
    scenario = Scenario(settings_of("hopper+ras"))
    scenario.run_with_straggler()
    (advice,) = decide(dumped(scenario), "hopper+ras", EngineSettings(**settings)).pools
    assert {each.reason for each in advice.refusals if each.index == 3} == {reason.label}


def test_a_dump_tells_the_bounds_of_a_job():
    """What its user set, and how long is left; a job without a deadline has none after loading either."""
    scenario = Scenario()
    bounds = {"deadline_ms": 60_000, "error_bound": 50_000, "kill_late": True}
    scenario.tell([f.JobSubmitted(job="bounded", **bounds), f.JobSubmitted(job="exact")])
    scenario.now_s = 10.0
    snapshot = dumped(scenario)
    (pool,) = snapshot.pools
    shown = {job.job: (job.deadline_s, job.error_bound, job.kill_late) for job in pool.jobs}
    assert shown == {"bounded": (50.0, 0.05, True), "exact": (None, 0.0, False)}
    jobs = load(snapshot).cluster.jobs
    columns = (jobs.deadline_s, jobs.error_bound, jobs.kill_late)
    assert [[column[row].item() for column in columns] for row in jobs.rows()] == [
        [60.0, 0.05, True],
        [inf, 0.0, False],
    ]


def test_an_empty_cluster_is_no_special_case():
    """Nothing attached, nothing to say."""
    snapshot = read_snapshot(b'{"cycle":0,"now_s":0,"mode":"shadow","pools":[],"hosts":[],"accuracy":{}}')
    advice = decide(snapshot, "hopper+ras", EngineSettings())
    assert advice == Advice(policy="hopper+ras", cycle=0, pools=[])
    with pytest.raises(BadSetting, match=r"engine.speculator = 'best'"):
        decide(snapshot, "hopper+best", EngineSettings())


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"{", "truncated"),
        (b"{}", "missing required field `cycle`"),
        (b'{"cycle":0,"now_s":"x"}', r"Expected `float`, got `str` - at `\$.now_s`"),
    ],
)
def test_a_bad_snapshot_is_refused_by_its_field(body, told):
    """Somebody has written it by hand, or cut it off."""
    with pytest.raises(msgspec.DecodeError, match=told):
        read_snapshot(body)


def test_a_number_that_nothing_could_hold_is_refused_by_its_place():
    """It would overflow the records that policies see."""
    snapshot = dumped(Scenario())
    torn = msgspec.structs.replace(snapshot, pools=[msgspec.structs.replace(snapshot.pools[0], slots=10**30)])
    with pytest.raises(BadSetting, match=r"snapshot.pools\[0\].slots = 10+, want 0 to"):
        decide(torn, "hopper+ras", EngineSettings())


@pytest.mark.parametrize(
    ("policy", "spoil", "place"),
    [
        (
            "fifo+relaunch",
            lambda pool: pool["tasks"][0].update(input_bytes=2**53 + 1),
            r"input_bytes = 9007199254740993",
        ),
        ("fifo+relaunch", lambda pool: pool["jobs"][0]["stages"][0].update(n_tasks=-1), r"stages\[0\].n_tasks = -1"),
        ("fair+ras", lambda pool: pool["jobs"][0]["stages"][0].update(cores=-1), r"stages\[0\].cores = -1"),
        ("fair+ras", lambda pool: pool["tasks"][0].update(ordered_copies=-1), r"tasks\[0\].ordered_copies = -1"),
        ("fair+ras", lambda pool: pool.update(n_ended=-1), r"pools\[0\].n_ended = -1"),
        ("fair+ras", lambda pool: pool["jobs"][0].update(error_bound=1.5), r"jobs\[0\].error_bound = 1.5, want 0 to 1"),
        ("srpt+redundant-small", lambda pool: pool.update(tail_index=1e308), r"pools\[0\].tail_index = 1e\+308"),
        ("srpt+redundant-small", lambda pool: pool.update(offered_load=-1e308), r"pools\[0\].offered_load = -1e"),
    ],
)
def test_a_number_that_no_policy_can_go_by_is_refused_by_its_place(policy, spoil, place):
    """No stage has fewer tasks than none, and no search goes as far as such a tail index."""
    scenario = Scenario()
    scenario.run_with_straggler(seconds=1.0)
    snapshot = msgspec.to_builtins(dumped(scenario))
    spoil(snapshot["pools"][0])
    with pytest.raises(BadSetting, match=place):
        decide(read_snapshot(msgspec.json.encode(snapshot)), policy, EngineSettings())


def test_unknown_policies_and_versions_are_refused():
    """By name, with what there is."""
    scenario = Scenario()
    with pytest.raises(BadSetting, match=r"engine.allocator = 'best', want fifo or"):
        decide(dumped(scenario), "best+ras", EngineSettings())
    newer = msgspec.structs.replace(dumped(scenario), schema_version=1)
    with pytest.raises(BadSetting, match="schema_version = 1, want 2"):
        decide(newer, "hopper+ras", EngineSettings())


def test_equal_tasks_and_hosts_are_chosen_between_alike():
    """Rows of an earlier stage and of a host that left are used again, so that rows are not in order of arrival."""
    scenario = Scenario(settings_of("fair+none", Mode.CONTROL), slots=1)
    scenario.stage(3)
    scenario.tell([scenario.started(index, index) for index in range(3)])
    scenario.now_s = 4.0
    ends = [scenario.ended(index, 4.0) for index in range(3)]
    scenario.tell([*ends, f.StageEnded(stage=1, stage_attempt=0), f.ExecutorLost(executor="e0")])
    for scenario.now_s in (610.0, 611.0):
        scenario.tell()
    scenario.tell([f.ExecutorAdded(executor=f"e{host}", host=f"h{host}", slots=2) for host in (8, 9)])
    scenario.stage(3, job="b", stage=2, input_bytes=1000)
    scenario.tell([scenario.started(10 + index, index + 1, index=index, stage=2) for index in range(3)])
    advice = decide(dumped(scenario), "fair+redundant-all", scenario.scheduler.settings)
    scenario.handle(PolicySet(source=SOURCE, policy="fair+redundant-all"))
    launches = [order for order in scenario.tell().orders[SOURCE] if isinstance(order, LaunchCopy)]
    assert [(each.index, each.host) for each in advice.pools[0].copies] == [
        (each.index, each.host) for each in launches
    ]
    assert launches


def test_preferred_hosts_of_tasks_without_number_are_refused_before_they_are_listed():
    """A reader's request of a few kilobytes would take gigabytes."""
    scenario = Scenario()
    scenario.stage(2, preferred_hosts=[["h1"], ["h2"]])
    scenario.start_all(2)
    snapshot = msgspec.to_builtins(dumped(scenario))
    (pool,) = snapshot["pools"]
    assert pool["tasks"][0]["preferred_hosts"] == ["h1"]
    (stage,) = pool["jobs"][0]["stages"]
    pool["jobs"][0]["stages"] = [stage | {"stage": number, "n_tasks": 1_000_000} for number in range(1, 12)]
    first, _ = pool["tasks"]
    pool["tasks"] = [first | {"stage": number} for number in range(1, 12)]
    pool["attempts"] = [
        pool["attempts"][0] | {"stage": number, "attempt": number, "index": first["index"]} for number in range(1, 12)
    ]
    with pytest.raises(BadSetting, match="n_tasks = 11000000, want at most 10000000 with preferred hosts"):
        decide(read_snapshot(msgspec.json.encode(snapshot)), "hopper+ras", EngineSettings())
