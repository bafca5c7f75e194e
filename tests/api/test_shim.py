"""Does the shim's endpoint name the field that is wrong, and stay unchanged by what it refuses?"""

import gzip
import json

import pytest

from controlplane.api.shim import LARGE_BYTES, ShimEndpoint, _Refused
from tests.plane import attached, ended, message, running, started, working

pytestmark = pytest.mark.unit


def without(body, *path):
    """The body without one of its fields."""
    clone = json.loads(json.dumps(body))
    place = clone
    for part in path[:-1]:
        place = place[part]
    del place[path[-1]]
    return clone


def replaced(body, value, *path):
    """The body with one of its fields replaced."""
    clone = json.loads(json.dumps(body))
    place = clone
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = value
    return clone


GOOD = message(1, working(), full=True)
STARTED = next(n for n, fact in enumerate(GOOD["facts"]) if fact["type"] == "attempt_started")
JOB = next(n for n, fact in enumerate(GOOD["facts"]) if fact["type"] == "job_submitted")
DEMAND = {"type": "queue_demand", "slots": 1, "applications": [{"job": "a", "running": 1, "pending": 0}] * 10_001}

BAD = [
    (without(GOOD, "protocol"), "protocol"),
    (without(GOOD, "source"), "source"),
    (without(GOOD, "source", "epoch"), "source.epoch"),
    (without(GOOD, "sequence"), "sequence"),
    (replaced(GOOD, "one", "sequence"), "sequence"),
    (replaced(GOOD, -1, "sequence"), "sequence"),
    (replaced(GOOD, 1.5, "sequence"), "sequence"),
    (replaced(GOOD, 2**60, "sequence"), "sequence"),
    (replaced(GOOD, "Spark!", "source", "kind"), "source.kind"),
    (replaced(GOOD, "", "source", "id"), "source.id"),
    (replaced(GOOD, "x" * 300, "source", "id"), "source.id"),
    (replaced(GOOD, "yes", "full"), "full"),
    (replaced(GOOD, {}, "facts"), "facts"),
    (replaced(GOOD, {"type": "no_such_fact"}, "facts", 0), "facts[0].type"),
    (replaced(GOOD, {}, "facts", 0), "facts[0].type"),
    (without(GOOD, "facts", STARTED, "host"), f"facts[{STARTED}].host"),
    (replaced(GOOD, -1, "facts", STARTED, "attempt"), f"facts[{STARTED}].attempt"),
    (replaced(GOOD, "quick", "facts", STARTED, "attempt"), f"facts[{STARTED}].attempt"),
    (replaced(GOOD, [ended(1, outcome="great")], "facts"), "facts[0].outcome"),
    (replaced(GOOD, [attached(max_copies="many")], "facts"), "facts[0].capabilities.max_copies"),
    (replaced(GOOD, [0] * 100_001, "facts", JOB, "stages"), f"facts[{JOB}].stages"),
    (replaced(GOOD, ["x"] * 1001, "facts", JOB + 1, "committers"), f"facts[{JOB + 1}].committers"),
    (replaced(GOOD, [DEMAND], "facts"), "facts[0].applications"),
    (GOOD | {"progress": {"attempt": [1, "two"]}}, "progress.attempt[1]"),
    (GOOD | {"progress": {"attempt": [1], "bytes_read": [1.5]}}, "progress.bytes_read[0]"),
    (GOOD | {"progress": [1]}, "progress"),
    ([GOOD], "body"),
]


@pytest.mark.parametrize(("body", "field"), BAD)
def test_a_bad_field_is_named_and_nothing_changes(plane, body, field):
    before = plane.client.get("/api/v1/state:dump").json()
    response = plane.sync(body)
    assert response.status_code == 422
    assert response.headers["content-type"] == "application/problem+json"
    document = response.json()
    assert (document["status"], document["code"]) == (422, "bad_field")
    assert [each["field"] for each in document["errors"]] == [field]
    assert plane.client.get("/api/v1/state:dump").json() == before


def test_every_bad_body_is_one_change_away_from_a_good_one(plane):
    """So that the table above shows what it says it shows."""
    assert plane.sync(GOOD).status_code == 200


@pytest.mark.parametrize("body", [b"", b"{", b"not json", b'{"protocol":1', b"\xff\xfe"])
def test_what_is_not_json_is_told_so(plane, body):
    response = plane.client.post("/shim/v1/sync", content=body, headers={"content-type": "application/json"})
    assert (response.status_code, response.json()["code"]) == (400, "bad_json")


def test_deep_nesting_is_refused_not_followed(plane):
    body = b'{"protocol":1,"facts":' + b"[" * 100_000
    response = plane.client.post("/shim/v1/sync", content=body, headers={"content-type": "application/json"})
    assert response.status_code in (400, 422)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"content-type": "text/plain"}, 415),
        ({}, 415),
        ({"content-type": "application/jsonx"}, 415),
        ({"content-type": "application/json", "content-encoding": "br"}, 415),
        ({"content-type": "application/json; charset=utf-8"}, 200),
    ],
)
def test_content_types(plane, headers, status):
    response = plane.client.post("/shim/v1/sync", content=json.dumps(GOOD), headers=headers)
    assert response.status_code == status


def test_other_methods_are_refused(plane):
    response = plane.client.get("/shim/v1/sync")
    assert response.status_code == 405
    assert response.headers["allow"] == "POST"


@pytest.mark.parametrize("body", [GOOD | {"protocol": 2}, {"protocol": 9, "whatever": True}])
def test_another_protocol_version_gets_no_reply_that_could_be_taken_for_one(plane, body):
    response = plane.sync(body)
    assert (response.status_code, response.json()["code"]) == (426, "protocol_version")
    assert response.json()["errors"][0]["field"] == "protocol"


def test_unknown_fields_are_ignored(plane):
    """A newer shim of the same protocol may say more."""
    assert plane.sync(GOOD | {"new": 1, "source": GOOD["source"] | {"zone": "b"}}).status_code == 200


def zipped(body, **more):
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    return {"content": gzip.compress(json.dumps(body).encode()), "headers": headers, **more}


def test_gzip_bodies_are_read(plane):
    assert plane.client.post("/shim/v1/sync", **zipped(GOOD)).status_code == 200


def test_bodies_are_bounded_before_and_after_decompression(tmp_path):
    """A small body may say that it is large: only so much of it is ever unpacked."""
    with running(tmp_path, server={"max_body_bytes": 10_000}) as plane:
        large = GOOD | {"padding": "x" * 20_000}
        assert plane.sync(large).status_code == 413
        bomb = zipped(large)
        assert len(bomb["content"]) < 2000
        assert plane.client.post("/shim/v1/sync", **bomb).status_code == 413
        assert plane.sync(GOOD).status_code == 200
        counted = 'grasshopper_shim_requests_refused_total{status="413"} 2.0'
        assert counted in plane.client.get("/metrics").text, "a driver that never gets through must not go unnoticed"


def test_bodies_that_are_not_answered_yet_are_bounded_together(tmp_path):
    """Who is answered makes room for the next."""
    with running(tmp_path, server={"max_bodies_bytes": 1024}) as plane:
        refused = plane.sync(GOOD)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert {plane.sync(message(n, [attached()], full=True)).status_code for n in range(1, 9)} == {200}


def test_large_bodies_leave_room_for_small_ones():
    """Hostile senders filled the memory for bodies, and an honest driver with a hundred tasks got a 503."""
    endpoint = ShimEndpoint(None, runtime=None, max_body_bytes=2**20, max_bodies_bytes=2**20)
    large = 3 * 2**18
    endpoint.hold(large, large)
    with pytest.raises(_Refused):
        endpoint.hold(1, LARGE_BYTES + 1)
    endpoint.hold(-1, 0)
    endpoint.hold(LARGE_BYTES, LARGE_BYTES)
    with pytest.raises(_Refused):
        endpoint.hold(1, 1)


@pytest.mark.parametrize("damage", [lambda b: b[:-9], lambda b: b"no gzip", lambda b: b[:20] + b"\0" * 9 + b[29:]])
def test_damaged_gzip_is_told_so(plane, damage):
    request = zipped(GOOD)
    request["content"] = damage(request["content"])
    response = plane.client.post("/shim/v1/sync", **request)
    assert (response.status_code, response.json()["code"]) == (400, "bad_gzip")


def test_columns_of_unequal_length_are_told_and_the_rest_counts(plane):
    """The engine refuses the one fact; it cannot be told from the types alone."""
    plane.reply(GOOD)
    plane.reply(message(2, progress={"attempt": [0, 1], "bytes_read": [5]}))
    metrics = plane.client.get("/metrics").text
    assert "grasshopper_bad_facts_total 1.0" in metrics


def test_a_copy_is_ordered_in_the_reply_to_the_facts_that_called_for_it(plane):
    """Three of four are done after a second, the fourth has hardly begun: the order comes with that very sync."""
    plane.reply(message(1, working(), full=True))
    n_bytes = [1_000_000, 1_000_000, 1_000_000, 10_000]
    plane.clock.advance(1.0)
    plane.reply(message(2, progress={"attempt": [0, 1, 2, 3], "bytes_read": [n // 2 for n in n_bytes]}))
    plane.clock.advance(9.0)
    reply = plane.reply(
        message(
            3,
            [ended(n, host=n, bytes_read=1_000_000, duration_ms=10_000) for n in range(3)],
            progress={"attempt": [3], "bytes_read": [10_000]},
        )
    )
    (copy,) = [order for order in reply["orders"] if order["type"] == "launch_copy"]
    assert (copy["job"], copy["stage"], copy["index"]) == ("job-1", 1, 3)
    assert copy["host"] != "host-3"
    reply = plane.reply(message(4, [started(9, index=3, host=0, speculative=True, order=copy["order"])]))
    assert [order for order in reply.get("orders", []) if order["type"] == "launch_copy"] == []
    decision = plane.client.get("/api/v1/decisions?action=launch_copy").json()["items"][0]
    assert (decision["index"], decision["result"]) == (3, "applied")
    why = plane.client.get("/api/v1/attempts/spark:app-1/3/why").json()
    assert why["copied"]
    assert why["decisions"][0]["inputs"]["t_rem_s"] > 0
