"""What does every policy of the registry promise, whatever it is shown?"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.estimators.samples import BUCKETS, FIRST, LEARNED, LENGTH, POINTS, POLICIES, SECOND
from controlplane.model.finished import FINISHED
from controlplane.model.reasons import WHY_COPIED, Reason
from controlplane.policies.registry import FORESEEING, TABLE, speculator
from controlplane.policies.row import Keeps, Kind
from controlplane.policies.seen import CLAIMANT, JOB, POOL, RUNNING_TASK, STAGE, WAITING_TASK, Seen

pytestmark = pytest.mark.unit

ROWS = (*TABLE, *FORESEEING)
ALLOCATORS = [row for row in ROWS if row.kind is Kind.ALLOCATOR]
SPECULATORS = [row for row in ROWS if row.kind is Kind.SPECULATOR]
every_allocator = pytest.mark.parametrize("policy", ALLOCATORS, ids=lambda row: row.name)
every_speculator = pytest.mark.parametrize("policy", SPECULATORS, ids=lambda row: row.name)
BOUNDED = [row for row in SPECULATORS if row.orders_bounded]
every_bounded = pytest.mark.parametrize("policy", BOUNDED, ids=lambda row: row.name)
"""Those that go by error bounds, and order waiting tasks by bounds."""

checked = settings(max_examples=40, deadline=None)
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
    """Running and waiting tasks of up to three stages, each of a job of its own and in one of two pools of a queue; no
    two running ones have the same time to go. A job has a deadline, an error bound, or neither. A third of the views
    has any times, the rest usual ones, in which deadlines are kept and missed; in half of these all jobs may be late.
    """
    n, flavour = draw(st.integers(0, 8)), draw(st.sampled_from(["any", "usual", "late"]))
    is_usual = flavour != "any"
    view = np.zeros(n, dtype=RUNNING_TASK)
    view["job"] = view["stage"] = draw(column(n, st.integers(0, 2), np.int64))
    view["pool"] = np.minimum(view["stage"], 1)
    view["running_attempts"] = draw(column(n, st.just(1) | st.integers(1, 3), np.int64))
    view["copies_left"] = draw(column(n, st.integers(0, 6), np.int64))
    view["elapsed_s"] = draw(column(n, st.floats(0, 40 if is_usual else 1e6)))
    # Nothing is shorter than a nanosecond; what rounds to 0 in another unit is another case, and no other decision.
    times_s = st.floats(1.0, 40.0) if is_usual else st.one_of(st.just(0.0), st.floats(1e-9, 1e6), st.just(np.inf))
    fresh_s = st.floats(1.0, 10.0) if is_usual else times_s
    view["t_rem_s"] = draw(st.lists(times_s, min_size=n, max_size=n, unique=True))
    view["worst_rem_s"] = view["t_rem_s"] + draw(column(n, st.integers(0, 200)))
    view["t_new_s"] = draw(column(n, st.one_of(fresh_s, st.integers(0, 20).map(float))))
    view["t_fresh_s"] = draw(column(n, fresh_s))
    view["slowness"], view["likeness"] = draw(column(n, st.floats(1, 100))), draw(column(n, st.floats(-5, 5)))
    view["attempts_started"] = view["running_attempts"] + draw(column(n, st.integers(0, 1), np.int64))
    view["expected_s"] = np.where(draw(column(n, st.booleans(), bool)), view["t_new_s"], np.nan)
    view["service_s"] = view["expected_s"] * draw(column(n, st.floats(0.1, 1)))
    view["progress_rate"] = draw(column(n, st.one_of(st.just(0.0), st.floats(1e-6, 1e6))))
    view["sibling_rate"] = draw(column(n, st.one_of(st.just(np.nan), st.floats(1e-6, 1e6))))
    view["relative_size"] = draw(column(n, st.sampled_from([0.2, 1.0, 1.2, 5.0])))
    view["eligible"] = draw(column(n, st.booleans(), bool))
    view["standing"] = np.where(view["eligible"], 0, Reason.ORDER_PENDING)
    view["work"] = draw(column(n, st.floats(0.1, 1.0) if is_usual else st.just(np.nan) | st.floats(1.0, 1e6)))
    view["progress"] = draw(column(n, st.one_of(st.just(np.nan), st.floats(0, 1))))
    view["youngest_s"] = np.maximum(view["elapsed_s"] * draw(column(n, st.floats(0, 1))), 1e-9)
    pools, jobs = np.zeros(2, dtype=POOL), np.zeros(3, dtype=JOB)
    pools["slots"], pools["copies"], pools["idle"] = [9, 40], [0, 2], draw(column(2, st.integers(1, 9), np.int64))
    pools["idle"] *= draw(column(2, st.booleans(), np.int64))
    pools["executor_slots"], pools["to_come"] = 2, draw(column(2, st.integers(0, 4), np.int64))
    pools["queue_executors"] = draw(st.integers(0, 3))
    pools["waiting_jobs"], pools["tail_index"] = [3, 0], draw(column(2, st.floats(1.1, 4.0) if is_usual else ratios))
    pools["foretold_error"], pools["resumes"] = draw(column(2, st.floats(0, 1))), draw(column(2, st.booleans(), bool))
    pools["kept_slowness"], pools["startup_s"] = draw(column(2, st.floats(0, 1))), draw(column(2, st.floats(0, 3)))
    pools["tell_s"] = pools["startup_s"] + 0.5
    jobs["tasks"], jobs["room"] = draw(column(3, st.integers(1, 40), np.int64)), draw(column(3, st.integers(0, 2)))
    jobs["age_s"], jobs["explores"] = draw(column(3, st.floats(0, 1e6))), draw(column(3, st.integers(0, 2), np.int64))
    waiting = draw(waiting_tasks(times_s))
    jobs["waiting"] = np.bincount(waiting["job"], minlength=3)
    finished = draw(finished_tasks(fresh_s))
    stages = draw(bounded_stages(view, waiting, finished, times_s))
    if flavour == "late":
        view["running_attempts"] = view["attempts_started"] = 1
        view["copies_left"], view["eligible"], view["standing"] = np.maximum(view["copies_left"], 2), True, 0
        pools["idle"], stages["tasks"], stages["done"] = draw(column(2, st.integers(0, 3))), 9 + left_of(stages), 9
        stages["needed"], stages["deadline_s"] = left_of(stages), draw(column(3, st.floats(8.0, 18.0)))
    jobs["deadline_s"] = stages["deadline_s"]
    return Seen(
        pools=pools, jobs=jobs, stages=stages, tasks=view, waiting=waiting, finished=finished, weights=draw(samples())
    )


def left_of(stages):
    """Tasks of each stage that are not done."""
    return stages["tasks"] - stages["done"]


@st.composite
def waiting_tasks(draw, times_s):
    """Waiting tasks of the same stages, which stand together, by index."""
    n = draw(st.integers(0, 6))
    waiting = np.zeros(n, dtype=WAITING_TASK)
    waiting["stage"] = waiting["job"] = np.sort(draw(column(n, st.integers(0, 2), np.int64)))
    waiting["pool"], waiting["index"] = np.minimum(waiting["stage"], 1), np.arange(n)
    waiting["t_new_s"] = draw(column(n, st.one_of(times_s, st.integers(0, 20).map(float))))
    return waiting


@st.composite
def finished_tasks(draw, times_s):
    """Finished attempts of one stage; each column ascends."""
    n = draw(st.integers(0, 4))
    finished = np.zeros(n, dtype=FINISHED)
    for name in FINISHED.names:
        finished[name] = np.sort(draw(column(n, times_s)))
    return finished


@st.composite
def bounded_stages(draw, view, waiting, finished, times_s):
    """The stages of these tasks; the first one's finished attempts are known."""
    stages = np.zeros(3, dtype=STAGE)
    stages["done"] = draw(column(3, st.integers(0, 20), np.int64))
    left = np.bincount(np.append(view["stage"], waiting["stage"]), minlength=3)
    stages["tasks"], kind = stages["done"] + left, draw(column(3, st.sampled_from([0, 1, 2, 2]), np.int64))
    may_be_undone = (kind == 1) * draw(column(3, st.integers(0, 24), np.int64))
    stages["needed"] = np.maximum(left - may_be_undone, 0)
    stages["deadline_s"] = np.where(kind == 2, draw(column(3, st.one_of(times_s, st.just(-1.0)))), np.inf)
    stages["prepared"] = draw(column(3, st.one_of(st.floats(0.5, 100.0), st.sampled_from([0.0, np.inf, np.nan]))))
    stages["finished_from"], stages["finished_to"] = [0, -1, -1], [len(finished), -1, -1]
    return stages


@st.composite
def samples(draw):
    """None, or those of every bucket: curves that rise, and that enough jobs have reached, but for some."""
    values = np.zeros(LENGTH)
    if draw(st.booleans()):
        chance = np.random.default_rng(draw(st.integers(0, 1000)))
        curves = values.reshape(BUCKETS, POLICIES, 2, POINTS)
        curves[:, :, 0] = np.where(chance.random((BUCKETS, POLICIES, POINTS)) < 0.95, 1e10, 0.0)
        curves[:, :, 1] = curves[:, :, 0] * chance.exponential(0.5, (BUCKETS, POLICIES, POINTS)).cumsum(axis=-1)
    return values


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
    waiting = np.array(data.draw(st.permutations(range(len(view.waiting)))), dtype=np.int64)
    chosen = data.draw(settings_of(policy))
    other = view._replace(tasks=view.tasks[rows], waiting=view.waiting[waiting])
    assert_same(policy.speculate(other, chosen), policy.speculate(view, chosen)[rows])
    assert_same(policy.precedence(other, chosen), policy.precedence(view, chosen)[waiting])


@every_speculator
@checked
@given(data=st.data(), view=running_tasks())
def test_speculators_answer_the_same_again_and_in_kiloseconds(policy, data, view):
    """Decisions and reasons have no unit, if settings are scaled alike; scores have."""
    chosen = data.draw(settings_of(policy))
    in_ks = in_kiloseconds(view, prepared=policy.name == "redundant-small")
    chosen_in_ks = {
        each.name: max(chosen[each.name] / KILO, each.low) if each.name.endswith("_s") else chosen[each.name]
        for each in policy.settings
    }
    once, again = (policy.speculate(view, chosen) for _ in range(2))
    other = policy.speculate(in_ks, chosen_in_ks)
    assert_same(once, again)
    for name in ("copies", "reason", "kill", "end_last", "keep"):
        np.testing.assert_array_equal(once[name], other[name])
    ordered = [policy.precedence(each, chosen) for each in (view, view, in_ks)]
    assert_same(*ordered[:2])
    np.testing.assert_array_equal(ordered[0]["named"], ordered[2]["named"])


def in_kiloseconds(view, prepared):
    """The same view; `prepared` is a time or not."""
    tasks = scaled(view.tasks, 1 / KILO, *(name for name in RUNNING_TASK.names if name.endswith("_s")))
    return view._replace(
        pools=scaled(view.pools, 1 / KILO, "startup_s", "tell_s"),
        jobs=scaled(view.jobs, 1 / KILO, "age_s", "deadline_s"),
        stages=scaled(view.stages, 1 / KILO, "deadline_s", *("prepared",) * prepared),
        tasks=scaled(tasks, KILO, "progress_rate", "sibling_rate"),
        finished=scaled(view.finished, 1 / KILO, *FINISHED.names),
        waiting=scaled(view.waiting, 1 / KILO, "t_new_s"),
    )


def most_attempts(policy, chosen):
    """Attempts that one task may come to have at once: set, by the papers two, or as many as save slot time."""
    for name in ("max_attempts", "attempts_at_start"):
        if name in chosen:
            return np.ceil(chosen[name])
    if "most_copies" in chosen:
        return 1 + int(chosen["most_copies"])
    return 2 if policy.name in ("late", "stock-spark", "stock-mapreduce", "relaunch") else np.inf


@every_speculator
@checked
@given(data=st.data(), view=running_tasks())
def test_copies_stay_within_their_caps(policy, data, view):
    """No task has more attempts than a policy allows, no pool more copies than its share, though all are slow.

    What is spare in a pool is its idle slots and those of executors to come, of which a queue has so many.
    """
    chosen = data.draw(settings_of(policy))
    tasks = view.tasks
    tasks["eligible"], tasks["standing"], tasks["t_new_s"] = True, 0, tasks["t_rem_s"] / 4
    tasks["sibling_rate"] = 2 * tasks["progress_rate"].max(initial=0.0)
    copies = policy.speculate(view, chosen)["copies"]
    wanted = copies > 0
    assert ((tasks["running_attempts"] + copies)[wanted] <= most_attempts(policy, chosen)).all()
    to_come = 0
    for number, pool in enumerate(view.pools):
        here = copies[tasks["pool"] == number]
        if "copy_share" in chosen:
            most = max(int(chosen["copy_share"] * pool["slots"] + 1e-6), 1)
            assert (here > 0).sum() <= max(most - pool["copies"], 0)
        if policy.shares_spare:
            assert here.sum() <= pool["idle"] + pool["to_come"]
            to_come += -(-max(here.sum() - pool["idle"], 0) // pool["executor_slots"])
    assert to_come <= view.pools["queue_executors"][0]


@every_bounded
@checked
@given(data=st.data(), view=running_tasks())
def test_once_a_bound_is_met_nothing_more_starts(policy, data, view):
    """A job that needs no further task gets no copy and no original; after its deadline it gets none, either."""
    chosen = data.draw(settings_of(policy)) | {"least_chance": 0.05}
    stages = view.stages
    is_over = (stages["deadline_s"] == np.inf) & (stages["needed"] == 0) | (stages["deadline_s"] < 0)
    assert not policy.speculate(view, chosen)["copies"][is_over[view.tasks["stage"]]].any()
    assert not policy.precedence(view, chosen)["named"][is_over[view.waiting["stage"]]].any()


@every_bounded
@checked
@given(data=st.data(), view=running_tasks())
def test_a_slot_finds_every_waiting_task_that_the_bound_can_use(policy, data, view):
    """All that end before the deadline are named; under an error bound enough tasks are that meet it, or all known."""
    named = policy.precedence(view, data.draw(settings_of(policy)))["named"]
    waiting, tasks = view.waiting, view.tasks
    for row, stage in enumerate(view.stages):
        mine, t_new_s = waiting["stage"] == row, waiting["t_new_s"]
        if stage["deadline_s"] < np.inf:
            np.testing.assert_array_equal(named[mine], t_new_s[mine] <= stage["deadline_s"])
            continue
        soonest_s = np.minimum(tasks["t_rem_s"], tasks["t_new_s"])[tasks["stage"] == row]
        left_out_s = t_new_s[mine & ~named].min(initial=np.inf)
        if left_out_s < np.inf:
            assert named[mine].sum() + (soonest_s < left_out_s).sum() >= stage["needed"]


def by_names_of(policy, chosen):
    """The settings of these that another policy has, too."""
    return {each.name: chosen[each.name] for each in policy.settings if each.name in chosen}


@checked
@given(data=st.data(), view=running_tasks())
def test_grass_without_samples_is_ras(data, view):
    """For every task, in all that is answered; an explorer of RAS is it, too, whatever samples say."""
    grass, ras = speculator("grass"), speculator("ras")
    chosen = data.draw(settings_of(grass)) | {"strawman_waves": 0.0}
    view.jobs["explores"], none = LEARNED, view._replace(weights=np.zeros(LENGTH))
    wanted = ras.speculate(none, by_names_of(ras, chosen))
    assert_same(grass.speculate(none, chosen), wanted)
    assert_same(grass.precedence(none, chosen), ras.precedence(none, by_names_of(ras, chosen)))
    view.jobs["explores"] = SECOND
    assert_same(grass.speculate(view, chosen), wanted)


@checked
@given(data=st.data(), view=running_tasks())
def test_grass_with_all_samples_for_gs_is_gs(data, view):
    """Only the reason says that samples have decided, and by how much; an explorer of GS is it in all that is answered.

    A copy that something else forbids keeps the numbers, which its reason does not tell. The bound is left out, since
    what is left to it may be more than samples reach.
    """
    grass, gs = speculator("grass"), speculator("gs")
    chosen = data.draw(settings_of(grass)) | {"by_bound": 0.0, "least_samples": 5.0, "copy_priority": 0.0}
    waves = np.arange(1.0, POINTS + 1.0)
    curves = np.full((BUCKETS, POLICIES, 2, POINTS), 9.0)
    exact, with_deadline = np.split(curves, 2)
    exact[:, [FIRST, SECOND], 1] = 9.0 * np.array([waves, 2.0 * waves])
    with_deadline[:, [FIRST, SECOND], 1] = 9.0 * np.array([2.0 * waves, waves])
    view.jobs["explores"], best = LEARNED, view._replace(weights=curves.ravel())
    wanted, answer = gs.speculate(view, by_names_of(gs, chosen)), grass.speculate(best, chosen)
    switched = answer["reason"] == Reason.SWITCHED_TO_GS
    np.testing.assert_array_equal(switched, wanted["reason"] == Reason.ENDS_SOONER)
    answer["reason"][switched], answer["gain"], answer["price"] = Reason.ENDS_SOONER, 0.0, 0.0
    assert_same(answer, wanted)
    assert_same(grass.precedence(best, chosen), gs.precedence(view, by_names_of(gs, chosen)))
    view.jobs["explores"] = FIRST
    assert_same(grass.speculate(view, chosen), wanted)
