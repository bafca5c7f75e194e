"""Does a listener hear every decision, and does a slow one harm nobody but itself?"""

import asyncio
import json

import pytest

from controlplane.runtime.feed import Feed
from controlplane.runtime.parameters import RuntimeSettings
from controlplane.store.recent import DecisionFilter
from tests.plane import message, running, working

pytestmark = pytest.mark.unit

SCOPE = {
    "type": "http",
    "method": "GET",
    "path": "/api/v1/events",
    "raw_path": b"/api/v1/events",
    "query_string": b"",
    "headers": [(b"host", b"127.0.0.1")],
    "client": ("127.0.0.1", 1),
}


class Client:
    """One who listens: what it was sent, and whether it takes any more."""

    def __init__(self, app):
        self.sent = []
        self.takes = asyncio.Event()
        self.takes.set()
        self.leaves = asyncio.Event()
        self.task = asyncio.ensure_future(app(dict(SCOPE), self.receive, self.send))

    async def receive(self):
        await self.leaves.wait()
        return {"type": "http.disconnect"}

    async def send(self, part):
        await self.takes.wait()
        self.sent.append(part)

    async def hears(self, wanted):
        """Waits until the text of all that was sent fulfils a condition."""
        async with asyncio.timeout(5):
            while not wanted(self.text):
                await asyncio.sleep(0.01)

    @property
    def text(self):
        return b"".join(part.get("body", b"") for part in self.sent).decode()


def listening(plane, scenario):
    """Runs scenario(Client, runtime) in the loop of the application."""

    async def whole():
        await scenario(lambda: Client(plane.client.app), plane.runtime)

    plane.client.portal.call(whole)


def events(text):
    return [json.loads(line.removeprefix("data: ")) for line in text.splitlines() if line.startswith("data: ")]


def test_decisions_are_told_as_they_are_recorded(tmp_path):
    with running(tmp_path) as plane:
        listener = plane.client.portal.call(plane.runtime.feed.join)
        plane.reply(message(1, working(), full=True))
        first = plane.client.portal.call(asyncio.wait_for, listener.next(), 5)
        assert first.record.id in {each["id"] for each in plane.client.get("/api/v1/decisions").json()["items"]}

        async def scenario(client, runtime):
            one = client()
            await one.hears(lambda text: text == ": decisions follow\n\n")
            runtime.feed.publish([first, first])
            await one.hears(lambda text: len(events(text)) == 2)
            assert events(one.text)[0]["sentence"]
            assert dict(one.sent[0]["headers"])[b"content-type"].startswith(b"text/event-stream")
            runtime.feed.close()
            async with asyncio.timeout(5):
                await one.task
            assert one.sent[-1].get("more_body", False) is False

        listening(plane, scenario)


def test_a_client_that_takes_nothing_is_cut_off_and_counted_and_others_go_on(tmp_path):
    with running(tmp_path, runtime={"event_backlog": 3}) as plane:
        plane.reply(message(1, working(), full=True))
        (decision,) = plane.client.portal.call(_newest, plane.runtime)

        async def scenario(client, runtime):
            slow, quick = client(), client()
            await slow.hears(bool)
            await quick.hears(bool)
            slow.takes.clear()
            for n in range(1, 6):
                runtime.feed.publish([decision])
                await quick.hears(lambda text, n=n: len(events(text)) == n)
            async with asyncio.timeout(5):
                await slow.task
            assert (len(runtime.feed), runtime.feed.n_cut) == (1, 1)
            quick.leaves.set()
            async with asyncio.timeout(5):
                await quick.task
            assert len(runtime.feed) == 0

        listening(plane, scenario)
        assert "grasshopper_event_clients_cut 1.0" in plane.client.get("/metrics").text


async def _newest(runtime):
    page = await runtime.store.decisions(DecisionFilter(), limit=1)
    return page.decisions


def test_only_so_many_may_listen(tmp_path):
    with running(tmp_path, runtime={"event_clients": 1}) as plane:
        plane.client.portal.call(plane.runtime.feed.join)
        response = plane.client.get("/api/v1/events")
        assert response.status_code == 503
        assert response.headers["content-type"] == "application/problem+json"


def test_nothing_is_queued_where_nobody_listens():
    feed = Feed(RuntimeSettings())
    feed.publish([None] * 10_000)
    assert len(feed) == 0
