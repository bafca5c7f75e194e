"""Are the samples by which `grass` switches shown over REST and on the page, and still there after a restart?"""

import re

import pytest

from controlplane.api.formats import job_path
from tests.plane import ended, message, running, working

pytestmark = pytest.mark.unit

EXPLORE = {"mode": "control", "speculator": "grass", "speculator_settings": {"explorer_share": 1.0}}


def explore(plane):
    """A job of four tasks ends, which has tried GS or RAS."""
    plane.reply(message(1, working(), full=True))
    plane.clock.advance(2.0)
    over = [{"type": "stage_ended", "stage": 1, "stage_attempt": 0}, {"type": "job_ended", "job": "job-1"}]
    plane.reply(message(2, [*(ended(n, host=n, duration_ms=2000) for n in range(4)), *over]))
    plane.clock.advance(2.0)
    plane.reply(message(3))


def samples(plane):
    return plane.client.get("/api/v1/samples").json()["items"]


def test_a_job_that_explored_is_a_sample_over_rest_and_on_the_page(tmp_path):
    with running(tmp_path, engine=EXPLORE) as plane:
        assert samples(plane) == []
        assert "Samples of GS and RAS" not in plane.client.get("/").text
        explore(plane)
        (one,) = samples(plane)
        assert one["policy"] in ("gs", "ras")
        assert (one["has_deadline"], one["size"], one["samples"]) == (False, "below 50 tasks", 1.0)
        assert 0 < one["curve"][0] <= one["curve"][1] <= 1
        assert one["curve"][2] is None
        page = plane.client.get("/").text
        row = page[page.index("Samples of GS and RAS") :]
        cells = re.findall(r"<td[^>]*>([^<]*)</td>", row)
        assert cells[:2] == [one["policy"], "below 50 tasks, without a deadline"]
        assert cells[-3:] == ["\u2013"] * 3


@pytest.mark.parametrize(("n_tasks", "is_alike"), [(4, True), (60, False)])
def test_the_page_of_a_job_shows_the_samples_of_jobs_like_it(tmp_path, n_tasks, is_alike):
    with running(tmp_path, engine=EXPLORE) as plane:
        explore(plane)
    with running(tmp_path, engine=EXPLORE) as plane:
        plane.reply(message(1, working(n_tasks, job="job-2"), full=True))
        plane.clock.advance(2.0)
        plane.reply(message(2))
        page = plane.client.get(job_path("spark:app-1", "job-2")).text
        assert ("Samples of jobs like it" in page) == is_alike


def test_samples_survive_a_restart_of_the_control_plane(tmp_path):
    with running(tmp_path, engine=EXPLORE) as plane:
        explore(plane)
        before = samples(plane)
    with running(tmp_path, engine=EXPLORE) as plane:
        assert samples(plane) == before != []


def test_pages_of_samples_follow_one_another(tmp_path):
    with running(tmp_path, engine=EXPLORE) as plane:
        explore(plane)
        first = plane.client.get("/api/v1/samples?limit=1").json()
        assert len(first["items"]) == 1
        assert first["cursor"] is None
