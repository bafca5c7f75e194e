"""Do a driver and its queue, each over its own exchanges, become one application in REST and on the page?"""

from html import unescape

import pytest

from tests.plane import message, running, working

pytestmark = pytest.mark.unit
START_MS = 1_700_000_000_000
MINE, OTHER = f"application_{START_MS}_0001", f"application_{START_MS}_0002"
DRIVER, QUEUE = f"spark:{MINE}", "yarn:c:root.q"
HOSTILE = '<script>alert("x")</script>'


def queue_says(plane, sequence, *applications, user="alice", epoch=3):
    """One exchange of a leaf queue of twelve slots; returns the reply."""
    listed = [
        {"job": job, "user": user, "running": running, "pending": pending, "name": f"name of {job}", "kind": "SPARK"}
        | {"tags": [HOSTILE]}
        for job, running, pending in applications
    ]
    can = {"order_pending": True, "hold_slots": True}
    facts = [
        {"type": "driver_attached", "application": "c:root.q", "name": "root.q", "capabilities": can},
        {"type": "queue_demand", "slots": 12, "applications": listed, "cluster_unix_ms": START_MS},
    ]
    identity = {"kind": "yarn", "id": "c:root.q", "epoch": epoch}
    return plane.reply({"protocol": 1, "source": identity, "sequence": sequence, "full": True, "facts": facts})


def driver_says(plane, sequence, *, user="alice"):
    """One exchange of the driver: four executors of four slots, and a job of four tasks that all run."""
    facts = working(application=MINE)
    facts[0]["user"] = user
    return plane.reply(message(sequence, facts, source=MINE, full=True))


def grants(plane):
    """The queue's grants by application, over REST."""
    items = plane.client.get("/api/v1/grants", params={"source": QUEUE}).json()["items"]
    return {grant["job"]: grant for grant in items}


def joins(plane):
    """What was recorded about the driver's membership, newest first."""
    query = {"source": DRIVER, "action": "join"}
    items = plane.client.get("/api/v1/decisions", params=query).json()["items"]
    assert {each["result"] for each in items} <= {None}, "nothing was to be ordered"
    return [each["reason"] for each in items]


def test_both_make_one_application_over_the_real_endpoint(plane):
    """A container of four slots holds four tasks: the queue's order is about one container, not about five."""
    driver_says(plane, 1)
    reply = queue_says(plane, 1, (OTHER, 1, 9), (MINE, 1, 4))
    per_task = max(2 / plane.client.get(f"/api/v1/jobs/{DRIVER}/job-1").json()["tail_index"], 1.0)
    granted = grants(plane)
    assert granted[MINE]["virtual_size"] == pytest.approx(per_task * 4 / 4)
    assert granted[OTHER]["virtual_size"] == 10
    assert {order["job"]: order["target"] for order in reply["orders"]} == {
        job: grant["target"] for job, grant in granted.items()
    }
    pool = plane.client.get(f"/api/v1/pools/{QUEUE}").json()
    assert (pool["running"], pool["slots"]) == (2, 12)
    queued = granted[MINE]["queued"]
    assert (queued["driver"], queued["running"], queued["pending"], queued["user"]) == (DRIVER, 1, 4, "alice")
    assert queued["sentence"].startswith("Its driver's jobs have 4 tasks to go")
    assert driver_says(plane, 2)["claims"]
    plane.clock.advance(1.0)
    (application,) = (
        each for each in plane.client.get("/api/v1/applications").json()["items"] if each["source"] == DRIVER
    )
    assert (application["listed"]["queue"], application["listed"]["reason"]) == (QUEUE, "joined")
    assert joins(plane) == ["joined"]


@pytest.mark.parametrize(("listed", "reason"), [((MINE, 1, 4), "other_user"), ((OTHER, 1, 4), "unlisted")])
def test_a_stranger_gets_neither_claims_nor_orders(plane, listed, reason):
    """Its user sees why in the mode of the answer, its operator in the decisions."""
    queue_says(plane, 1, listed)
    reply = driver_says(plane, 1, user="mallory")
    assert (reply["mode"], reply.get("claims", []), reply.get("orders", [])) == ("shadow", [], [])
    driver_says(plane, 2, user="mallory")
    assert joins(plane) == [reason]


def test_the_page_shows_queue_grant_running_pending_size_and_why(plane):
    """One look answers what an application holds, what it should hold, and on what that rests."""
    driver_says(plane, 1)
    queue_says(plane, 1, (OTHER, 1, 9), (MINE, 1, 4))
    driver_says(plane, 2)
    html = plane.client.get("/").text
    assert "root.q" in html
    assert "holds 1, asks for 4" in html
    assert "Its driver's jobs have 4 tasks to go" in unescape(html)
    assert "No driver reports for it" in html
    assert "Steering 1 job of 1 application, and 2 applications in 1 queue" in html
    page = plane.client.get(f"/jobs/{QUEUE}/{MINE}".replace(":", "%3A")).text
    assert f"<h1>name of {MINE}</h1>" in page
    assert "Its driver's jobs have 4 tasks to go" in unescape(page)
    assert "asks for 4" in page
    assert "No attempt has started yet" not in page


def page_of(plane, job):
    """The page of an application, as text."""
    return unescape(plane.client.get(f"/jobs/{QUEUE}/{job}".replace(":", "%3A")).text)


def test_an_application_that_has_ended_is_shown_with_what_it_was_granted_and_held_and_why(plane):
    """The question comes afterwards: why did it take so long?"""
    queue_says(plane, 1, (OTHER, 1, 9), (MINE, 1, 4))
    plane.clock.advance(10.0)
    queue_says(plane, 2, (OTHER, 7, 3), (MINE, 5, 0))
    plane.clock.advance(10.0)
    queue_says(plane, 3, (OTHER, 10, 0))
    overview = unescape(plane.client.get("/").text)
    assert "5 containers at most" in overview
    page = page_of(plane, MINE)
    assert f"<h1>name of {MINE}</h1>" in page
    assert "ended" in page
    assert "Held at most" in page
    assert "5 containers" in page
    assert "1 min" in page, "one container for ten seconds and five for ten more"
    assert "its target is 5 of the pool's 12 slots" in page
    assert 'class="held"' in page
    assert 'class="target"' in page
    history = plane.client.get(f"/api/v1/jobs/{QUEUE}/{MINE}/history").json()
    assert [(each["running"], each["pending"]) for each in history["containers"]] == [(1, 4), (5, 0), (0, 0)]
    assert "Attempts" not in page


def test_an_application_that_outlives_its_resource_manager_is_shown_with_all_of_its_grants(plane):
    """Its queue's runs are not its own."""
    queue_says(plane, 1, (MINE, 1, 4))
    plane.clock.advance(10.0)
    queue_says(plane, 1, (MINE, 5, 0), epoch=4)
    decided = plane.client.get("/api/v1/decisions", params={"source": QUEUE, "job": MINE}).json()["items"]
    assert {each["epoch"] for each in decided} == {3, 4}
    assert [f"/decisions/{each['id']}" in page_of(plane, MINE) for each in decided] == [True] * len(decided)


def test_an_application_that_has_ended_leads_to_its_drivers_jobs(plane):
    """Containers are the queue's view; tasks are the driver's."""
    driver_says(plane, 1)
    queue_says(plane, 1, (MINE, 1, 4))
    plane.clock.advance(10.0)
    queue_says(plane, 2)
    assert f"/jobs/spark%3A{MINE}/job-1" in page_of(plane, MINE)


def test_what_was_decided_about_an_application_outlives_the_control_plane(tmp_path):
    """Only decisions are stored: the page says that this is all."""
    for start in range(2):
        with running(tmp_path) as plane:
            if start == 0:
                queue_says(plane, 1, (MINE, 1, 4))
                assert plane.runtime.store.flush()
            page = page_of(plane, MINE)
    assert "only the decisions about it are kept" in page
    assert "its target is 5 of" in page
    assert "No attempt has started yet" not in page


def test_tags_and_names_of_users_are_only_ever_text(plane):
    """Whatever a user calls an application, the operator's page shows it and does not run it."""
    queue_says(plane, 1, (OTHER, 1, 9), (HOSTILE, 1, 4))
    for address in ("/", "/decisions"):
        html = plane.client.get(address).text
        assert "<script>alert" not in html
        assert HOSTILE in unescape(html)


def test_a_weight_beyond_all_bounds_is_refused_by_name(plane):
    """The ResourceManager clamps what users chose; who does not is told so."""
    fact = {"type": "queue_demand", "slots": 1, "applications": [{"job": "a", "running": 0, "pending": 1}]}
    fact["applications"][0]["weight"] = 10**6
    reply = plane.sync(message(1, [fact]))
    assert reply.status_code == 422
    assert "weight" in reply.text
