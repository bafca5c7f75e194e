"""Do REST and the pages say how likely a job keeps its deadline, and what promises came to?"""

import pytest

from controlplane.api import promises as api
from controlplane.api.formats import number
from controlplane.model.decisions import Promise
from tests.plane import ended, message, running, working

pytestmark = pytest.mark.unit

SOURCE = "spark:app-1"
NOW_S = 1000.0
DAY_S = 86_400.0
JOB = f"/api/v1/jobs/{SOURCE}/job-1"


def begin(plane, deadline_ms):
    """One job of four tasks with a deadline; three read 100 kB per second of their megabyte and the last one 10."""
    facts = working()
    job = next(fact for fact in facts if fact["type"] == "job_submitted")
    plane.reply(
        message(1, [{**fact, "deadline_ms": deadline_ms} if fact is job else fact for fact in facts], full=True)
    )
    for sequence in range(2, 8):
        plane.clock.advance(1.0)
        read = [100_000 * (sequence - 1)] * 3 + [10_000 * (sequence - 1)]
        plane.reply(message(sequence, progress={"attempt": [0, 1, 2, 3], "bytes_read": read}))


def end(plane):
    """All of its tasks end, and so does the job."""
    plane.clock.advance(1.0)
    facts = [ended(number, host=number, duration_ms=7000) for number in range(4)]
    plane.reply(message(8, [*facts, {"type": "job_ended", "job": "job-1"}]))
    assert plane.runtime.store.flush()


def promise(job, first, newest, *, kept, ended_s=NOW_S):
    return Promise(
        source=SOURCE,
        epoch=7,
        job=job,
        ended_s=ended_s,
        first_pocd=first,
        newest_pocd=newest,
        first_with_copies=newest,
        kept=kept,
    )


def keep(plane, *promises):
    plane.runtime.store.record_promises(list(promises), NOW_S)
    assert plane.runtime.store.flush()


def told(plane, since="7d"):
    response = plane.client.get(f"/api/v1/promises?since={since}")
    assert response.status_code == 200, response.text
    return response.json()


def test_a_job_tells_its_pocd_with_what_copies_would_cost(plane):
    """Five further attempts at most, as many as may run."""
    begin(plane, 60_000)
    found = plane.client.get(JOB).json()["pocd"]
    assert (found["reason"], found["hopeless"]) == ("none", False)
    assert found["choices"][0]["core_s"] == 0.0
    assert 0.0 < found["choices"][0]["pocd"] < found["choices"][-1]["pocd"] <= 1.0
    page = plane.client.get(f"/jobs/{SOURCE}/job-1").text
    assert "<th>Further attempts</th>" in page
    assert page.count('data-label="PoCD"') == len(found["choices"])
    assert f"{number(found['with_copies'])} with as many attempts of every running task" in page


def test_the_page_names_the_copies_that_were_chosen(tmp_path):
    """Which tasks have how many, running or ordered."""
    with running(tmp_path, engine={"speculator": "shed-plus"}) as plane:
        begin(plane, 60_000)
        (copied,) = plane.client.get(JOB).json()["pocd"]["copied"]
        assert (copied["index"], copied["copies"]) == (3, 0)
        assert copied["ordered_copies"] > 0
        page = plane.client.get(f"/jobs/{SOURCE}/job-1").text
        assert f"Task 3 of stage 1: 0 copies running, {copied['ordered_copies']} ordered" in page


def test_a_deadline_that_cannot_be_met_is_said_while_the_job_runs(plane):
    """On the page in words, without a table of what would not help."""
    begin(plane, 7_000)
    found = plane.client.get(JOB).json()["pocd"]
    assert (found["reason"], found["hopeless"]) == ("hopeless", True)
    page = plane.client.get(f"/jobs/{SOURCE}/job-1").text
    assert "The deadline cannot be met (hopeless)." in page
    assert "<th>Further attempts</th>" not in page


def test_what_is_not_known_is_said_in_words(plane):
    """A job that has just come has shown no pace yet."""
    facts = [{**fact, "deadline_ms": 60_000} if fact["type"] == "job_submitted" else fact for fact in working()]
    plane.reply(message(1, facts, full=True))
    found = plane.client.get(JOB).json()["pocd"]
    assert (found["reason"], found["choices"]) == ("pace_unknown", [])
    page = plane.client.get(f"/jobs/{SOURCE}/job-1").text
    assert f"Unknown. {found['sentence']}" in page


def test_a_job_without_a_deadline_has_no_pocd(plane):
    """Neither in REST nor on its page."""
    begin(plane, -1)
    assert plane.client.get(JOB).json()["pocd"] is None
    page, _, glossary = plane.client.get(f"/jobs/{SOURCE}/job-1").text.partition("</main>")
    assert ("PoCD" in page, "PoCD" in glossary) == (False, True)


def test_what_came_out_is_told_after_the_end_and_after_a_restart(tmp_path):
    """A promise that could only be compared until the next restart would never be compared with many."""
    with running(tmp_path) as plane:
        begin(plane, 60_000)
        end(plane)
        before = told(plane)
        assert (before["jobs"], before["kept"]) == (1, 1)
        assert "promised 0" in plane.client.get(f"/jobs/{SOURCE}/job-1").text
    with running(tmp_path) as plane:
        after = told(plane)
        assert after["ended"] == before["ended"]
        (job,) = after["ended"]
        assert (job["job"], job["kept"]) == ("job-1", True)
        assert 0.0 < job["first_pocd"] < 1.0


def test_a_deadline_of_which_no_probability_was_known_is_told_without_a_promise(plane):
    """A job whose tasks never all ran at once."""
    facts = [{**fact, "deadline_ms": 60_000} if fact["type"] == "job_submitted" else fact for fact in working()]
    plane.reply(message(1, facts, full=True))
    plane.clock.advance(1.0)
    gone = [ended(number, host=number, duration_ms=1000) for number in range(4)]
    plane.reply(message(2, [*gone, {"type": "job_ended", "job": "job-1"}]))
    assert plane.runtime.store.flush()
    page = plane.client.get(f"/jobs/{SOURCE}/job-1").text
    assert "<dt>Deadline</dt><dd>kept <small>its probability was never known</small>" in page


def test_promises_are_counted(plane):
    """For whoever watches deadlines rather than jobs."""
    begin(plane, 60_000)
    end(plane)
    assert 'grasshopper_promises_total{result="kept"} 1.0' in plane.client.get("/metrics").text


def test_promised_and_kept_are_compared_by_bins_and_by_brier_score(plane):
    """Jobs of which nothing was known count among the jobs alone."""
    keep(
        plane,
        promise("a", 0.8, 1.0, kept=True),
        promise("b", 0.8, 0.1, kept=False),
        promise("c", 0.25, 0.9, kept=True),
        promise("d", None, None, kept=False),
    )
    found = told(plane)
    assert (found["jobs"], found["kept"], found["complete"]) == (4, 2, True)
    first = found["first"]
    assert [(each["low"], each["jobs"], each["kept_share"]) for each in first["bins"]] == [(0.2, 1, 1.0), (0.8, 2, 0.5)]
    assert first["mean_error"] == pytest.approx((0.75 + 2 * 0.3) / 3)
    assert first["brier"] == pytest.approx((0.2**2 + 0.8**2 + 0.75**2) / 3)
    assert first["constant_brier"] == pytest.approx(2 / 9)
    assert found["newest"]["brier"] < first["brier"]
    assert found["first_with_copies"] == found["newest"]
    assert [each["job"] for each in found["ended"]] == ["d", "c", "b", "a"]


def test_only_jobs_that_ended_since_then_count(plane):
    keep(plane, *(promise(str(age), 0.5, 0.5, kept=True, ended_s=NOW_S - age * DAY_S) for age in (0, 2, 9)))
    assert [told(plane, since)["jobs"] for since in ("1h", "7d", "30d")] == [1, 2, 3]
    assert plane.client.get("/api/v1/promises?since=ever").status_code == 422


def test_the_page_draws_a_dot_for_each_bin_and_tells_the_same(plane):
    """Without any script: the drawing is part of the page."""
    page = plane.client.get("/promises").text
    assert "No job with a deadline has ended." in page
    assert '<circle class="dot"' not in page
    keep(plane, promise("a", 0.8, 1.0, kept=True), promise("b", 0.25, 0.0, kept=False))
    page = plane.client.get("/promises?since=24h").text
    assert page.count('<circle class="dot"') == 6
    assert '<circle class="dot" cx="80.0" cy="0.0"' in page
    assert "1 of 2 deadlines kept, 50 %." in page
    assert "1 job: 0.8 promised, 1 kept" in page


def test_a_store_that_cannot_be_read_is_told(plane, monkeypatch):
    """No promise is better than a wrong share."""
    monkeypatch.setattr(plane.runtime.store, "_find_promises", lambda *_: None)
    assert told(plane)["complete"] is False
    assert "Not everything could be read" in plane.client.get("/promises").text


def test_more_jobs_than_are_compared_are_told(plane, monkeypatch):
    monkeypatch.setattr(api, "MOST_JOBS", 2)
    keep(plane, *(promise(str(number), 0.5, 0.5, kept=True) for number in range(3)))
    assert (told(plane)["jobs"], told(plane)["complete"]) == (2, False)
