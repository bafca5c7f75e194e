"""Do targets become priorities, a few at a time, and does everything come back in the end?"""

import json

import pytest

from controlplane.rest import RestError
from tests.plane import Clock
from tests.yarn_bridge.recorded_rm import SCHEDULER
from yarn_bridge.examination import PRIORITY_KEY
from yarn_bridge.priorities import CannotDrive, PriorityDriver, highest_priority, read_targets

pytestmark = pytest.mark.unit
HIGHEST = 10


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def driver(rm, clock) -> PriorityDriver:
    return PriorityDriver(rm, highest=HIGHEST, changes_per_minute=2, clock=clock)


def priorities(recorded) -> dict[str, int]:
    return {app["id"]: app["priority"] for app in recorded.apps}


def by_name(recorded) -> tuple[str, str, str]:
    """The ids in the order of their recorded priorities 0, 1 and 2."""
    return tuple(app["id"] for app in sorted(recorded.apps, key=lambda app: app["priority"]))


def test_who_is_below_its_target_goes_first_and_who_is_above_last(recorded, driver) -> None:
    """Masters hold no container that counts, so all hold none here."""
    first, second, third = by_name(recorded)
    recorded.apps[[app["id"] for app in recorded.apps].index(third)]["runningContainers"] = 4
    driver.step({first: 3, third: 1})
    assert priorities(recorded) == {first: HIGHEST, second: 1, third: 0}


def test_the_most_urgent_changes_come_first_and_no_more_than_the_limit(recorded, driver, clock) -> None:
    """Every change is written to the resource manager's state store."""
    first, second, third = by_name(recorded)
    targets = {first: 1, second: 5, third: 9}
    assert [change.application for change in driver.step(targets)] == [third, second]
    assert driver.step(targets) == []
    clock.advance(61)
    assert [change.application for change in driver.step(targets)] == [first]


def test_nothing_is_written_when_all_is_as_wanted(recorded, driver, clock) -> None:
    """A steady state costs reads only."""
    first, *_ = by_name(recorded)
    driver.step({first: 3})
    clock.advance(61)
    recorded.calls.clear()
    assert driver.step({first: 3}) == []
    assert not [call for call in recorded.calls if call.endswith("/priority")]


def test_every_priority_is_put_back(recorded, driver, clock) -> None:
    """Also one that was changed twice; an application that has ended meanwhile is left alone."""
    before = priorities(recorded)
    first, second, _ = by_name(recorded)
    driver.step({first: 3, second: 3})
    clock.advance(61)
    driver.step({first: 0, second: 3})
    del recorded.apps[[app["id"] for app in recorded.apps].index(second)]
    restored = driver.restore()
    assert [change.application for change in restored] == [first]
    assert priorities(recorded) == {id: priority for id, priority in before.items() if id != second}


def test_an_application_without_a_target_gets_its_own_priority_back(recorded, driver, clock) -> None:
    """Its grant has expired, so stock counts."""
    before = priorities(recorded)
    first, *_ = by_name(recorded)
    driver.step({first: 3})
    clock.advance(61)
    driver.step({})
    assert priorities(recorded) == before


def test_a_change_whose_answer_was_lost_is_put_back(recorded, rm, driver, clock, monkeypatch) -> None:
    """The ResourceManager may have made it, and what it shows then is not what was found."""
    before = priorities(recorded)
    first, *_ = by_name(recorded)
    change, answers = rm.set_priority, iter(["lost"])

    def unanswered(*wish: object) -> int:
        after = change(*wish)
        if next(answers, None):
            raise RestError(recorded.url, "/priority", "no answer within 5 s")
        return after

    monkeypatch.setattr(rm, "set_priority", unanswered)
    driver.step({first: 3})
    assert priorities(recorded)[first] == HIGHEST
    clock.advance(61)
    driver.step({first: 0})
    driver.restore()
    assert priorities(recorded) == before


def test_a_priority_that_an_operator_sets_after_the_grants_end_stays(recorded, driver, clock) -> None:
    """With its own priority back an application is no longer ours."""
    first, *_ = by_name(recorded)
    for targets in ({first: 3}, {}):
        driver.step(targets)
        clock.advance(61)
    next(app for app in recorded.apps if app["id"] == first)["priority"] = 7
    assert driver.step({}) == []
    assert driver.restore() == []
    assert priorities(recorded)[first] == 7


def test_a_refused_change_is_told_once_and_not_tried_again(recorded, driver, clock, monkeypatch) -> None:
    """A user whose priorities are limited stays limited, and must not use up what others need."""
    first, *_ = by_name(recorded)
    monkeypatch.setattr(recorded, "_set_priority", lambda *_: (403, {"RemoteException": {"message": "not yours"}}))
    (change,) = driver.step({first: 3})
    assert change.fault.endswith("status 403: not yours")
    clock.advance(61)
    assert driver.step({first: 3}) == []
    assert driver.restore() == []


def test_refused_changes_count_in_the_limit(recorded, driver, monkeypatch) -> None:
    """A resource manager that refuses everything is asked no more often than one that obeys."""
    first, second, third = by_name(recorded)
    monkeypatch.setattr(recorded, "_set_priority", lambda *_: (403, {"RemoteException": {"message": "not yours"}}))
    targets = {first: 1, second: 5, third: 9}
    assert len(driver.step(targets)) == 2
    assert driver.step(targets) == []


def test_a_site_without_priorities_cannot_be_driven(recorded, rm) -> None:
    """Says which key opens the way."""
    assert highest_priority(rm) == HIGHEST
    recorded.said[f"/conf?name={PRIORITY_KEY}"]["property"]["value"] = "0"
    with pytest.raises(CannotDrive, match=PRIORITY_KEY):
        highest_priority(rm)
    recorded.said[SCHEDULER]["scheduler"]["schedulerInfo"]["type"] = "fifoScheduler"
    with pytest.raises(CannotDrive, match="fifoScheduler"):
        highest_priority(rm)


@pytest.mark.parametrize("said", ["{", "[]", '{"application_1_1": -1}', '{"application_1_1": "3"}', "null"])
def test_a_wrong_file_of_targets_names_itself(tmp_path, said) -> None:
    """It is written by hand or by a site's own program."""
    path = tmp_path / "targets.json"
    path.write_text(said)
    with pytest.raises(ValueError, match=str(path)):
        read_targets(path)
    path.write_text(json.dumps({"application_1_1": 3}))
    assert read_targets(path) == {"application_1_1": 3}
