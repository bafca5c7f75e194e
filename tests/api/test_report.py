"""Does the report add up what copies were worth, and label what is only estimated?"""

import pytest

from controlplane.api import report as reports
from controlplane.model.decisions import Result
from controlplane.model.reasons import Action
from tests.plane import attached, ended, message, running, started, working
from tests.store.stored import outcome, record

pytestmark = pytest.mark.unit

NOW_S = 1000.0
HOUR_S = 3600.0
INPUTS = {"t_rem_s": 9.0, "t_new_s": 3.0}


def report(plane, since="24h"):
    response = plane.client.get(f"/api/v1/report?since={since}")
    assert response.status_code == 200, response.text
    return response.json()


def would_copy(number, *, at_s=NOW_S, **more):
    """A decision of shadow mode."""
    return record(number, at_s=at_s, **{"index": number, **more})


def ordered(number, **more):
    return record(number, at_s=NOW_S, order=number, inputs=INPUTS, **more)


def came_out(number, result, saved_s=0.0, cost_core_s=0.0):
    fields = {"decision": number, "result": result, "at_s": NOW_S, "saved_s": saved_s, "cost_core_s": cost_core_s}
    return type(outcome(number))(**fields)


def keep(plane, records, outcomes=()):
    """Puts decisions and what came of them on record."""
    plane.runtime.store.record(list(records), list(outcomes), NOW_S)


def test_nothing_is_claimed_where_nothing_was_decided(plane):
    """A new user's first look must not read as a result."""
    found = report(plane)
    assert found["applications"] == []
    assert found["summary"] == [
        "Shadow mode has not decided on any copy.",
        "No copy has been ordered.",
        "The hosts' own speculation has ended no copy.",
    ]
    assert {each["ratio"] for each in found["errors"]} == {None}


def test_shadow_adds_up_what_has_an_outcome_and_counts_what_has_none(plane):
    """A sum over half of the decisions must say so."""
    would = [came_out(n, Result.SHADOW, saved_s=2.5, cost_core_s=3.0) for n in (1, 2)]
    keep(plane, [would_copy(n) for n in (1, 2, 3)], would)
    keep(plane, [would_copy(4, action=Action.REFUSE_COPY)])
    found = report(plane)
    assert found["errors"][-1]["ratio"] is None, "there is no ordered copy to compare with"
    (application,) = found["applications"]
    assert application["source"] == "spark:a"
    assert application["shadow"] == {
        "copies": 3,
        "without_outcome": 1,
        "estimated_saved_s": 5.0,
        "estimated_cost_core_s": 6.0,
    }
    assert application["control"]["copies"] == 0


@pytest.mark.parametrize("judged", [1, 3])
def test_a_task_that_was_decided_on_again_and_again_is_one_copy(plane, judged):
    """Its reason may change while it runs; only one of the decisions gets an outcome."""
    would = came_out(judged, Result.SHADOW, saved_s=2.5, cost_core_s=3.0)
    keep(plane, [would_copy(n, index=7) for n in (1, 2, 3)])
    assert report(plane)["summary"][0].startswith("Shadow mode would have launched 1 copy; none of the tasks has ended")
    keep(plane, [would_copy(4, index=8)], [would])
    total = report(plane)["total"]["shadow"]
    assert (total["copies"], total["without_outcome"], total["estimated_saved_s"]) == (2, 1, 2.5)


def test_tasks_of_two_runs_of_an_application_are_two_copies(plane):
    """Its second run numbers stages and tasks as the first one did; what each would have saved counts."""
    would = [came_out(n, Result.SHADOW, saved_s=2.5, cost_core_s=3.0) for n in (1, 2)]
    keep(plane, [would_copy(n, index=7, epoch=n) for n in (1, 2)], would)
    (application,) = report(plane)["applications"]
    assert (application["shadow"]["copies"], application["shadow"]["estimated_saved_s"]) == (2, 5.0)


def test_an_application_that_has_ended_keeps_its_name(plane):
    """Its id alone says nothing to whoever asks the day after."""
    facts = working()
    plane.reply(message(1, [facts[0] | {"name": "nightly"}, *facts[1:]], full=True))
    plane.reply(message(2, [{"type": "driver_detached"}]))
    keep(plane, [would_copy(1, source="spark:app-1")])
    assert [each["name"] for each in report(plane)["applications"]] == ["nightly"]


def test_decisions_without_any_outcome_are_no_saving_of_nothing(plane):
    """Right after the start no sum is known; 0 s would read as a result."""
    keep(plane, [would_copy(1), would_copy(2)])
    assert report(plane)["summary"][0] == (
        "Shadow mode would have launched 2 copies; none of the tasks has ended yet, so their value is not known."
    )


def test_each_ordered_copy_is_counted_in_one_result(plane):
    """Counts that do not add up are believed by nobody."""
    assert set(reports._COUNTED_AS) == set(Result) - {Result.SHADOW}
    results = {1: Result.WON, 2: Result.LOST, 3: Result.REFUSED, 4: Result.EXPIRED, 5: Result.APPLIED, 6: Result.MOOT}
    keep(plane, [ordered(n) for n in range(1, 8)], [came_out(n, Result.APPLIED) for n in (1, 2)])
    keep(plane, [], [came_out(n, result, saved_s=4.0 * (n == 1), cost_core_s=1.5) for n, result in results.items()])
    total = report(plane)["total"]["control"]
    assert total["copies"] == 7 == sum(total[name] for name in ("won", "lost", "not_launched", "without_outcome"))
    assert (total["won"], total["lost"], total["not_launched"], total["without_outcome"]) == (1, 1, 3, 2)
    assert (total["estimated_saved_s"], total["losing_core_s"]) == (4.0, 3.0)


def test_only_what_was_decided_since_then_counts(plane):
    """Minutes, hours and days."""
    keep(plane, [would_copy(n, at_s=NOW_S - age_s) for n, age_s in ((1, 50 * HOUR_S), (2, 2 * HOUR_S), (3, 60.0))])
    counts = [report(plane, since)["total"]["shadow"]["copies"] for since in ("30m", "90m", "3h", "3d")]
    assert counts == [1, 1, 2, 3]


def test_a_long_time_is_read_page_by_page(plane, monkeypatch):
    """All of it, across memory and database; where there is more than a report reads, it says so."""
    monkeypatch.setattr(reports, "_PER_READ", 3)
    keep(plane, [would_copy(n) for n in range(1, 11)])
    assert plane.runtime.store.flush()
    found = report(plane)
    assert (found["total"]["shadow"]["copies"], found["complete"]) == (10, True)
    monkeypatch.setattr(reports, "MOST_DECISIONS", 6)
    found = report(plane)
    assert (found["total"]["shadow"]["copies"], found["complete"]) == (6, False)


@pytest.mark.parametrize("since", ["", "24", "h", "0h", "1w", "-3h", "1.5h", "24h ", "24h\n", "24hours", "999999d"])
@pytest.mark.parametrize("path", ["/api/v1/report", "/report"])
def test_a_time_that_is_none_is_refused_by_its_field(plane, path, since):
    """Whoever mistypes it must not get the report of another time."""
    refused = plane.client.get(path, params={"since": since})
    assert refused.status_code == 422
    (error,) = refused.json()["errors"]
    assert error["field"] == "since"
    assert "90m, 24h or 7d" in error["detail"]


def test_the_error_of_savings_is_told_once_it_is_known(plane):
    """Foretold 6 s each; of two copies one saved 4 s and one lost: three times too much. Shadow told 8 s a copy."""
    keep(plane, [ordered(1), ordered(2)], [came_out(1, Result.WON, 4.0), came_out(2, Result.LOST, 0.0, 2.0)])
    *_, by_ordered, by_shadow = report(plane)["errors"]
    assert (by_ordered["samples"], by_ordered["ratio"]) == (2, 3.0)
    assert (by_shadow["samples"], by_shadow["ratio"], by_shadow["about"]) == (0, None, "")
    keep(plane, [would_copy(3)], [came_out(3, Result.SHADOW, saved_s=8.0)])
    by_shadow = report(plane)["errors"][-1]
    assert (by_shadow["samples"], by_shadow["ratio"]) == (1, 4.0)
    page = plane.client.get("/report").text
    assert "expected to save 3 times the time that they have saved; those that lost have saved none." in page
    assert "a copy in shadow saves 4 times what an ordered one has saved." in page


def test_where_all_tasks_have_ended_nothing_is_said_of_others(plane):
    """Of "0 of them for tasks that have not ended yet" nobody makes anything."""
    keep(plane, [would_copy(n) for n in (1, 2)], [came_out(n, Result.SHADOW, 4.0, 5.5) for n in (1, 2)])
    assert report(plane)["summary"][0] == (
        "Shadow mode would have launched 2 copies. By estimate, they would have saved 8.0 s of task time "
        "and cost 11 core-seconds."
    )


def test_what_is_not_known_of_a_copy_teaches_no_error(plane):
    """An operator's wish rests on no estimate, and a hanging attempt has no end that is known."""
    unknown = [{}, {"t_rem_s": float("inf"), "t_new_s": 3.0}, {"t_rem_s": None, "t_new_s": 3.0}]
    records = [record(n, at_s=NOW_S, order=n, inputs=inputs) for n, inputs in enumerate(unknown, 1)]
    keep(plane, records, [came_out(n, Result.WON, 4.0) for n in (1, 2, 3)])
    by_ordered = report(plane)["errors"][2]
    assert (by_ordered["samples"], by_ordered["ratio"]) == (0, None)


def test_copies_of_the_hosts_own_are_kept_with_what_they_held(plane):
    """Beside ours, over a restart: a job's memory ends after two hours."""
    copy = {"stage": 1, "speculative": True}
    asked = {"type": "resource_requested", "request": 1, "count": 4, "job": "job-1", "stage": 1, "stage_attempt": 0}
    plane.reply(message(1, [*working(), asked | {"cores": 2}], full=True))
    plane.reply(message(2, [started(9, index=2, host=3, **copy), started(8, index=1, host=3, **copy)]))
    lost = ended(9, index=2, host=3, outcome="killed", duration_ms=2000, **copy)
    won = ended(8, index=1, host=3, duration_ms=1000, **copy)
    plane.reply(message(3, [lost, won, ended(2, host=2), ended(1, host=1, outcome="killed")]))
    plane.reply(message(4, [lost]))
    assert plane.runtime.store.flush()
    (application,) = report(plane)["applications"]
    assert application["stock"] == {"won": 1, "lost": 1, "losing_core_s": 4.0}
    assert application["control"]["copies"] == 0
    assert "has ended 2 copies: 1 won, 1 lost" in plane.client.get("/report").text


def test_copies_that_we_ordered_are_not_the_hosts_own(plane):
    """They are counted once."""
    plane.reply(message(1, working(), full=True))
    plane.reply(message(2, [started(9, index=2, host=3, speculative=True, order=5)]))
    plane.reply(message(3, [ended(9, index=2, host=3, speculative=True, order=5)]))
    assert plane.runtime.store.flush()
    assert report(plane)["applications"] == []


def test_an_application_that_is_attached_has_its_name(plane):
    """Ids alone say little to people."""
    plane.reply(message(1, [attached() | {"name": "nightly"}], full=True))
    keep(plane, [would_copy(1, source="spark:app-1"), would_copy(2)])
    assert [each["name"] for each in report(plane)["applications"]] == ["", "nightly"]


def test_a_store_that_cannot_be_read_makes_the_report_a_part(plane, monkeypatch):
    """What is in memory is told; that it may be a part, too."""
    keep(plane, [would_copy(1)])
    monkeypatch.setattr(plane.runtime.store, "_tally_stock_copies", lambda _: None)
    found = report(plane)
    assert (found["total"]["shadow"]["copies"], found["complete"]) == (1, False)
    assert "Not everything could be read" in plane.client.get("/report").text


def test_no_sum_of_savings_stands_without_the_word_estimate(tmp_path):
    """Shadow's figures are no results: wherever 77.7 s stand, the sentence or its column's head says what they are."""
    with running(tmp_path, engine={"mode": "shadow"}) as plane:
        keep(plane, [would_copy(n) for n in (1, 2)], [came_out(1, Result.SHADOW, 77.7, 5.5)])
        told = [sentence for sentence in report(plane)["summary"] if "1 min 18 s" in sentence]
        page = plane.client.get("/report").text
    assert len(told) == 1
    assert "By estimate, the 1 whose tasks have ended would have saved 1 min 18 s" in told[0]
    assert "; 1 more cannot be judged yet." in told[0]
    lines = [line for line in page.splitlines() if "1 min 18 s" in line]
    assert len(lines) == 2
    assert all("stimate" in line for line in lines)
