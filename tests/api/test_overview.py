"""Does the head of the first page agree with itself?"""

import re

import pytest

from controlplane.api import pages
from tests.plane import ended, message, started, working

pytestmark = pytest.mark.unit

SOURCE = "spark:app-1"
JOB_ENDED = {"type": "job_ended", "job": "job-1"}


def lost(plane):
    """What the sentence and the strip of the first page say of core time that was lost."""
    page = plane.client.get("/").text
    (sentence,) = re.findall(r"([\d.]+) core-seconds\s+spent on losing copies", page)
    (strip,) = re.findall(r"<dt>Core time lost</dt><dd>(.*?)</dd>", page)
    return sentence, re.sub(r"<[^>]+>", "", strip).strip()


def test_what_was_lost_stays_lost_when_its_application_has_gone(plane):
    """The sentence tells it since the start, and so does the strip below it."""
    plane.reply(message(1, working(), full=True))
    plane.client.post(f"/api/v1/tasks/{SOURCE}/1/0/2:copy", json={"reason": "try"})
    (order,) = [order for order in plane.reply(message(2))["orders"] if order["type"] == "launch_copy"]
    copy = {"index": 2, "host": 3, "speculative": True, "order": order["order"]}
    plane.reply(message(3, [started(9, **copy)]))
    plane.clock.advance(4.0)
    original = ended(2, host=2, duration_ms=8000)
    plane.reply(message(4, [original, ended(9, outcome="killed", duration_ms=2000, **copy)]))
    plane.clock.advance(2.0)
    assert lost(plane) == ("2", "2 core-s 20 % of core time that drivers used")
    plane.reply(message(5, [{"type": "driver_detached"}]))
    plane.clock.advance(2.0)
    assert lost(plane) == ("2", "2 core-s")


@pytest.mark.parametrize(
    ("later_s", "told"), [(20.0, "Deadline in 40.0 s may be ended if late"), (90.0, "Deadline passed 30.0 s ago")]
)
def test_the_page_of_a_job_shows_its_bounds(plane, later_s, told):
    """A user who has set a deadline looks here for what is left of it."""
    bounds = {"deadline_ms": 60_000, "error_bound": 50_000, "kill_late": True}
    plane.reply(message(1, [*working(), {"type": "job_submitted", "job": "job-1", **bounds}], full=True))
    for step in range(1, 10):
        plane.clock.advance(later_s / 9)
        plane.reply(message(1 + step))
    head = " ".join(re.sub(r"<[^>]+>", " ", plane.client.get(f"/jobs/{SOURCE}/job-1").text).split())
    assert told in head
    assert "Error bound 5 % of its input tasks" in head


@pytest.mark.parametrize(
    ("allowed", "policy", "told"),
    [
        ("grass", "hopper+grass", ""),
        ("", "hopper+ras", "Its user named the speculator grass. The operator lets no job"),
    ],
)
def test_a_job_tells_which_speculator_its_user_named_and_whether_it_decides(plane, allowed, policy, told):
    """The page has the pair that decides, and a notice where the name is not allowed; REST says the same."""
    assert plane.client.patch(
        "/api/v1/settings", json={"engine": {"job_speculators": allowed}, "reason": "try"}
    ).is_success
    named = {"type": "job_submitted", "job": "job-1", "speculator": "grass"}
    plane.reply(message(1, [*working(), named], full=True))
    page = " ".join(re.sub(r"<[^>]+>", " ", plane.client.get(f"/jobs/{SOURCE}/job-1").text).split())
    assert f"Policy {policy} its user named grass" in page
    assert told in page
    assert ("Its user named the speculator" in page) == bool(told)
    job = plane.client.get(f"/api/v1/jobs/{SOURCE}/job-1").json()
    reason = "none" if allowed else "speculator_not_allowed"
    assert (job["policy"], job["named_speculator"]["name"], job["named_speculator"]["reason"]) == (
        policy,
        "grass",
        reason,
    )


@pytest.mark.parametrize("allowed", ["grass", ""])
def test_an_ended_job_still_tells_which_speculator_its_user_named(plane, allowed):
    """Whoever looks after the run, as most do, must not miss that the name was not allowed."""
    asked = {"engine": {"job_speculators": allowed}, "reason": "try"}
    assert plane.client.patch("/api/v1/settings", json=asked).is_success
    named = {"type": "job_submitted", "job": "job-1", "speculator": "grass"}
    plane.reply(message(1, [*working(), named], full=True))
    plane.clock.advance(2.0)
    plane.reply(message(2, [*(ended(n, host=n, duration_ms=2000) for n in range(4)), JOB_ENDED]))
    page = " ".join(re.sub(r"<[^>]+>", " ", plane.client.get(f"/jobs/{SOURCE}/job-1").text).split())
    assert "Its user named the speculator grass." in page
    assert ("By today&#39;s settings: The operator lets no job name this speculator" in page) == (not allowed)
    assert plane.client.get(f"/api/v1/jobs/{SOURCE}/job-1/history").json()["speculator"] == "grass"


def test_hosts_that_have_gone_are_as_of_the_last_one_that_was_there(plane):
    """An executor is lost two seconds before its application ends."""
    plane.reply(message(1, working(), full=True))
    lost, gone = {"type": "executor_lost", "executor": "3"}, {"type": "driver_detached"}
    for sequence, facts in enumerate(([], [lost], [gone]), 2):
        plane.clock.advance(2.0)
        plane.reply(message(sequence, facts))
    assert "none sick, as of 2.0 s ago" in plane.client.get("/").text


def test_of_many_hosts_the_slowest_are_shown(plane, monkeypatch):
    """A hundred thousand made a page of 61 MB."""
    monkeypatch.setattr(pages, "HOSTS", 3)
    plane.reply(message(1, working(), full=True))
    plane.clock.advance(2.0)
    page = plane.client.get("/").text
    assert len(re.findall(r'<td class="name">host-\d</td>', page)) == 3
    assert "The slowest; 1 more host at" in page


def test_of_many_decisions_and_changes_the_newest_are_shown(plane):
    """Twenty of the chosen task, ten of its job, two hundred of what operators have asked for."""
    plane.reply(message(1, working(), full=True))
    for _ in range(25):
        plane.client.post(f"/api/v1/tasks/{SOURCE}/1/0/2:copy", json={"reason": "try", "host": "nowhere"})
    page = plane.client.get(f"/jobs/{SOURCE}/job-1?attempt=2").text
    of_task, of_job = r'<h3><a href="/decisions/', r'<td class="whole"><a href="/decisions/'
    assert [len(re.findall(each, page)) for each in (of_task, of_job)] == [20, 10]
    for number in range(201):
        plane.runtime.store.audit(role="local", action="mode", reason=f"change {number}.")
    changes = re.findall(r"change (\d+)\.", plane.client.get("/audit").text)
    assert changes == [str(number) for number in range(200, 0, -1)]


def test_the_decision_that_launched_an_attempt_is_shown_however_many_refusals_followed(plane):
    """It explains the attempt; it comes first."""
    plane.reply(message(1, working(), full=True))
    wish = f"/api/v1/tasks/{SOURCE}/1/0/2:copy"
    plane.client.post(wish, json={"reason": "try"})
    (order,) = [order for order in plane.reply(message(2))["orders"] if order["type"] == "launch_copy"]
    plane.reply(message(3, [started(9, index=2, host=3, speculative=True, order=order["order"])]))
    for _ in range(25):
        plane.client.post(wish, json={"reason": "try", "host": "nowhere"})
    titles = re.findall(
        r"<h3><a href=\"/decisions/[^>]*>(.*?)</a>", plane.client.get(f"/jobs/{SOURCE}/job-1?attempt=9").text
    )
    assert len(titles) == 21
    assert "launch" in titles[0]


@pytest.mark.parametrize(
    ("path", "is_live"),
    [("/", True), ("/decisions", True), ("/decisions?before=9", False), ("/report", False), ("/jobs/spark:a/b", False)],
)
def test_a_page_that_does_not_change_has_no_button_to_stop_it(plane, path, is_live):
    """An older page of decisions, a report and a page that says what is missing stay as they are."""
    assert ('id="live"' in plane.client.get(path).text) == is_live


@pytest.mark.parametrize("path", ["/decisions", "/audit", "/report"])
def test_a_page_has_no_empty_lines(plane, path):
    """Templates would leave one for each of their own lines."""
    assert not re.search(r"\n\s*\n", plane.client.get(path).text)
