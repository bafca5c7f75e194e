"""Does the engine leave a pool alone while its policy breaks a law? It orders nothing there, and hosts are stock."""

from dataclasses import replace

import numpy as np
import pytest

from controlplane.deciding.asking import ask_allocator, ask_speculator
from controlplane.engine.decide import decide
from controlplane.model import facts as f
from controlplane.model.decisions import PolicySet
from controlplane.model.errors import LawBroken
from controlplane.model.parameters import EngineSettings
from controlplane.model.reasons import Action, Reason
from controlplane.policies import registry
from controlplane.policies.answer import SOONEST, SPECULATION
from controlplane.policies.policy import Policy
from controlplane.policies.seen import RUNNING_TASK, Seen
from tests.scenario import SOURCE, Scenario

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("worst", [0.0, -1.0, np.nan])
def test_no_speculator_may_want_a_copy_without_a_positive_gain(monkeypatch, worst):
    """One of several is enough. The pool is in shadow and its jobs are their host's, until the answer is lawful."""

    def speculate(code, seen, settings, answer):
        answer["copies"], answer["score"], answer["kill"], answer["end_last"] = 1, 1.0, True, True
        answer["score"][:1] = worst

    def review():
        scenario.now_s += 1.0
        return scenario.tell(progress=dict.fromkeys(range(4), round(100 * scenario.now_s)))

    scenario = Scenario()
    scenario.stage(4, input_bytes=100_000)
    scenario.start_all(4)
    assert review().claims[SOURCE]
    with monkeypatch.context() as patch:
        patch.setattr("controlplane.deciding.asking.speculate", speculate)
        patch.setattr("controlplane.engine.speculation.call_speculator", ask_speculator)
        first, second = review(), review()
        with pytest.raises(LawBroken, match=r"wants a copy that gains nothing.*: fair\+ras in spark:app"):
            decide(scenario.scheduler.snapshot(scenario.now_s), "fair+ras", EngineSettings())
    assert first.laws_broken == [(SOURCE, Reason.GAINLESS_COPY, "")]
    assert [(each.action, each.mode) for each in first.records if each.reason is Reason.GAINLESS_COPY] == [
        (Action.REFUSE_COPY, f.Mode.SHADOW)
    ]
    assert (second.laws_broken, second.orders, second.claims[SOURCE]) == ([], {}, [])
    assert second.modes[SOURCE] is f.Mode.SHADOW
    review()
    assert review().claims[SOURCE]


@pytest.mark.parametrize(
    ("function", "usual", "action"),
    [
        ("engine.speculation.call_speculator", ask_speculator, Action.REFUSE_COPY),
        ("policies.policy.Policy.prepared", Policy.prepared, Action.REFUSE_COPY),
        ("engine.allocation.call_allocator", ask_allocator, Action.GRANT),
    ],
    ids=["speculates", "prepares", "allocates"],
)
def test_a_policy_that_raises_costs_its_own_pool_its_orders(monkeypatch, function, usual, action):
    """Until the pool has another policy. The other pool has its grants; the error is said once, when it begins."""
    scenario = Scenario()
    scenario.handle(PolicySet(source=SOURCE, policy="hopper+redundant-small"))
    scenario.tell([scenario.attached, *scenario.executors], full=True, source="spark:other")
    scenario.handle(PolicySet(source="spark:other", policy="fifo+late"))
    scenario.stage(2, input_bytes=1000)
    scenario.start_all(2)
    theirs = {policy.code for policy in registry.parse_policy("fifo+late")}

    def failing(policy, *rest):
        if getattr(policy, "code", policy) in theirs:
            return usual(policy, *rest)
        raise ZeroDivisionError("no siblings")

    with monkeypatch.context() as patch:
        patch.setattr(f"controlplane.{function}", failing)
        first, second = (scenario.tell([scenario.started(at + 10, 0, index=0)], progress={0: at}) for at in range(2))
        stage = f.StageSubmitted(job="one", stage=1, stage_attempt=0, n_tasks=4, kind="result")
        other = scenario.tell([stage], source="spark:other")
        scenario.now_s = 1.0
        scenario.scheduler.configure(replace(scenario.scheduler.settings, order_ttl_ms=999))
        third = scenario.tell(progress={0: 5})
        assert (third.laws_broken, third.modes[SOURCE]) == ([], f.Mode.SHADOW)
    assert first.laws_broken == [(SOURCE, Reason.POLICY_FAILED, "ZeroDivisionError: no siblings")]
    assert [(r.action, r.mode) for r in first.records if r.reason is Reason.POLICY_FAILED] == [(action, f.Mode.SHADOW)]
    assert (second.laws_broken, other.laws_broken) == ([], [])
    assert other.orders["spark:other"]
    scenario.handle(PolicySet(source=SOURCE, policy="fifo+late"))
    assert scenario.tell(progress={0: 6}).modes[SOURCE] is f.Mode.CONTROL


def test_a_policy_that_breaks_a_law_is_nobody_elses_concern(monkeypatch):
    """A package's allocator fails in one pool; another pool has its grants in the same cycle."""

    def allocate(code, seen, settings, answer):
        answer["target"] = 1 if code == registry.allocator("fifo").code else 99

    scenario = Scenario()
    scenario.tell([scenario.attached, *scenario.executors], full=True, source="spark:other")
    scenario.handle(PolicySet(source="spark:other", policy="fifo+ras"))
    monkeypatch.setattr("controlplane.deciding.asking.allocate", allocate)
    monkeypatch.setattr("controlplane.engine.allocation.call_allocator", ask_allocator)
    stage = f.StageSubmitted(job="one", stage=1, stage_attempt=0, n_tasks=4, kind="result")
    broken, kept = scenario.tell([stage]), scenario.tell([stage], source="spark:other")
    assert broken.laws_broken == [(SOURCE, Reason.TARGETS_BEYOND_SLOTS, "")]
    assert (broken.orders, kept.laws_broken) == ({}, [])
    assert [order.target for order in kept.orders["spark:other"]] == [1]


def test_a_task_gets_no_more_copies_than_it_may_have_and_no_less_than_none(monkeypatch):
    """A policy from outside may answer anything; an impossible number would be a place in memory that is not ours."""

    def speculate(code, seen, settings, answer):
        answer["score"], answer["copies"], answer["reason"] = 1.0, [-3, 10**12, 10**12, 1], Reason.ENDS_SOONER
        answer["kill"] = [False, False, True, False]

    monkeypatch.setattr("controlplane.deciding.asking.speculate", speculate)
    tasks, answer = np.zeros(4, dtype=RUNNING_TASK), np.zeros(4, dtype=SPECULATION)
    tasks["copies_left"], tasks["standing"] = 2, [0, 0, 0, Reason.TOO_NEW]
    assert ask_speculator(0, Seen(tasks=tasks), np.zeros(0), answer)
    assert answer["copies"].tolist() == [0, 2, 1, 0]
    assert answer["reason"].tolist() == [Reason.ENDS_SOONER] * 3 + [Reason.TOO_NEW]


@pytest.mark.parametrize(("score", "is_kept"), [(1.0, True), (0.0, False), (np.nan, False), (np.inf, False)])
def test_a_copy_has_a_positive_and_finite_gain(monkeypatch, score, is_kept):
    def speculate(code, seen, settings, answer):
        answer["score"], answer["copies"] = score, 1

    monkeypatch.setattr("controlplane.deciding.asking.speculate", speculate)
    tasks, answer = np.zeros(1, dtype=RUNNING_TASK), np.zeros(1, dtype=SPECULATION)
    assert ask_speculator(0, Seen(tasks=tasks), np.zeros(0), answer) == is_kept


def test_the_only_attempt_of_a_task_does_not_end(monkeypatch):
    """Live the engine refuses it; a simulated task would have no attempt to go on with."""

    def speculate(code, seen, settings, answer):
        answer["end_last"] = True

    monkeypatch.setattr("controlplane.deciding.asking.speculate", speculate)
    tasks, answer = np.zeros(2, dtype=RUNNING_TASK), np.zeros(2, dtype=SPECULATION)
    tasks["running_attempts"] = [1, 2]
    ask_speculator(0, Seen(tasks=tasks), np.zeros(0), answer)
    assert answer["end_last"].tolist() == [False, True]


def test_a_task_gets_no_copy_while_all_but_one_of_its_attempts_end(monkeypatch):
    """The copy would be one of those that end; and the only attempt of a task is the one that is kept."""

    def speculate(code, seen, settings, answer):
        answer["score"], answer["copies"], answer["keep"] = 1.0, 1, SOONEST

    monkeypatch.setattr("controlplane.deciding.asking.speculate", speculate)
    tasks, answer = np.zeros(2, dtype=RUNNING_TASK), np.zeros(2, dtype=SPECULATION)
    tasks["running_attempts"], tasks["copies_left"] = [1, 2], 3
    ask_speculator(0, Seen(tasks=tasks), np.zeros(0), answer)
    assert answer["keep"].tolist() == [0, SOONEST]
    assert answer["copies"].tolist() == [1, 0]


@pytest.mark.parametrize(
    ("target", "is_kept"),
    [([2, 2], True), ([3, 2], False), ([-1, 2], False), ([2**63 - 1, 2**63 - 1], False), ([5, -2], False)],
)
def test_no_allocator_may_give_more_than_there_is_or_less_than_nothing(monkeypatch, target, is_kept):
    def allocate(code, seen, settings, answer):
        answer["target"] = target

    monkeypatch.setattr("controlplane.deciding.asking.allocate", allocate)
    monkeypatch.setattr("controlplane.engine.allocation.call_allocator", ask_allocator)
    scenario = Scenario(hosts=2, slots=2)
    decision = scenario.tell(
        f.StageSubmitted(job=job, stage=stage, stage_attempt=0, n_tasks=4, kind="result")
        for stage, job in enumerate(("one", "two"))
    )
    assert decision.laws_broken == ([] if is_kept else [(SOURCE, Reason.TARGETS_BEYOND_SLOTS, "")])
    assert (SOURCE in decision.orders) is is_kept


def test_a_virtual_size_that_is_no_number_breaks_a_law(monkeypatch):
    """No dump could tell it, so nobody could ask what another policy would do."""

    def allocate(code, seen, settings, answer):
        answer["virtual_size"] = np.nan

    monkeypatch.setattr("controlplane.deciding.asking.allocate", allocate)
    monkeypatch.setattr("controlplane.engine.allocation.call_allocator", ask_allocator)
    scenario = Scenario()
    assert scenario.stage(2).laws_broken == [(SOURCE, Reason.TARGETS_BEYOND_SLOTS, "")]
