"""Who may do what, with tokens and without?"""

import base64
import time
from types import SimpleNamespace

import pytest
from fastapi.testclient import TestClient

from controlplane import settings
from controlplane.api import auth
from controlplane.api.application_tokens import issue
from controlplane.model.errors import BadSettings
from controlplane.runtime import complaints
from tests.plane import attached, message, running

pytestmark = pytest.mark.unit

TOKENS = {"read_token": "may-read-4f81c27e", "operate_token": "may-operate-93d05b", "shim_token": "is-shim-7ae6d0c2b9"}
MODE = {"mode": "shadow", "reason": "test"}
REQUESTS = {
    "read": ("GET", "/api/v1/jobs", None),
    "metrics": ("GET", "/metrics", None),
    "page": ("GET", "/", None),
    "operate": ("PUT", "/api/v1/mode", MODE),
    "sync": ("POST", "/shim/v1/sync", message(1, [attached()], full=True)),
    "unknown": ("GET", "/nothing/here", None),
}
EXPECTED = {
    "may-read-4f81c27e": {"read": 200, "metrics": 200, "page": 200, "operate": 403, "sync": 403, "unknown": 404},
    "may-operate-93d05b": {"read": 200, "metrics": 200, "page": 200, "operate": 200, "sync": 403, "unknown": 404},
    "is-shim-7ae6d0c2b9": {"read": 403, "metrics": 403, "page": 403, "operate": 403, "sync": 200, "unknown": 403},
    "wrong": dict.fromkeys(REQUESTS, 401),
    "": dict.fromkeys(REQUESTS, 401),
}


@pytest.fixture
def guarded(tmp_path):
    with running(tmp_path, auth=TOKENS) as plane:
        yield plane


@pytest.mark.parametrize("token", EXPECTED)
@pytest.mark.parametrize("name", REQUESTS)
def test_every_role_may_do_its_own_and_no_more(guarded, token, name):
    method, path, body = REQUESTS[name]
    headers = {"authorization": f"Bearer {token}"} if token else {}
    response = guarded.client.request(method, path, json=body, headers=headers)
    assert response.status_code == EXPECTED[token][name]
    if response.status_code in (401, 403):
        assert response.headers["content-type"] == "application/problem+json"


def test_browsers_may_send_the_token_as_a_password(guarded):
    login = base64.b64encode(b"anybody:may-read-4f81c27e").decode()
    assert guarded.client.get("/", headers={"authorization": f"Basic {login}"}).status_code == 200
    assert "Basic" in guarded.client.get("/").headers["www-authenticate"]


def test_one_token_may_stand_for_every_role(tmp_path):
    with running(tmp_path, auth=dict.fromkeys(TOKENS, "the-one-for-all-roles")) as plane:
        for method, path, body in REQUESTS.values():
            response = plane.client.request(
                method, path, json=body, headers={"authorization": "Bearer the-one-for-all-roles"}
            )
            assert response.status_code in (200, 404)


def test_probes_need_no_token(guarded):
    assert guarded.client.get("/livez").status_code == 200
    assert guarded.client.get("/readyz").status_code == 200


def test_a_refused_caller_changes_nothing(guarded):
    for token in ("may-read-4f81c27e", "is-shim-7ae6d0c2b9", "wrong"):
        guarded.client.put("/api/v1/mode", json=MODE | {"mode": "off"}, headers={"authorization": f"Bearer {token}"})
    assert guarded.runtime.mode.value == "control"
    assert guarded.runtime.store.audit_log() == []


def test_without_tokens_another_machine_is_refused(plane):
    """Also where something in front of us lets it through."""
    other = TestClient(plane.client.app, base_url="http://127.0.0.1", client=("10.0.0.9", 4711))
    assert other.get("/api/v1/jobs").status_code == 403
    assert other.post("/shim/v1/sync", json=message(1)).status_code == 403


def test_without_tokens_a_web_page_cannot_reach_us_by_a_name_of_its_own(plane):
    response = plane.client.get("/api/v1/jobs", headers={"host": "evil.example"})
    assert response.status_code == 403
    assert plane.client.get("/api/v1/jobs", headers={"host": "localhost:7272"}).status_code == 200


def test_another_sites_form_is_refused(plane):
    headers = {"origin": "http://evil.example"}
    assert plane.client.put("/api/v1/mode", json=MODE, headers=headers).status_code == 403
    headers = {"origin": "http://127.0.0.1"}
    assert plane.client.put("/api/v1/mode", json=MODE, headers=headers).status_code == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "10.0.0.5", "::", "plane.example"])
def test_without_tokens_no_address_but_loopback_is_served(host):
    with pytest.raises(BadSettings) as error:
        settings.load(None, {"server": {"host": host}})
    assert error.value.problems[0].field == "server.host"
    settings.load(None, {"server": {"host": host}, "auth": TOKENS})


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.9", "localhost", "::1"])
def test_loopback_needs_no_tokens(host):
    settings.load(None, {"server": {"host": host}})


@pytest.mark.parametrize("headers", [{"host": "["}, {"origin": "http://["}])
def test_an_address_that_is_none_is_refused_as_a_strange_one(tmp_path, headers):
    """A torn header must not be worth a server error."""
    with running(tmp_path) as plane:
        answer = plane.client.put("/api/v1/mode", json={"mode": "off", "reason": "x"}, headers=headers)
        assert answer.status_code == 403


def with_token(token):
    """Headers that carry it."""
    return {"authorization": f"Bearer {token}"}


@pytest.mark.parametrize("token", [TOKENS["shim_token"][:-1], TOKENS["shim_token"] + "x", TOKENS["shim_token"].upper()])
def test_a_token_that_is_nearly_right_is_wrong(guarded, token):
    """Neither the beginning of a token nor more than it is the token."""
    assert guarded.sync(message(1, [attached()], full=True), headers=with_token(token)).status_code == 401


@pytest.mark.parametrize("origin", ["http://127.0.0.1:8080", "http://127.0.0.1:7272.evil.example", "null"])
def test_an_origin_counts_with_its_port(plane, origin):
    """Another server of this machine is another site."""
    headers = {"host": "127.0.0.1:7272", "origin": origin}
    assert plane.client.put("/api/v1/mode", json=MODE, headers=headers).status_code == 403
    headers["origin"] = "http://127.0.0.1:7272"
    assert plane.client.put("/api/v1/mode", json=MODE, headers=headers).status_code == 200


@pytest.mark.parametrize("token", ["a", "fifteen-letters", "abababababababababab"])
def test_a_token_that_could_be_guessed_is_refused_at_the_start(token):
    """A token of one letter was taken."""
    with pytest.raises(BadSettings) as error:
        settings.load(None, {"auth": TOKENS | {"shim_token": token}})
    assert [problem.field for problem in error.value.problems] == ["auth.shim_token"]
    assert token not in str(error.value.problems[0]).split("want")[0].split("=")[1]


def test_wrong_tokens_are_counted_told_and_answered_late(guarded, monkeypatch):
    """Two thousand of them left no trace."""
    told, waits = [], []

    async def sleep(seconds):
        waits.append(seconds)

    monkeypatch.setattr(auth, "asyncio", SimpleNamespace(sleep=sleep))
    monkeypatch.setattr(complaints._log, "warning", lambda event, **facts: told.append((event, facts)), raising=False)
    for _ in range(3):
        assert guarded.client.get("/api/v1/jobs", headers=with_token("not-the-token-of-anybody")).status_code == 401
    assert waits == [0.25, 0.5, 0.75]
    ((event, facts),) = told
    assert (event, facts["client"], facts["left_out"]) == ("token_refused", "127.0.0.1", 0)
    assert "not-the-token" not in str(facts)
    guarded.clock.advance(complaints.COMPLAIN_EVERY_S)
    guarded.client.get("/api/v1/jobs")
    assert (told[-1][1]["given"], told[-1][1]["left_out"]) == (False, 2)
    assert len(waits) == 3, "a browser's first question has none"
    metrics = guarded.client.get("/metrics", headers=with_token(TOKENS["read_token"])).text
    assert "grasshopper_tokens_refused_total 4.0" in metrics


NIGHTLY = issue(TOKENS["shim_token"], "nightly", int(time.time()) + 3600)


def speaks(plane, token, facts, **more):
    """The status of a full report under a token."""
    return plane.sync(message(1, facts, full=True, **more), headers=with_token(token)).status_code


def test_an_applications_token_speaks_for_that_application_alone(guarded):
    """By its name or its id, and for drivers only."""
    assert speaks(guarded, NIGHTLY, [attached() | {"name": "nightly"}]) == 200
    assert speaks(guarded, NIGHTLY, [attached()], source="nightly") == 200
    assert speaks(guarded, NIGHTLY, [attached() | {"name": "daily"}], source="app-2") == 403
    queue = message(1, [attached()], full=True, source="nightly")
    queue["source"]["kind"] = "yarn"
    assert guarded.sync(queue, headers=with_token(NIGHTLY)).status_code == 403
    assert guarded.client.get("/api/v1/jobs", headers=with_token(NIGHTLY)).status_code == 403


def test_nobody_else_speaks_for_a_source_that_an_application_has_attached(guarded):
    """An id with a higher epoch threw its owner out."""
    assert speaks(guarded, NIGHTLY, [attached() | {"name": "nightly"}]) == 200
    assert speaks(guarded, TOKENS["shim_token"], [attached()], epoch=2**53) == 403
    question = {"protocol": 1, "source": message(1)["source"], "wait_ms": 0}
    for token, status in ((TOKENS["shim_token"], 403), (NIGHTLY, 200)):
        answer = guarded.client.post("/shim/v1/doorbell", json=question, headers=with_token(token))
        assert answer.status_code == status
    assert speaks(guarded, NIGHTLY, [attached() | {"name": "nightly"}], epoch=8) == 200


@pytest.mark.parametrize(
    "token",
    [
        issue(TOKENS["shim_token"], "nightly", int(time.time()) - 1),
        issue("another-secret-0123456789", "nightly", int(time.time()) + 3600),
        NIGHTLY.replace("gha1.", "gha1.eA"),
        NIGHTLY[:-1],
        NIGHTLY.rpartition(".")[2],
        "gha1...",
    ],
    ids=["ended", "another secret", "another name", "cut short", "its end alone", "without content"],
)
def test_an_applications_token_that_has_ended_or_was_changed_is_wrong(guarded, token):
    assert speaks(guarded, token, [attached()], source="nightly") == 401
