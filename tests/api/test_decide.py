"""Can a policy be asked over HTTP what it would do with a snapshot?"""

import pytest

from controlplane.api import decide as endpoint
from tests.plane import message, working

pytestmark = pytest.mark.unit


@pytest.fixture
def snapshot(plane):
    """The dump of a plane with one job of four running tasks."""
    plane.reply(message(1, working(), full=True))
    return plane.client.get("/api/v1/state:dump").json()


def ask(plane, **question):
    return plane.client.post("/api/v1/decide", json={"policy": "fair+late"} | question)


def test_a_dump_can_be_asked_about_at_once(plane, snapshot):
    """Targets with their virtual sizes, and why each task is left alone; the engine itself goes on as it was."""
    before = plane.client.get("/api/v1/decisions").json()
    answered = ask(plane, snapshot=snapshot)
    assert answered.status_code == 200
    advice = answered.json()
    assert (advice["policy"], advice["cycle"]) == ("fair+late", snapshot["cycle"])
    (pool,) = advice["pools"]
    assert [(each["job"], each["target"], each["virtual_size"]) for each in pool["targets"]] == [("job-1", 12, 4.0)]
    assert {each["reason"] for each in pool["refusals"]} == {"too_new"}
    assert plane.client.get("/api/v1/decisions").json() == before


def test_drivers_do_not_wait_for_an_answer_that_takes_long(plane, snapshot, monkeypatch):
    """Whoever may read may ask; a thousand pools under `redundant-small` are a thousand searches."""
    decide = endpoint.decide

    def thoughtful(*question):
        assert plane.reply(message(2))["acknowledged"] == 2
        return decide(*question)

    monkeypatch.setattr(endpoint, "decide", thoughtful)
    assert ask(plane, snapshot=snapshot).status_code == 200


def test_a_bad_field_is_named_by_its_path(plane, snapshot):
    """Wherever it stands in the snapshot."""
    snapshot["pools"][0]["slots"] = "many"
    answered = ask(plane, snapshot=snapshot)
    assert answered.status_code == 422
    assert answered.headers["content-type"] == "application/problem+json"
    assert answered.json()["errors"] == [{"field": "snapshot.pools[0].slots", "detail": "Expected `int`, got `str`"}]


@pytest.mark.parametrize("policy", ["fair+late", "fixed+none", "hopper+ras", "budgeted+late", "srpt+none"])
def test_a_snapshot_of_more_than_any_cluster_has_is_refused_by_its_field(plane, snapshot, policy):
    """Sums of such numbers would not be exact."""
    pool = snapshot["pools"][0]
    pool["slots"], pool["tasks"], job = 2**40, [], pool["jobs"][0]
    pool["jobs"] = [job | {"job": str(n), "remaining_tasks": 10**12} for n in range(200)]
    pool["jobs"][7]["remaining_tasks"] = 2**50
    answered = ask(plane, snapshot=snapshot, policy=policy)
    assert answered.status_code == 422
    assert [each["field"] for each in answered.json()["errors"]] == ["snapshot.pools[0].slots"]
    pool["slots"] = 10**12
    answered = ask(plane, snapshot=snapshot, policy=policy)
    assert [each["field"] for each in answered.json()["errors"]] == ["snapshot.pools[0].jobs[7].remaining_tasks"]
    pool["jobs"][7]["remaining_tasks"] = 10**12
    assert ask(plane, snapshot=snapshot, policy=policy).status_code == 200


@pytest.mark.parametrize(
    ("question", "field"), [({"policy": "best+late"}, "engine.allocator"), ({"policy": "late"}, "policy")]
)
def test_an_unknown_policy_is_refused_with_those_there_are(plane, snapshot, question, field):
    """As everywhere."""
    answered = ask(plane, snapshot=snapshot, **question)
    assert answered.status_code == 422
    assert [each["field"] for each in answered.json()["errors"]] == [field]


def test_what_is_no_json_is_a_bad_request(plane):
    """With the place where it ends."""
    answered = plane.client.post("/api/v1/decide", content=b'{"policy":')
    assert (answered.status_code, answered.json()["code"]) == (400, "bad_json")


def test_a_body_beyond_the_bound_is_refused(plane):
    """Larger dumps are for the command line, which needs no server."""
    assert plane.client.post("/api/v1/decide", content=b" " * (2**20 + 1)).status_code == 413
