"""What does every policy of the registry promise, whatever it is shown?"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.model.reasons import WHY_COPIED, Reason
from controlplane.policies.registry import FORESEEING, TABLE
from controlplane.policies.row import Keeps, Kind
from controlplane.policies.seen import CLAIMANT, JOB, POOL, RUNNING_TASK, STAGE, Seen

pytestmark = pytest.mark.unit

ROWS = (*TABLE, *FORESEEING)
ALLOCATORS = [row for row in ROWS if row.kind is Kind.ALLOCATOR]
SPECULATORS = [row for row in ROWS if row.kind is Kind.SPECULATOR]
every_allocator = pytest.mark.parametrize("policy", ALLOCATORS, ids=lambda row: row.name)
every_speculator = pytest.mark.parametrize("policy", SPECULATORS, ids=lambda row: row.name)

checked = settings(max_examples=60, deadline=None)
"""No deadline: the machine may be busy."""

KILO = 1024
"""A power of two: another unit shall not round what is nearly equal to the other side."""

tasks = st.integers(0, 300).map(float)
seconds = st.one_of(st.floats(0, 1e6), st.integers(0, 20).map(float), st.just(np.inf))
ratios = st.one_of(st.floats(1e-3, 1e3), st.sampled_from([0.0, -1.0, 1.0, 2.0, np.inf, np.nan]))


def column(n, values, kind=float):
    return st.lists(values, min_size=n, max_size=n).map(lambda items: np.array(items, dtype=kind))


@st.composite
def pools(draw):
    """Slots and up to a dozen claimants, some with impossible numbers; all arrive at different times."""
    n = draw(st.integers(0, 12))
    claimants = np.zeros(n, dtype=CLAIMANT)
    claimants["arrival_s"] = draw(st.permutations(range(n)))
    claimants["weight"] = draw(column(n, st.integers(1, 1000), float))
    claimants["remaining_tasks"] = draw(column(n, tasks))
    claimants["downstream_tasks"] = draw(column(n, tasks))
    claimants["remaining_work_s"] = draw(column(n, st.one_of(seconds, st.just(np.nan))))
    claimants["running"] = draw(column(n, st.integers(0, 50), np.int64))
    claimants["usable"] = draw(column(n, st.integers(0, 120), np.int64))
    claimants["foreseen"] = claimants["usable"] + draw(column(n, st.integers(0, 20), np.int64))
    claimants["tail_index"] = draw(column(n, ratios))
    claimants["transfer_ratio"] = draw(column(n, ratios))
    claimants["fixed_target"] = draw(column(n, st.integers(-1, 150), np.int64))
    claimants["fixed_cap"] = draw(column(n, st.integers(-1, 150), np.int64))
    return draw(st.one_of(st.integers(0, 20), st.integers(0, 400))), claimants


@st.composite
def running_tasks(draw):
    """Running tasks of up to three stages, each of a job of its own and in one of two pools; no two have the same time
    to go.
    """
    n = draw(st.integers(0, 12))
    view = np.zeros(n, dtype=RUNNING_TASK)
    view["job"] = view["stage"] = draw(column(n, st.integers(0, 2), np.int64))
    view["pool"] = np.minimum(view["stage"], 1)
    view["running_attempts"] = draw(column(n, st.integers(1, 3), np.int64))
    view["elapsed_s"] = draw(column(n, st.floats(0, 1e6)))
    # Nothing is shorter than a nanosecond; what rounds to 0 in another unit is another case, and no other decision.
    times_s = st.one_of(st.just(0.0), st.floats(1e-9, 1e6), st.just(np.inf))
    view["t_rem_s"] = draw(st.lists(times_s, min_size=n, max_size=n, unique=True))
    view["worst_rem_s"] = view["t_rem_s"] + draw(column(n, st.integers(0, 200)))
    view["t_new_s"] = draw(column(n, st.one_of(times_s, st.integers(0, 20).map(float))))
    view["t_fresh_s"] = draw(column(n, times_s))
    view["slowness"], view["likeness"] = draw(column(n, st.floats(1, 100))), draw(column(n, st.floats(-5, 5)))
    view["attempts_started"] = view["running_attempts"] + draw(column(n, st.integers(0, 1), np.int64))
    view["expected_s"] = np.where(draw(column(n, st.booleans(), bool)), view["t_new_s"], np.nan)
    view["progress_rate"] = draw(column(n, st.one_of(st.just(0.0), st.floats(1e-6, 1e6))))
    view["sibling_rate"] = draw(column(n, st.one_of(st.just(np.nan), st.floats(1e-6, 1e6))))
    view["eligible"] = draw(column(n, st.booleans(), bool))
    pools, jobs, stages = np.zeros(2, dtype=POOL), np.zeros(3, dtype=JOB), np.zeros(3, dtype=STAGE)
    pools["slots"], pools["copies"], pools["idle"] = [9, 40], [0, 2], [0, 3]
    pools["waiting_jobs"], pools["tail_index"] = [3, 0], draw(column(2, ratios))
    pools["kept_slowness"], pools["startup_s"] = draw(column(2, st.floats(0, 1))), draw(column(2, st.floats(0, 10)))
    pools["tell_s"] = pools["startup_s"] + 0.5
    jobs["waiting"] = draw(column(3, st.integers(0, 20), np.int64))
    jobs["tasks"], jobs["room"] = draw(column(3, st.integers(1, 40), np.int64)), draw(column(3, st.integers(0, 2)))
    prepared = st.one_of(st.floats(0.5, 100.0), st.sampled_from([0.0, np.inf, np.nan]))
    stages["prepared"], stages["finished_from"] = draw(column(3, prepared)), -1
    stages["deadline_s"] = draw(column(3, st.one_of(st.just(np.inf), times_s)))
    view["progress"] = draw(column(n, st.one_of(st.just(np.nan), st.floats(0, 1))))
    view["youngest_s"] = np.maximum(view["elapsed_s"] * draw(column(n, st.floats(0, 1))), 1e-9)
    return Seen(pools=pools, jobs=jobs, stages=stages, tasks=view)


@st.composite
def settings_of(draw, policy):
    """Any settings within their ranges, often the usual ones."""
    return {each.name: draw(values_of(each) | st.just(each.default)) for each in policy.settings}


def values_of(setting):
    """All that a setting may be."""
    ends = setting.low, setting.high
    return st.sampled_from(ends) if setting.switch else st.floats(*ends)


def most_of(claimants, chosen):
    """What each claimant may be given: who holds slots for copies to come counts those as usable."""
    return claimants["foreseen" if chosen.get("hold_slots", 0) > 0 else "usable"]


def assert_same(ours, theirs, but=""):
    """All answers agree, field by field, since the precedence of unknown work is no number."""
    for name in ours.dtype.names:
        if name != but:
            np.testing.assert_array_equal(ours[name], theirs[name])


def scaled(view, times, *names):
    """The same records with these columns in another unit."""
    view = view.copy()
    for name in names:
        view[name] *= times
    return view


@every_allocator
@checked
@given(data=st.data(), view=pools())
def test_no_target_exceeds_what_is_there_or_what_can_be_used(policy, data, view):
    """Law 3: grants never exceed a pool's capacity; and a slot that cannot be used is given to nobody."""
    slots, claimants = view
    chosen = data.draw(settings_of(policy))
    allocation = policy.allocate(slots, claimants, chosen)
    target, cap = allocation["target"], allocation["cap"]
    assert target.sum() <= slots
    assert (target >= 0).all()
    assert (target <= most_of(claimants, chosen)).all()
    assert np.isfinite(allocation["virtual_size"]).all()
    assert ((cap == -1) | (target <= cap)).all()


@every_allocator
@checked
@given(data=st.data(), view=pools())
def test_allocators_keep_what_they_declare(policy, data, view):
    """Work-conserving: no usable slot idles. Fair floor: nobody falls below its part of a fair share."""
    chosen = data.draw(settings_of(policy))
    slots, claimants = view
    target, usable = policy.allocate(slots, claimants, chosen)["target"], most_of(claimants, chosen)
    if Keeps.WORK_CONSERVING in policy.keeps:
        assert target.sum() == min(slots, usable.sum())
    if Keeps.FAIR_FLOOR in policy.keeps:
        weight = np.where(usable > 0, claimants["weight"], 0.0)
        share = slots * weight / max(weight.sum(), 1.0) * (1.0 - chosen.get("fairness_epsilon", 0.0))
        assert (target >= np.minimum(usable, np.floor(share - 1e-6))).all()


@every_allocator
@checked
@given(data=st.data(), view=pools())
def test_the_order_of_claimants_rows_changes_nothing(policy, data, view):
    """Ties are broken by arrival, so only claimants that arrived at one moment depend on their rows."""
    slots, claimants = view
    rows = np.array(data.draw(st.permutations(range(len(claimants)))), dtype=np.int64)
    chosen = data.draw(settings_of(policy))
    straight = policy.allocate(slots, claimants, chosen)
    assert_same(policy.allocate(slots, claimants[rows], chosen), straight[rows])


@every_allocator
@checked
@given(data=st.data(), view=pools())
def test_allocators_answer_the_same_again_and_in_milliseconds(policy, data, view):
    """A decision is a function of its view, and time has no preferred unit."""
    chosen = data.draw(settings_of(policy))
    slots, claimants = view
    in_ms = scaled(claimants, KILO, "arrival_s", "remaining_work_s")
    once = policy.allocate(slots, claimants, chosen)
    assert_same(once, policy.allocate(slots, claimants, chosen))
    assert_same(once, policy.allocate(slots, in_ms, chosen), but="precedence")


@every_speculator
@checked
@given(data=st.data(), view=running_tasks())
def test_speculators_want_only_eligible_tasks_and_always_say_why(policy, data, view):
    """Every row has a reason of the table, and a score that sorts."""
    speculation = policy.speculate(view, data.draw(settings_of(policy)))
    wanted, reason = speculation["copies"] > 0, speculation["reason"]
    assert not (wanted & ~view.tasks["eligible"]).any()
    assert not (speculation["kill"] & ~wanted).any()
    assert not ((speculation["end_last"] | (speculation["keep"] > 0)) & (view.tasks["running_attempts"] < 2)).any()
    assert np.isfinite(speculation["score"]).all()
    assert {Reason(code) for code in reason.tolist()} <= set(Reason) - {Reason.NONE}
    np.testing.assert_array_equal(wanted, np.isin(reason, list(WHY_COPIED)) & view.tasks["eligible"])


@every_speculator
@checked
@given(data=st.data(), view=running_tasks())
def test_the_order_of_tasks_rows_changes_nothing(policy, data, view):
    """No two of these tasks end at the same time; of those that do, the upper row goes first."""
    rows = np.array(data.draw(st.permutations(range(len(view.tasks)))), dtype=np.int64)
    chosen = data.draw(settings_of(policy))
    other = view._replace(tasks=view.tasks[rows])
    np.testing.assert_array_equal(policy.speculate(other, chosen), policy.speculate(view, chosen)[rows])


@every_speculator
@checked
@given(data=st.data(), view=running_tasks())
def test_speculators_answer_the_same_again_and_in_kiloseconds(policy, data, view):
    """Decisions and reasons have no unit, if settings are scaled alike; scores have."""
    chosen = data.draw(settings_of(policy))
    seconds = [name for name in RUNNING_TASK.names if name.endswith("_s")]
    tasks = scaled(scaled(view.tasks, 1 / KILO, *seconds), KILO, "progress_rate", "sibling_rate")
    prepared = ("prepared",) if policy.name == "redundant-small" else ()
    pools = scaled(view.pools, 1 / KILO, "startup_s", "tell_s")
    in_ks = view._replace(pools=pools, tasks=tasks, stages=scaled(view.stages, 1 / KILO, "deadline_s", *prepared))
    chosen_in_ks = {
        each.name: max(chosen[each.name] / KILO, each.low) if each.name.endswith("_s") else chosen[each.name]
        for each in policy.settings
    }
    once, again = (policy.speculate(view, chosen) for _ in range(2))
    other = policy.speculate(in_ks, chosen_in_ks)
    np.testing.assert_array_equal(once, again)
    for name in ("copies", "reason", "kill", "end_last", "keep"):
        np.testing.assert_array_equal(once[name], other[name])


def most_attempts(policy, chosen):
    """Attempts that one task may come to have at once: set, by the papers two, or as many as save slot time."""
    for name in ("max_attempts", "attempts_at_start"):
        if name in chosen:
            return np.ceil(chosen[name])
    return 2 if policy.name in ("late", "stock-spark", "stock-mapreduce", "relaunch") else np.inf


@every_speculator
@checked
@given(data=st.data(), view=running_tasks())
def test_copies_stay_within_their_caps(policy, data, view):
    """No task has more attempts than a policy allows, no pool more copies than its share, though all are slow."""
    chosen = data.draw(settings_of(policy))
    tasks = view.tasks
    tasks["eligible"], tasks["t_new_s"] = True, tasks["t_rem_s"] / 4
    tasks["sibling_rate"] = 2 * tasks["progress_rate"].max(initial=0.0)
    wanted = policy.speculate(view, chosen)["copies"] > 0
    assert (tasks["running_attempts"][wanted] < most_attempts(policy, chosen)).all()
    if "copy_share" in chosen:
        for number, pool in enumerate(view.pools):
            most = max(int(chosen["copy_share"] * pool["slots"] + 1e-6), 1)
            assert wanted[tasks["pool"] == number].sum() <= max(most - pool["copies"], 0)
