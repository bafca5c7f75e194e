"""Does `why` say of a task only what happened to it, and with the reason of that very decision?"""

import pytest

from tests.plane import ended, message, running, started, working

pytestmark = pytest.mark.unit

SOURCE = "spark:app-1"
TASK = f"/api/v1/tasks/{SOURCE}/1/0/2"


@pytest.fixture
def fresh(tmp_path):
    """A control plane in mode `control` that watches one job of four tasks; what it tells is never old."""
    with running(tmp_path, runtime={"snapshot_age_s": 0.0}) as plane:
        plane.reply(message(1, working(), full=True))
        yield plane


def why(plane):
    response = plane.client.get(f"{TASK}/why")
    assert response.status_code == 200, response.text
    return response.json()


def copy_wanted(plane, **more):
    return plane.client.post(f"{TASK}:copy", json={"reason": "try", **more}).json()["decisions"][0]


def copy_ordered(plane):
    copy_wanted(plane)
    return next(order["order"] for order in plane.reply(message(2))["orders"] if order["type"] == "launch_copy")


@pytest.mark.parametrize("mode", ["shadow", "off"])
def test_what_was_only_thought_of_was_not_copied(fresh, mode):
    """Shadow is the default, so this is the first answer that everybody reads."""
    fresh.client.put("/api/v1/mode", json={"mode": mode, "reason": "look first"})
    copy_wanted(fresh)
    told = why(fresh)
    assert (told["copied"], told["fate"]) == (False, f"would have been copied, but the mode was {mode}")


def test_an_order_is_not_yet_a_copy_and_a_refused_one_never_is(fresh):
    """Only the start of an attempt makes one."""
    order = copy_ordered(fresh)
    told = why(fresh)
    assert (told["copied"], told["fate"]) == (False, "was to be copied, but there is no news of the order yet")
    fresh.reply(message(3, [{"type": "order_outcome", "order": order, "result": "refused", "reason": "no room"}]))
    told = why(fresh)
    assert (told["copied"], told["fate"]) == (False, "was to be copied, but the host refused (no room)")


@pytest.mark.parametrize(("winner", "outcome"), [(9, "won"), (2, "lost")])
def test_a_copy_that_started_is_told_with_how_its_race_ended(fresh, winner, outcome):
    """Also once the application has gone, from what is on record."""
    copy = started(9, index=2, host=0, speculative=True, order=copy_ordered(fresh))
    fresh.reply(message(3, [copy]))
    assert (why(fresh)["copied"], why(fresh)["fate"]) == (True, "was copied")
    places = {9: {"index": 2, "host": 0, "speculative": True}, 2: {"host": 2}}
    facts = [ended(winner, **places.pop(winner))]
    facts += [ended(loser, outcome="killed", **place) for loser, place in places.items()]
    fresh.reply(message(4, facts))
    fresh.reply(message(5, [{"type": "driver_detached"}]))
    assert (why(fresh)["copied"], why(fresh)["fate"]) == (True, f"was copied, and the copy {outcome}")


def test_fate_and_reason_are_of_one_decision_however_many_refusals_follow(fresh):
    """A copy's reason must not be what spoke against a second one; a page of refusals must not hide that it was."""
    copy = started(9, index=2, host=0, speculative=True, order=copy_ordered(fresh))
    fresh.reply(message(3, [copy]))
    refusals = [copy_wanted(fresh, host="nowhere") for _ in range(25)]
    told = why(fresh)
    assert (told["copied"], told["reason"]) == (True, "operator")
    assert told["since"] == refusals[-1]["sentence"] == "No other healthy host has room for a copy."
    assert [each["action"] for each in told["decisions"]][-1] == "launch_copy"


def test_a_refusal_before_the_copy_says_nothing_of_it(fresh):
    """Only what came later is told as such."""
    copy_wanted(fresh, host="nowhere")
    assert (why(fresh)["fate"], why(fresh)["since"]) == ("was not copied by Grasshopper", "")
    copy_ordered(fresh)
    assert why(fresh)["since"] == ""


def test_a_second_run_is_told_nothing_of_the_first_and_the_first_if_it_is_named(fresh):
    """YARN starts a second attempt under the same id, which numbers stages, tasks and attempts from 0 again."""
    decision = copy_wanted(fresh)
    fresh.reply(message(1, working(), full=True, epoch=8))
    for what in (TASK, f"/api/v1/attempts/{SOURCE}/2"):
        told, of_first = (fresh.client.get(f"{what}/why{query}").json() for query in ("", "?epoch=7"))
        assert (told["epoch"], told["decisions"], told["fate"]) == (8, [], "was not copied by Grasshopper")
        assert (of_first["epoch"], [each["id"] for each in of_first["decisions"]]) == (7, [decision["id"]])
        assert {each["epoch"] for each in of_first["decisions"]} == {7}
        assert fresh.client.get(f"{what}/why?epoch=9").json()["detail"].find(" in epoch 9") > 0
    second = copy_wanted(fresh, host="nowhere")
    assert [each["id"] for each in why(fresh)["decisions"]] == [second["id"]]


def test_without_a_run_the_newest_with_a_decision_is_told(fresh):
    """Once the second run has gone, whether it decided anything about the task is what counts."""
    copy_wanted(fresh)
    for sequence, epoch in ((1, 8), (3, 9)):
        fresh.reply(message(sequence, working(), full=True, epoch=epoch))
        if epoch == 8:
            copy_wanted(fresh)
    fresh.reply(message(4, [{"type": "driver_detached"}], epoch=9))
    assert (why(fresh)["epoch"], len(why(fresh)["decisions"])) == (8, 1)


def test_the_page_of_a_job_shows_one_run(fresh):
    """The newest; links of older decisions lead to theirs, by their epoch."""
    first = f"/decisions/{copy_wanted(fresh)['id']}"
    fresh.reply(message(1, working(), full=True, epoch=8))
    second = f"/decisions/{copy_wanted(fresh)['id']}"
    page, of_first = (fresh.client.get(f"/jobs/{SOURCE}/job-1?attempt=2{more}").text for more in ("", "&epoch=7"))
    assert (first in page, second in page) == (False, True)
    assert (first in of_first, second in of_first) == (True, False)
    address = "/jobs/spark%3Aapp-1/job-1?epoch=7&amp;attempt=2#why"
    assert address in fresh.client.get(first).text
    listed = fresh.client.get("/decisions").text
    assert address in listed
    assert first in listed
    assert first not in fresh.client.get("/decisions?epoch=8").text


def test_what_is_not_on_record_is_told_from_a_source_that_is_not(fresh):
    """A task that ended on schedule has no decisions; its application has some, and names are often cut short."""
    copy_wanted(fresh)
    fresh.reply(message(2, [{"type": "driver_detached"}]))

    def refused(source):
        response = fresh.client.get(f"/api/v1/tasks/{source}/1/0/3/why")
        assert response.status_code == 404
        return response.json()["detail"]

    assert "nothing is on record about task 3 of stage 1.0: it does not run" in refused(SOURCE)
    assert refused("app-1") == "no source 'app-1' is attached or on record; did you mean 'spark:app-1'?"
    assert refused("app-2") == "no source 'app-2' is attached or on record"
