"""Does an attempt end that another one of its task beats by far, under any speculator?"""

import pytest

from controlplane.policies.beaten import END_BEATEN, MOST_ATTEMPTS
from controlplane.policies.registry import TABLE, speculator
from controlplane.policies.row import Kind

pytestmark = pytest.mark.unit
END, KEEP = {"end_beaten": 1.0}, {"end_beaten": 0.0}

SWITCHABLE = [row.name for row in TABLE if any(setting.name == END_BEATEN.name for setting in row.settings)]
WITHOUT = {
    "none": "no task has two attempts",
    "mantri": "it has a margin of its own, by which attempts end",
    "redundant-all": "in place of an attempt that ends it would start another one",
    "redundant-small": "in place of an attempt that ends it would start another one",
    "relaunch": "the new attempt takes the old one's place, whichever would end first",
    "shed-plus": "keep_furthest says which attempts end",
    "shed": "keep_furthest says which attempts end",
    "dolly": "in place of an attempt that ends it would start another one",
}


def test_every_speculator_ends_beaten_attempts_or_has_a_reason_not_to():
    """Which one a user chooses should not decide by chance whether hopeless attempts hold slots."""
    speculators = {row.name for row in TABLE if row.kind is Kind.SPECULATOR}
    assert speculators == {*SWITCHABLE, *WITHOUT}
    assert not WITHOUT.keys() & set(SWITCHABLE)


@pytest.mark.parametrize("name", SWITCHABLE)
def test_the_worse_attempt_ends_if_it_needs_much_longer(running, name):
    """Tasks whose best attempt takes 10 s more: one needs twice that, one hardly more, one runs alone."""
    view = running([10.0] * 3, [9.0] * 3, worst_rem_s=[20.0, 11.0, 20.0], running_attempts=[2, 2, 1])
    view.pools["foretold_error"] = 0.1
    policy = speculator(name)
    assert policy.speculate(view, END)["end_last"].tolist() == [True, False, False]
    assert not policy.speculate(view, KEEP)["end_last"].any()


def test_how_much_longer_is_learned_from_how_wrong_estimates_were(running):
    """Attempts that end after 10 and after 20 s differ for sure if estimates are good, and may not if they are poor."""
    view = running([10.0], [9.0], worst_rem_s=[20.0], running_attempts=[2])
    ended = []
    for view.pools["foretold_error"] in (0.0, 0.5, 0.6):
        ended += speculator("ras").speculate(view, END)["end_last"].tolist()
    assert ended == [True, True, False]


def test_a_task_has_no_more_attempts_in_all_than_is_reasonable(running):
    """Ended ones count, for each that was slow as well speaks for slow data."""
    started = [1, MOST_ATTEMPTS - 1, MOST_ATTEMPTS]
    view = running([90.0] * 3, [10.0] * 3, attempts_started=started)
    ras = speculator("ras")
    assert ras.speculate(view, END)["copies"].tolist() == [1, 1, 0]
    assert ras.speculate(view, KEEP)["copies"].all()


def test_a_task_that_may_have_no_further_attempt_takes_no_idle_slot(running):
    """It would save more than the other one, whose copy may start."""
    view = running([50.0, 90.0], [10.0] * 2, attempts_started=[1, MOST_ATTEMPTS], pools={"idle": 1})
    assert speculator("ras").speculate(view, END | {"copy_priority": 1.0})["copies"].tolist() == [1, 0]
