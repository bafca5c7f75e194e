"""Does the API stand ten thousand requests that nobody in their right mind would send?

Schemathesis makes them from our own OpenAPI document, in process: right ones, wrong ones, and mutations. Whatever
comes, the answer is what the document says, errors are problem documents, and refused requests change nothing.
"""

import json

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.specs.openapi import checks

from tests.plane import message, running, working

CHECKS = [
    schemathesis.checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]
ATTACHED = "spark:app-1"
IDS = {"source": ATTACHED, "job": "job-1", "stage": 1, "stage_attempt": 0, "index": 0, "attempt": 0}


def examples(number):
    """Hypothesis settings for this many requests per operation, the same ones on every run."""
    return settings(
        max_examples=number,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.generate],
    )


def fuzz(tmp_path, requests_per_operation):
    """Sends generated requests to every operation, and returns how many."""
    with running(tmp_path) as plane:
        plane.reply(message(1, working(), full=True))
        schema = schemathesis.openapi.from_dict(plane.client.get("/api/v1/openapi.json").json())
        finite = schema.exclude(path="/api/v1/events")  # this one never ends
        operations = [operation.ok() for operation in finite.get_all_operations()]
        assert len(operations) > 25
        sent = sum(fuzz_operation(plane, operation, requests_per_operation) for operation in operations)
        assert plane.runtime.failures == 0
        assert plane.client.get("/readyz").text == "ok\n"
    return sent


def fuzz_operation(plane, operation, number):
    """Sends right and wrong requests to one operation, half of them about things that exist; returns how many."""
    sent = 0

    @examples(number)
    @given(data=st.data())
    def send(data):
        nonlocal sent
        case = data.draw(operation.as_strategy(data.draw(st.sampled_from(schemathesis.GenerationMode))))
        if data.draw(st.booleans()):
            known = {name: IDS[name] for name in case.path_parameters or {} if name in IDS}
            case.path_parameters = (case.path_parameters or {}) | known
        state = changeable_state(plane)
        request = case.as_transport_kwargs(base_url="http://127.0.0.1")
        request.pop("cookies", None)
        if isinstance(request.get("data"), bytes):
            request["content"] = request.pop("data")
        response = plane.client.request(**request)
        sent += 1
        if response.status_code >= 400:
            assert changeable_state(plane) == state
            assert response.headers["content-type"] == "application/problem+json", response.text
            assert response.json()["status"] == response.status_code
        case.validate_response(response, checks=CHECKS)

    send()
    return sent


def changeable_state(plane):
    """Everything that a request could change: what is live, the settings, the mode, the audit log."""
    runtime = plane.runtime
    live = runtime.scheduler.snapshot(runtime.clock())
    return (live.pools, live.hosts, runtime.scheduler.settings, runtime.mode, len(runtime.store.audit_log()))


@pytest.mark.unit
def test_a_few_requests_for_every_operation(tmp_path):
    fuzz(tmp_path, 10)


@pytest.mark.full
def test_ten_thousand_requests(tmp_path):
    assert fuzz(tmp_path, 400) >= 10_000


GOOD = message(2, working(), full=True, progress={"attempt": [0, 1], "bytes_read": [5, 6]})
_bytes = json.dumps(GOOD).encode()


@st.composite
def mutated(draw):
    """A good message with some of its bytes cut out, doubled or replaced."""
    body = bytearray(_bytes)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(body)))
        width = draw(st.integers(0, 20))
        body[place : place + width] = draw(st.one_of(st.binary(max_size=20), st.sampled_from(PIECES)))
    return bytes(body)


PIECES = [b"null", b"-1", b"1e999", b'"', b"{", b"}", b"[]", b"99999999999999999999", b"\xff", b"1.5", b'"\\ud800"']


def mutate(tmp_path, number):
    with running(tmp_path) as plane:
        plane.reply(message(1, working(), full=True))

        @examples(number)
        @given(body=mutated())
        def send(body):
            state = changeable_state(plane)
            response = plane.client.post("/shim/v1/sync", content=body, headers={"content-type": "application/json"})
            assert response.status_code < 500
            if response.status_code >= 400:
                assert response.headers["content-type"] == "application/problem+json"
                assert changeable_state(plane) == state

        send()
        assert plane.runtime.failures == 0


@pytest.mark.unit
def test_some_mutated_messages(tmp_path):
    mutate(tmp_path, 200)


@pytest.mark.full
def test_many_mutated_messages(tmp_path):
    mutate(tmp_path, 5000)
