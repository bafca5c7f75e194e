"""Do jobs get the speculators that their users name, if the operator allows it, and their pool's otherwise?"""

from dataclasses import replace

import msgspec
import pytest
from msgspec import structs

from controlplane.deciding.asking import call_speculator
from controlplane.engine.decide import decide, read_snapshot
from controlplane.model import facts as f
from controlplane.model.errors import BadSetting
from controlplane.model.orders import LaunchCopy
from controlplane.model.parameters import EngineSettings
from controlplane.model.reasons import Action, Reason
from controlplane.policies.policy import Policy
from controlplane.policies.registry import speculator
from tests.engine.test_bounds import begin, first_ends
from tests.scenario import SOURCE, Scenario

pytestmark = pytest.mark.unit

ALLOWING = EngineSettings(mode=f.Mode.CONTROL, allocator="fair", speculator="none", job_speculators="ras, late,grass")


def two_jobs(settings: EngineSettings, **named: str) -> Scenario:
    """Job `one` has stage 1 with attempts 0 to 3, job `two` stage 2 with attempts 10 to 13, on hosts of their own."""
    scenario = Scenario(settings, hosts=8, slots=2)
    for stage, job in ((1, "one"), (2, "two")):
        scenario.tell([f.JobSubmitted(job=job, speculator=named.get(job, ""))])
        scenario.stage(4, job=job, stage=stage, input_bytes=1000)
    for stage, first in ((1, 0), (2, 10)):
        hosts = range(4 * (stage - 1), 4 * stage)
        scenario.tell([scenario.started(first + i, host, index=i, stage=stage) for i, host in enumerate(hosts)])
    return scenario


def go_on(scenario: Scenario, steps: range = range(1, 40)) -> list[LaunchCopy]:
    """The last task of each job reads a tenth as fast as the others; returns the copies ordered."""
    given = []
    for step in steps:
        scenario.now_s, facts = step / 10, []
        speeds = {first + i: 3 if i == 3 else 30 for first in (0, 10) for i in range(4)}
        live = scenario.scheduler.cluster.sources[SOURCE].attempts
        for attempt in [each for each in speeds if each in live and speeds[each] * step >= 1000]:
            stage, index = 1 + attempt // 10, attempt % 10
            facts.append(scenario.ended(attempt, scenario.now_s, index=index, stage=stage, bytes_read=1000))
        given += scenario.tell(facts, progress={i: speeds[i] * step for i in speeds if i in live}).orders.get(
            SOURCE, []
        )
    return [order for order in given if isinstance(order, LaunchCopy)]


def copied(scenario: Scenario) -> list[str]:
    """Jobs of which copies were ordered, once each."""
    return sorted({order.job for order in go_on(scenario)})


def states(scenario: Scenario) -> dict:
    """The jobs of the dump, by their keys."""
    (pool,) = scenario.scheduler.snapshot(scenario.now_s).pools
    return {job.job: job for job in pool.jobs}


def test_a_job_has_the_speculator_that_it_names_and_others_their_pools():
    """The pool's copies nothing. Only the job that named another is claimed, so the other one is its host's."""
    scenario = two_jobs(ALLOWING, two="ras")
    assert copied(scenario) == ["two"]
    launches = [each for each in scenario.records() if each.action is Action.LAUNCH_COPY]
    assert {(each.job, each.policy) for each in launches} == {("two", "fair+ras")}
    assert [claim.job for claim in scenario.tell().claims[SOURCE]] == ["two"]
    shown = {job: (state.policy, state.named_speculator) for job, state in states(scenario).items()}
    assert shown["one"] == ("fair+none", None)
    policy, named = shown["two"]
    assert (policy, named.name, named.reason, named.sentence) == ("fair+ras", "ras", "none", "")


@pytest.mark.parametrize(
    ("allowed", "name", "reason"),
    [
        ("", "ras", Reason.SPECULATOR_NOT_ALLOWED),
        ("late", "ras", Reason.SPECULATOR_NOT_ALLOWED),
        ("ras", "best", Reason.SPECULATOR_UNKNOWN),
    ],
)
def test_a_name_that_is_not_allowed_leaves_the_job_to_its_pools_speculator(allowed, name, reason):
    """And its state says why."""
    scenario = two_jobs(replace(ALLOWING, job_speculators=allowed), two=name)
    assert copied(scenario) == []
    state = states(scenario)["two"]
    assert (state.policy, state.named_speculator.reason) == ("fair+none", reason.label)
    assert state.named_speculator.sentence


def test_a_list_of_names_holds_for_jobs_that_run():
    """An operator allows a name, and takes it back."""
    scenario = two_jobs(replace(ALLOWING, job_speculators=""), two="ras")
    assert go_on(scenario, range(1, 20)) == []
    scenario.scheduler.configure(ALLOWING)
    assert states(scenario)["two"].policy == "fair+ras"
    assert {order.job for order in go_on(scenario, range(20, 40))} == {"two"}
    scenario.scheduler.configure(replace(ALLOWING, job_speculators="late"))
    assert states(scenario)["two"].policy == "fair+none"


def test_a_list_with_an_unknown_name_is_refused_whole():
    """The error has the known ones."""
    scenario = Scenario(ALLOWING)
    with pytest.raises(BadSetting, match=r"engine\.job_speculators = 'best', want .*ras"):
        scenario.scheduler.configure(replace(ALLOWING, job_speculators="ras,best"))
    assert scenario.scheduler.settings is ALLOWING
    assert list(scenario.scheduler.steering.nameable) == ["ras", "late", "grass"]


def test_a_job_that_is_described_again_without_a_name_has_its_pools():
    """A later Spark job of the same group, say."""
    scenario = two_jobs(ALLOWING, two="ras")
    scenario.tell([f.JobSubmitted(job="two")])
    assert copied(scenario) == []


def test_speculators_in_one_pool_share_its_budget():
    """One copy may run in the pool: the second job's has none left."""
    settings = replace(ALLOWING, pool_copy_share=0.0625)
    scenario = two_jobs(settings, one="ras", two="late")
    assert len(go_on(scenario, range(1, 20))) == 1
    refused = {Reason(code) for code in scenario.scheduler.cluster.tasks.reason.tolist()}
    assert Reason.NO_BUDGET_POOL in refused


def test_each_speculator_is_asked_about_its_own_jobs_alone_in_one_cycle(monkeypatch):
    """A job that names its pool's, and one that names none, are one call's."""
    asked = []

    def call(code, seen, settings, answer):
        asked.append((code, sorted(set(seen.tasks["job"].tolist()))))
        return call_speculator(code, seen, settings, answer)

    monkeypatch.setattr("controlplane.engine.speculation.call_speculator", call)
    for named, want in (
        ({"two": "late"}, [("ras", ["one"]), ("late", ["two"])]),
        ({"two": "ras"}, [("ras", ["one", "two"])]),
    ):
        scenario = two_jobs(replace(ALLOWING, speculator="ras"), **named)
        asked.clear()
        scenario.now_s = 1.0
        scenario.tell(progress=dict.fromkeys(range(4), 30))
        rows = scenario.scheduler.cluster.sources[SOURCE].jobs
        codes = [(speculator(name).code, [rows[job] for job in jobs]) for name, jobs in want]
        assert sorted(asked) == sorted(codes)


def test_a_named_speculator_copies_at_the_start_if_that_is_what_it_does():
    """Attempts that are too new to be judged are left alone by the pool's."""
    settings = replace(ALLOWING, speculator="ras", job_speculators="redundant-all", pool_copy_share=1.0)
    launches = [each for each in two_jobs(settings, two="redundant-all").records() if each.action is Action.LAUNCH_COPY]
    assert {(each.job, each.reason) for each in launches} == {("two", Reason.STARTS_WITH_COPIES)}


@pytest.mark.parametrize(("named", "order"), [("ras", [4, 2, 5]), ("late", None)])
def test_waiting_originals_are_ordered_by_the_speculator_that_their_job_names(named, order):
    """RAS names the shortest before a deadline, LATE none; the pool's is the other one."""
    other = {"ras": "late", "late": "ras"}[named]
    scenario = begin(other, job_speculators="ras,late", deadline_ms=7000)
    scenario.tell([f.JobSubmitted(job="job", speculator=named, deadline_ms=7000)])
    assert first_ends(scenario) == ([order] if order else [])


def test_each_speculator_orders_originals_of_its_own_jobs_alone(monkeypatch):
    """Two jobs with deadlines in one pool; it sees what runs and waits of its own."""
    asked = []

    def precedence(policy, seen, settings):
        asked.append((policy.name, {*seen.waiting["job"].tolist()}, {*seen.tasks["job"].tolist()}))
        return usual(policy, seen, settings)

    usual = Policy.precedence
    monkeypatch.setattr(Policy, "precedence", precedence)
    scenario = Scenario(replace(ALLOWING, speculator="ras", job_speculators="gs"), hosts=4, slots=1)
    for stage, job, named in ((1, "one", ""), (2, "two", "gs")):
        scenario.tell([f.JobSubmitted(job=job, speculator=named, deadline_ms=60_000)])
        scenario.stage(4, job=job, stage=stage, input_bytes=1000)
    scenario.tell([scenario.started(stage, stage, index=0, stage=stage) for stage in (1, 2)])
    asked.clear()
    scenario.tell(progress={1: 10, 2: 10})
    one, two = (scenario.scheduler.cluster.sources[SOURCE].jobs[job] for job in ("one", "two"))
    assert asked == [("gs", {two}, {two}), ("ras", {one}, {one})]


def test_a_dump_decides_as_the_engine_did_whatever_the_settings_allow_now():
    """`decide` asks what a pair would do in pools; a job that had its own speculator keeps it."""
    scenario = two_jobs(replace(ALLOWING, mode=f.Mode.SHADOW), one="best", two="ras")
    go_on(scenario)
    snapshot = read_snapshot(msgspec.json.encode(scenario.scheduler.snapshot(scenario.now_s)))
    (pool,), (advice,) = snapshot.pools, decide(snapshot, "fair+none", EngineSettings()).pools
    assert {(each.stage, each.index): each.reason for each in (*advice.copies, *advice.refusals)} == {
        (task.stage, task.index): task.reason for task in pool.tasks
    }
    assert {(each.job, each.policy) for each in advice.copies} == {("two", "fair+ras")}
    assert {(each.job, each.policy) for each in advice.refusals} == {("one", "fair+none")}
    assert {job.job: job.named_speculator.reason for job in pool.jobs} == {"one": "speculator_unknown", "two": "none"}


def test_a_dump_with_an_unknown_speculator_is_refused():
    """One of a package that is not installed here."""
    snapshot = two_jobs(ALLOWING, two="ras").scheduler.snapshot(0.0)
    (pool,) = snapshot.pools
    named = structs.replace(pool.jobs[1].named_speculator, name="elsewhere")
    jobs = [pool.jobs[0], structs.replace(pool.jobs[1], named_speculator=named)]
    with pytest.raises(BadSetting, match=r"pools\[0\]\.jobs\[1\]\.named_speculator\.name = 'elsewhere'"):
        decide(structs.replace(snapshot, pools=[structs.replace(pool, jobs=jobs)]), "fair+none", EngineSettings())


def test_a_named_speculator_that_fails_costs_the_pool_its_orders_until_its_jobs_end(monkeypatch):
    """It is said once, with its name, though the pool's own answers well in every cycle."""
    theirs = speculator("late").code

    def call(code, seen, settings, answer):
        if code == theirs:
            raise ZeroDivisionError("no siblings")
        return call_speculator(code, seen, settings, answer)

    monkeypatch.setattr("controlplane.engine.speculation.call_speculator", call)
    scenario = two_jobs(replace(ALLOWING, speculator="ras"), two="late")
    assert go_on(scenario, range(1, 20)) == []
    failed = [each for each in scenario.records() if each.reason is Reason.POLICY_FAILED]
    assert [each.policy for each in failed] == ["fair+late"]
    ends = [scenario.ended(10 + i, 1.9, index=i, stage=2, outcome=f.Outcome.KILLED) for i in range(4)]
    scenario.tell([*ends, f.JobEnded(job="two")])
    assert {order.job for order in go_on(scenario, range(20, 40))} == {"one"}
