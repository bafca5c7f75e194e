"""Do jobs with a deadline get the copies by which they are most likely in time: Shed+, Shed and Dolly?"""

from math import inf, nan

import pytest

from controlplane.model.reasons import Reason
from controlplane.policies.answer import FURTHEST, SOONEST
from controlplane.policies.registry import speculator
from controlplane.policies.shed_plus.pocd import attempts_pocd, done_after, tail_index_of_attempt

pytestmark = pytest.mark.unit

shed_plus, shed, dolly = speculator("shed-plus"), speculator("shed"), speculator("dolly")
POOL = {"tail_index": 1.5, "idle": 3, "slots": 10}


def reasons(answer) -> list[Reason]:
    return [Reason(code) for code in answer["reason"]]


@pytest.fixture
def late(running):
    """Tasks that work for 1 s at least, with two minutes to their deadline and t_rem as given."""

    def build(t_rem_s, pools=None, stages=None, jobs=None, **columns):
        n = len(t_rem_s)
        usual = {"progress": 0.5, "t_fresh_s": 60.0, "copies_left": 9, "youngest_s": 0.0, "work": 1.0}
        return running(
            t_rem_s,
            [60.0] * n,
            pools=POOL | (pools or {}),
            stages={"deadline_s": 120.0, "tasks": n} | (stages or {}),
            jobs={"age_s": 30.0} | (jobs or {}),
            **(usual | columns),
        )

    return build


def test_only_stragglers_are_copied(late):
    """Whose own pace takes them beyond the deadline; one that ends right then is in time."""
    answer = shed_plus.speculate(late([100.0, 120.0, 130.0]))
    assert reasons(answer) == [Reason.IN_TIME, Reason.IN_TIME, Reason.RAISES_POCD]
    assert answer["copies"].tolist() == [0, 0, 3]


def test_spare_slots_are_those_that_neither_run_nor_wait_less_the_part_that_is_not_shared(late):
    """Of ten slots three are idle; four fifths of ten leave one; a master takes one more."""
    assert shed_plus.speculate(late([130.0]), {"slot_share": 0.8})["copies"].tolist() == [1]
    assert shed_plus.speculate(late([130.0]), {"masters": 1.0})["copies"].tolist() == [2]
    none = shed_plus.speculate(late([130.0]), {"slot_share": 0.7})
    assert (none["copies"].tolist(), reasons(none)) == ([0], [Reason.NO_SPARE_SLOT])


def test_spare_slots_of_one_pool_are_not_anothers(late):
    """Each pool has three."""
    answer = shed_plus.speculate(late([130.0, 130.0], pool=[0, 1], job=[0, 1]))
    assert answer["copies"].tolist() == [3, 3]


def test_a_job_without_a_deadline_gets_no_copy(late):
    """There is no PoCD to raise."""
    for policy in (shed_plus, shed, dolly):
        answer = policy.speculate(late([130.0], stages={"deadline_s": inf}))
        assert (answer["copies"].tolist(), reasons(answer)) == ([0], [Reason.NO_DEADLINE])


@pytest.mark.parametrize("policy", [shed_plus, shed])
def test_unknown_times_are_no_evidence(late, policy):
    """Nothing is copied while nothing is known about the task."""
    assert reasons(policy.speculate(late([inf]))) == [Reason.UNKNOWN_DEMAND]
    assert reasons(policy.speculate(late([130.0], t_fresh_s=inf))) == [Reason.UNKNOWN_DEMAND]


def test_nothing_is_spent_on_a_job_that_is_late_whatever_it_gets(late):
    """One of its tasks needs ten minutes at least, so neither that one nor its sibling is copied; another job's is."""
    view = late([900.0, 130.0, 130.0], job=[0, 0, 1], stage=[0, 0, 1], t_fresh_s=[2000.0, 60.0, 60.0], progress=0.1)
    answer = shed_plus.speculate(view, {"first_check": 0.0})
    assert reasons(answer) == [Reason.HOPELESS, Reason.HOPELESS, Reason.RAISES_POCD]


def test_a_task_faster_than_its_siblings_loses_no_job(late):
    """Half of it is left by siblings' pace, 13 s at least, and by its own 5 s of the 10; a straggler can still win."""
    view = late([5.0, 130.0], t_fresh_s=[60.0, 9.0], stages={"deadline_s": 10.0})
    assert reasons(shed_plus.speculate(view)) == [Reason.IN_TIME, Reason.RAISES_POCD]


def test_a_stage_is_left_alone_until_its_first_check(late):
    """A twentieth of its work is done, where a tenth is wanted."""
    early = late([130.0], progress=0.05)
    assert reasons(shed_plus.speculate(early)) == [Reason.BEFORE_FIRST_CHECK]
    assert reasons(shed_plus.speculate(early, {"first_check": 0.04})) == [Reason.RAISES_POCD]


def test_a_task_with_copies_is_looked_at_again_after_a_while_and_keeps_one_attempt(late):
    """A launch takes 10 s, and the deadline was 150 s: every 10 + 0.05 * 140 = 17 s."""
    for youngest_s, keep in ((16.9, 0), (17.1, SOONEST)):
        view = late([130.0], pools={"startup_s": 10.0}, running_attempts=3, youngest_s=youngest_s)
        assert shed_plus.speculate(view)["keep"].tolist() == [keep]
    assert shed_plus.speculate(view, {"keep_furthest": 1.0})["keep"].tolist() == [FURTHEST]
    in_time = late([90.0], pools={"startup_s": 10.0}, running_attempts=3, youngest_s=17.1)
    assert shed_plus.speculate(in_time)["keep"].tolist() == [SOONEST]


@pytest.mark.parametrize(("resumes", "by_host"), [(False, SOONEST), (True, FURTHEST)])
def test_which_attempt_is_kept_follows_the_host_unless_it_is_set(late, resumes, by_host):
    """Where copies resume at a byte offset, the attempt that has done most is not merely the oldest."""
    view = late([130.0], pools={"resumes": resumes}, jobs={"age_s": 3.0}, running_attempts=3, youngest_s=99.0)
    view.pools["startup_s"] = 10.0
    for policy in (shed_plus, shed):
        kept = [policy.speculate(view, {"keep_furthest": value})["keep"][0] for value in (0.0, 1.0)]
        assert [policy.speculate(view)["keep"][0], *kept] == [by_host, SOONEST, FURTHEST]


def test_a_copy_that_could_not_start_in_time_is_none(late):
    """Launching takes as long as there is left, also where there would be nothing left to do."""
    for policy in (shed_plus, shed):
        for resumes in (False, True):
            answer = policy.speculate(
                late([121.0], pools={"startup_s": 125.0, "resumes": resumes}, progress=0.8, t_fresh_s=200.0)
            )
            assert reasons(answer) == [Reason.COPY_TOO_LATE]


def test_slots_that_a_task_may_not_have_go_to_another(late):
    """Of three spare ones the first may have one."""
    answer = shed_plus.speculate(late([131.0, 130.0], copies_left=[1, 9]))
    assert answer["copies"].tolist() == [1, 2]
    assert answer["price"].tolist() == [1.0, 2.0]


def test_a_copy_that_goes_on_where_its_original_stands_helps_more(late):
    """It has half of the work to do."""
    gain = [shed_plus.speculate(late([130.0], pools={"resumes": resumes}))["gain"][0] for resumes in (False, True)]
    assert gain[0] < gain[1]


def test_progress_that_nobody_reports_is_taken_from_the_pace(late):
    """30 s of 160: a little less than a fifth."""
    known, unknown = (
        shed_plus.speculate(late([130.0], progress=progress, elapsed_s=30.0))["gain"][0]
        for progress in (30.0 / 160.0, nan)
    )
    assert known == pytest.approx(unknown)


def test_shed_gives_all_tasks_of_a_job_as_many(late):
    """The job least likely to be in time first: its two tasks take two of the three slots, the other's one the last."""
    answer = shed.speculate(late([130.0, 90.0, 100.0], job=[0, 0, 1], stage=[0, 0, 1]))
    assert answer["copies"].tolist() == [1, 1, 1]
    answer = shed.speculate(late([130.0, 90.0, 100.0], job=[0, 0, 1], stage=[0, 0, 1], pools={"idle": 1}))
    assert answer["copies"].tolist() == [0, 0, 1]
    assert reasons(answer)[:2] == [Reason.NO_SPARE_SLOT] * 2


def test_shed_spends_nothing_on_a_task_that_cannot_miss_nor_on_a_lost_job(late):
    """The second task of the first job ends at once; the second job has a task that needs ten minutes at least."""
    answer = shed.speculate(late([130.0, 10.0], pools={"idle": 2}))
    assert answer["copies"].tolist() == [2, 0]
    assert reasons(answer)[1] is Reason.IN_TIME
    lost = late([900.0, 130.0], t_fresh_s=[2000.0, 60.0], progress=0.1)
    assert reasons(shed.speculate(lost)) == [Reason.HOPELESS] * 2


def test_shed_gives_each_task_what_all_of_its_job_may_have(late):
    """One of the two may have one more."""
    answer = shed.speculate(late([130.0, 131.0], copies_left=[1, 9], pools={"idle": 8}))
    assert answer["copies"].tolist() == [1, 1]


def test_shed_looks_at_a_job_with_copies_again_when_another_one_has_come(late):
    """One that came 5 s ago, where the newest copy is 8 s old, and not where it is 3 s old."""
    for youngest_s, keep in ((8.0, [SOONEST, 0]), (3.0, [0, 0])):
        jobs = {"age_s": [30.0, 5.0]}
        view = late([130.0, 90.0], job=[0, 1], stage=[0, 1], jobs=jobs, running_attempts=[2, 1], youngest_s=youngest_s)
        assert shed.speculate(view)["keep"].tolist() == keep


def test_dolly_clones_from_the_start_as_many_as_the_risk_asks_for(late):
    """The formula's three attempts for ten tasks at one in ten; those that run count."""
    view = late([inf] * 10, running_attempts=1)
    answer = dolly.speculate(view, {"job_miss": 0.1})
    assert answer["copies"].tolist() == [2] * 10
    assert set(reasons(answer)) == {Reason.CLONED}
    enough = dolly.speculate(late([inf] * 10, running_attempts=3), {"job_miss": 0.1})
    assert (enough["copies"].tolist(), set(reasons(enough))) == ([0] * 10, {Reason.ENOUGH_CLONES})


def test_dolly_clones_more_where_the_deadline_is_nearer(late):
    """By its own formula for the risk of a job without clones."""
    far, near = (dolly.speculate(late([inf] * 4, stages={"deadline_s": left_s}))["copies"][0] for left_s in (9e4, 90.0))
    assert far < near


def test_of_attempts_with_equal_work_left_the_smaller_tail_index_is_the_likelier_straggler():
    """Section IV.C: by (14) an attempt that needs longer has a smaller one, and is late with a higher probability."""
    indices = [tail_index_of_attempt(t_rem_s, least_left_s=30.0) for t_rem_s in (31.0, 60.0, 90.0, 200.0)]
    late = [1.0 - attempts_pocd(30.0, time_left_s=80.0, tail_index=index, attempts=1) for index in indices]
    assert indices == sorted(indices, reverse=True)
    assert late == sorted(late)
    assert late[0] < 0.01 < 0.3 < late[-1]


@pytest.mark.parametrize(
    ("start_mb", "done_mb", "now_s", "new_mb"),
    [
        (0.0, 40.0, 180.0, 60.0),  # 40 in 120 s of work, so 20 more in the 60 of a launch
        (32.0, 24.0, 132.0, 76.0),  # one that began at 32 itself
        (0.0, 108.0, 384.0, 128.0),  # it will just be through
        (0.0, 120.0, 420.0, 128.0),  # 140, beyond the end: nothing is left for a copy
    ],
)
def test_a_copy_begins_where_its_original_will_stand_after_a_launch(start_mb, done_mb, now_s, new_mb):
    """Equations (15) and (16) by hand: a split of 128 MB, of which the original reads 1 MB in 3 s from 60 s on."""
    assert done_mb / (now_s - 60.0) == pytest.approx(1.0 / 3.0)
    left_mb = 128.0 - start_mb - done_mb
    found = done_after(progress=1.0 - left_mb / 128.0, t_rem_s=3.0 * left_mb, launch_s=60.0)
    assert 128.0 * found == pytest.approx(new_mb)
