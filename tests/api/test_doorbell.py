"""Does a source hear at once that orders wait for it, and only then?"""

import asyncio
import json
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import structlog

from controlplane.api import shim
from controlplane.model.orders import KillAttempt
from tests.plane import message, running, while_another_reports, working
from tests.waiting import eventually, in_time

pytestmark = pytest.mark.unit

SHIM = "is-shim-7ae6d0c2b9"
TOKENS = {"read_token": "may-read-4f81c27e", "operate_token": "may-operate-93d05b", "shim_token": SHIM}

COPY = "/api/v1/tasks/spark:app-1/1/0/3:copy"
WHY = {"reason": "test"}
PATIENT_MS = 30_000


def question(wait_ms=PATIENT_MS, *, source="app-1", epoch=7, **more):
    return {"protocol": 1, "source": {"kind": "spark", "id": source, "epoch": epoch}, "wait_ms": wait_ms, **more}


def ask(plane, body, **more):
    return plane.client.post("/shim/v1/doorbell", json=body, **more)


@pytest.fixture
def attended(plane):
    """A control plane that knows a source whose exchanges bring no more orders."""
    plane.reply(message(1, working(), full=True))
    assert "orders" not in plane.reply(message(2))
    return plane


@pytest.fixture
def asking(attended):
    """Asks in the background; the futures hold the answers."""
    with ThreadPoolExecutor() as threads:

        def ask_in_background(body):
            answer = threads.submit(ask, attended, body)
            eventually(lambda: len(attended.runtime.doorbell))
            return answer

        yield ask_in_background


def test_an_operators_order_rings_and_the_next_exchange_brings_it(attended, asking):
    """The order itself never comes with the answer: it travels once, in an exchange."""
    answer = asking(question())
    assert attended.client.post(COPY, json=WHY).json()["decisions"]
    assert answer.result(5).json() == {"protocol": 1, "orders_waiting": 1}
    (order,) = attended.reply(message(3))["orders"]
    assert (order["type"], order["index"]) == ("launch_copy", 3)
    assert ask(attended, question(0)).json()["orders_waiting"] == 0


def test_an_order_that_waits_already_rings_at_once(attended):
    """Nobody listened when it was decided; that must not cost its time."""
    attended.client.post(COPY, json=WHY)
    began_s = time.monotonic()
    assert ask(attended, question()).json()["orders_waiting"] == 1
    assert time.monotonic() - began_s < 5


def test_a_refusal_is_logged_with_its_reason_and_a_doctors_question_is_not(attended):
    """A number alone told nothing; and a doctor asks for a source that nobody knows only to try the token."""
    with structlog.testing.capture_logs() as logs:
        assert ask(attended, question(0, source="doctor", epoch=0)).status_code == 409
        assert ask(attended, question(0, epoch=6)).status_code == 409
    ((event, reason),) = [(each["event"], each["reason"]) for each in logs]
    assert event == "sync_refused"
    assert "epoch" in reason


def test_the_answer_comes_when_the_time_is_over(attended):
    assert ask(attended, question(50)).json() == {"protocol": 1, "orders_waiting": 0}
    assert len(attended.runtime.doorbell) == 0


def test_an_order_in_the_reply_to_its_own_cause_rings_nobody(attended, asking):
    """It is on its way; ringing would be one more exchange for each order."""
    began_s = time.monotonic()
    answer = asking(question(300))
    assert attended.reply(message(3, working(job="job-2"), full=True))["orders"]
    assert answer.result(5).json()["orders_waiting"] == 0
    assert time.monotonic() - began_s >= 0.3


def test_another_sources_order_rings_nobody(attended, asking):
    attended.reply(message(1, working(application="app-2"), full=True, source="app-2"))
    attended.reply(message(2, source="app-2"))
    other = asking(question(200, source="app-2"))
    attended.client.post(COPY, json=WHY)
    assert other.result(5).json()["orders_waiting"] == 0


@pytest.mark.parametrize(
    ("body", "code"),
    [(question(source="app-9"), "unheard"), (question(epoch=8), "unheard"), (question(epoch=6), "stale")],
)
def test_who_has_not_reported_cannot_wait(attended, body, code):
    """A source that is not there, one that has started anew and not said so, and the past of one that has."""
    response = ask(attended, body)
    assert (response.status_code, response.json()["code"]) == (409, code)


def test_a_forgotten_source_is_asked_to_report_first(tmp_path):
    with running(tmp_path, runtime={"forget_after_s": 8.0}) as plane:
        plane.reply(message(1, working(), full=True))
        while_another_reports(plane, 10)
        told = ask(plane, question()).json()
        assert told["code"] == "unheard"
        assert told["detail"] == "spark:app-1 has not reported yet, or was silent for too long"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"protocol": 1, "source": question()["source"]}, "wait_ms"),
        (question(-1), "wait_ms"),
        (question(60_001), "wait_ms"),
        (question(source=""), "source.id"),
    ],
)
def test_a_bad_field_is_named(attended, body, field):
    response = ask(attended, body)
    assert response.status_code == 422
    assert [each["field"] for each in response.json()["errors"]] == [field]


@pytest.mark.parametrize(("token", "status"), [(SHIM, 200), (TOKENS["operate_token"], 403), ("wrong", 401), ("", 401)])
def test_it_is_for_shims_alone(tmp_path, token, status):
    with running(tmp_path, auth=TOKENS) as plane:
        plane.sync(message(1, working(), full=True), headers={"authorization": f"Bearer {SHIM}"})
        headers = {"authorization": f"Bearer {token}"} if token else {}
        assert ask(plane, question(0), headers=headers).status_code == status


def test_another_protocol_version_is_told_so(attended):
    assert ask(attended, question() | {"protocol": 2}).status_code == 426


def test_a_thousand_wait_without_work_and_one_hears(attended):
    """No cycle runs and nothing is looked at while they wait."""
    for number in range(1000):
        attended.reply(message(1, full=True, source=f"idle-{number}"))
    runtime = attended.runtime

    async def scenario():
        sources = [*runtime.sources]
        waits = [asyncio.ensure_future(runtime.doorbell.wait(source, 30.0)) for source in sources]
        await in_time(lambda: len(runtime.doorbell) == len(waits) == 1001)
        cycle = runtime.cycle
        source = runtime.sources.get("spark:app-1")
        order = KillAttempt(order=1, ttl_ms=2000, attempt=1, stage=1, stage_attempt=0, index=0)
        source.outbox.put([order], runtime.clock())
        async with asyncio.timeout(5):
            assert await waits[sources.index(source)] == 1
        assert (sum(wait.done() for wait in waits), runtime.cycle) == (1, cycle)
        runtime.doorbell.close()
        async with asyncio.timeout(5):
            assert sum(await asyncio.gather(*waits)) == 1
        assert len(runtime.doorbell) == 0

    attended.client.portal.call(scenario)


def test_who_asks_anew_is_not_waited_for_twice(attended, asking):
    """A driver that has given up on an answer must not leave its question behind."""
    older = asking(question())
    newer = asking(question())
    assert older.result(5).json()["orders_waiting"] == 0
    assert not newer.done()
    assert len(attended.runtime.doorbell) == 1
    attended.client.post(COPY, json=WHY)
    assert newer.result(5).json()["orders_waiting"] == 1


def test_nobody_waits_for_a_client_that_has_gone(attended):
    """Its question would hold its memory for its whole time, and every one that it opens anew as well."""
    sent = []

    async def scenario():
        hung_up = asyncio.Event()
        parts = iter([{"type": "http.request", "body": json.dumps(question()).encode()}])

        async def receive():
            for part in parts:
                return part
            await hung_up.wait()
            return {"type": "http.disconnect"}

        async def send(part):
            sent.append(part)

        headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")]
        place = {"path": shim.DOORBELL_PATH, "client": ("127.0.0.1", 1)}
        scope = {"type": "http", "method": "POST", "headers": headers, **place}
        exchange = asyncio.ensure_future(attended.client.app(scope, receive, send))
        await in_time(lambda: len(attended.runtime.doorbell) == 1)
        hung_up.set()
        async with asyncio.timeout(5):
            await exchange
        await in_time(lambda: len(attended.runtime.doorbell) == 0)

    attended.client.portal.call(scenario)
    assert sent[0]["status"] == 200


def test_the_end_comes_in_order_while_a_wait_runs_out(attended):
    """With many drivers there is always one whose time is just over when the control plane is told to end."""
    doorbell, source = attended.runtime.doorbell, attended.runtime.sources.get("spark:app-1")

    async def scenario():
        loop = asyncio.get_running_loop()
        end_s, closed = loop.time() + 0.05, asyncio.Event()

        def close():
            doorbell.close()
            closed.set()

        wait = asyncio.ensure_future(doorbell.wait(source, 0.04))
        await asyncio.sleep(0)
        loop.call_at(end_s, close)
        time.sleep(0.1)  # What comes due meanwhile, the loop does in one turn.
        async with asyncio.timeout(5):
            assert await wait == 0
            await closed.wait()

    attended.client.portal.call(scenario)
