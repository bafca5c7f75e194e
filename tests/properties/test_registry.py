"""What does every policy of the registry promise, whatever it is shown?"""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.model.reasons import Reason
from controlplane.policies.interfaces import Allocation, PoolView, RunningTasks, Speculation
from controlplane.policies.registry import TABLE, Keeps, Kind

pytestmark = pytest.mark.unit

ALLOCATORS = [row for row in TABLE if row.kind is Kind.ALLOCATOR]
SPECULATORS = [row for row in TABLE if row.kind is Kind.SPECULATOR]
every_allocator = pytest.mark.parametrize("policy", ALLOCATORS, ids=lambda row: row.name)
every_speculator = pytest.mark.parametrize("policy", SPECULATORS, ids=lambda row: row.name)

checked = settings(max_examples=60, deadline=None)
"""No deadline: the machine may be busy."""

tasks = st.integers(0, 300).map(float)
seconds = st.one_of(st.floats(0, 1e6), st.integers(0, 20).map(float), st.just(np.inf))
ratios = st.one_of(st.floats(1e-3, 1e3), st.sampled_from([0.0, -1.0, 1.0, 2.0, np.inf, np.nan]))


def column(n, values, kind=float):
    return st.lists(values, min_size=n, max_size=n).map(lambda items: np.array(items, dtype=kind))


@st.composite
def pools(draw):
    """Pools of up to a dozen claimants, some with impossible numbers; all arrive at different times."""
    n = draw(st.integers(0, 12))
    return PoolView(
        slots=draw(st.one_of(st.integers(0, 20), st.integers(0, 400))),
        arrival_s=np.array(draw(st.permutations(range(n))), dtype=float),
        weight=draw(column(n, st.integers(1, 1000), float)),
        remaining_tasks=draw(column(n, tasks)),
        downstream_tasks=draw(column(n, tasks)),
        remaining_work_s=draw(column(n, st.one_of(seconds, st.just(np.nan)))),
        running=draw(column(n, st.integers(0, 50), np.int64)),
        usable=draw(column(n, st.integers(0, 120), np.int64)),
        tail_index=draw(column(n, ratios)),
        transfer_ratio=draw(column(n, ratios)),
        fixed_target=draw(column(n, st.integers(-1, 150), np.int64)),
        fixed_cap=draw(column(n, st.integers(-1, 150), np.int64)),
    )


@st.composite
def running_tasks(draw):
    """Running tasks of up to three stages, each in one of two pools; no two have the same time to go."""
    n = draw(st.integers(0, 12))
    stage = draw(column(n, st.integers(0, 2), np.int64))
    pool = np.minimum(stage, 1)
    t_rem_s = st.lists(st.one_of(st.floats(0, 1e6), st.just(np.inf)), min_size=n, max_size=n, unique=True)
    return RunningTasks(
        stage=stage,
        running_attempts=draw(column(n, st.integers(1, 3), np.int64)),
        elapsed_s=draw(column(n, st.floats(0, 1e6))),
        t_rem_s=np.array(draw(t_rem_s), dtype=float),
        t_new_s=draw(column(n, seconds)),
        progress_rate=draw(column(n, st.one_of(st.just(0.0), st.floats(1e-6, 1e6)))),
        sibling_rate=draw(column(n, st.one_of(st.just(np.nan), st.floats(1e-6, 1e6)))),
        eligible=draw(column(n, st.booleans(), bool)),
        pool_slots=np.array([9, 40])[pool],
        pool_copies=np.array([0, 2])[pool],
        pool_idle=np.array([0, 3])[pool],
        pool=pool,
    )


@st.composite
def settings_of(draw, policy):
    """Any settings within their ranges."""
    return {setting.name: draw(st.floats(setting.low, setting.high)) for setting in policy.settings}


def reordered(view, rows):
    """The same view, or answer, with its rows in another order."""
    columns = {field.name: getattr(view, field.name) for field in dataclasses.fields(view)}
    return dataclasses.replace(
        view, **{name: values[rows] for name, values in columns.items() if isinstance(values, np.ndarray)}
    )


def assert_same(left: Allocation | Speculation, right: Allocation | Speculation):
    for field in dataclasses.fields(left):
        np.testing.assert_array_equal(getattr(left, field.name), getattr(right, field.name))


@every_allocator
@checked
@given(data=st.data(), view=pools())
def test_no_target_exceeds_what_is_there_or_what_can_be_used(policy, data, view):
    """Law 3: grants never exceed a pool's capacity; and a slot that cannot be used is given to nobody."""
    allocation = policy(view, data.draw(settings_of(policy)))
    assert allocation.target.sum() <= view.slots
    assert (allocation.target >= 0).all()
    assert (allocation.target <= view.usable).all()
    assert allocation.target.dtype == np.int64
    assert np.isfinite(allocation.virtual_size).all()
    assert ((allocation.cap == -1) | (allocation.target <= allocation.cap)).all()


@every_allocator
@checked
@given(data=st.data(), view=pools())
def test_allocators_keep_what_they_declare(policy, data, view):
    """Work-conserving: no usable slot idles. Fair floor: nobody falls below its part of a fair share."""
    chosen = data.draw(settings_of(policy))
    target = policy(view, chosen).target
    if Keeps.WORK_CONSERVING in policy.keeps:
        assert target.sum() == min(view.slots, view.usable.sum())
    if Keeps.FAIR_FLOOR in policy.keeps:
        weight = np.where(view.usable > 0, view.weight, 0.0)
        share = view.slots * weight / max(weight.sum(), 1.0) * (1.0 - chosen.get("fairness_epsilon", 0.0))
        assert (target >= np.minimum(view.usable, np.floor(share - 1e-6))).all()


@every_allocator
@checked
@given(data=st.data(), view=pools())
def test_the_order_of_claimants_rows_changes_nothing(policy, data, view):
    """Ties are broken by arrival, so only claimants that arrived at one moment depend on their rows."""
    rows = np.array(data.draw(st.permutations(range(len(view.weight)))), dtype=np.int64)
    chosen = data.draw(settings_of(policy))
    assert_same(policy(reordered(view, rows), chosen), reordered(policy(view, chosen), rows))


@every_allocator
@checked
@given(data=st.data(), view=pools())
def test_allocators_answer_the_same_again_and_in_milliseconds(policy, data, view):
    """A decision is a function of its view, and time has no preferred unit."""
    chosen = data.draw(settings_of(policy))
    in_ms = dataclasses.replace(
        view, arrival_s=view.arrival_s * 1000, remaining_work_s=view.remaining_work_s * 1000
    )
    assert_same(policy(view, chosen), policy(view, chosen))
    assert_same(policy(view, chosen), policy(in_ms, chosen))


@every_speculator
@checked
@given(data=st.data(), view=running_tasks())
def test_speculators_want_only_eligible_tasks_and_always_say_why(policy, data, view):
    """Every row has a reason of the table, and a score that sorts."""
    speculation = policy(view, data.draw(settings_of(policy)))
    assert not (speculation.wanted & ~view.eligible).any()
    assert np.isfinite(speculation.score).all()
    assert {Reason(code) for code in speculation.reason.tolist()} <= set(Reason) - {Reason.NONE}
    launching = np.isin(speculation.reason, [Reason.SAVES_SLOT_TIME, Reason.LONGEST_TO_END, Reason.ENDS_SOONER])
    np.testing.assert_array_equal(speculation.wanted, launching & view.eligible)


@every_speculator
@checked
@given(data=st.data(), view=running_tasks())
def test_the_order_of_tasks_rows_changes_nothing(policy, data, view):
    """No two of these tasks end at the same time; of those that do, the upper row goes first."""
    rows = np.array(data.draw(st.permutations(range(len(view.stage)))), dtype=np.int64)
    chosen = data.draw(settings_of(policy))
    assert_same(policy(reordered(view, rows), chosen), reordered(policy(view, chosen), rows))


@every_speculator
@checked
@given(data=st.data(), view=running_tasks())
def test_speculators_answer_the_same_again_and_in_milliseconds(policy, data, view):
    """Decisions and reasons have no unit; scores have."""
    chosen = data.draw(settings_of(policy))
    in_ms = dataclasses.replace(
        view,
        elapsed_s=view.elapsed_s * 1000,
        t_rem_s=view.t_rem_s * 1000,
        t_new_s=view.t_new_s * 1000,
        progress_rate=view.progress_rate / 1000,
        sibling_rate=view.sibling_rate / 1000,
    )
    once, again, scaled = policy(view, chosen), policy(view, chosen), policy(in_ms, chosen)
    assert_same(once, again)
    np.testing.assert_array_equal(once.wanted, scaled.wanted)
    np.testing.assert_array_equal(once.reason, scaled.reason)
