"""Is the server there for others, and for operators, whatever one caller does with its connections?"""

import asyncio
import os
import socket
import stat
from contextlib import closing, contextmanager

import pytest
import uvicorn

from controlplane import operators
from controlplane.api import connections
from controlplane.api.connections import HEAD_BYTES, BoundedProtocol, Gate
from controlplane.processes import operators_socket
from controlplane.runtime.complaints import Complaints
from controlplane.runtime.metrics import Metrics
from tests.runtime.test_serve import serving

pytestmark = pytest.mark.unit


class Answers:
    """A server of this process that answers 200 to every whole request."""

    def __init__(self, most=5, most_of_address=5):
        self.metrics = Metrics()
        self.gate = Gate(most=most, most_of_address=most_of_address, metrics=self.metrics, complaints=Complaints())

    async def app(self, scope, receive, send):
        """Reads the body, then answers."""
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    def refused(self, reason):
        """How many connections were refused for this reason."""
        return self.metrics.registry.get_sample_value("grasshopper_connections_refused_total", {"reason": reason})

    async def talk(self, *parts, pause_s=0.0):
        """What comes back to these bytes until the server closes."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        with closing(writer):
            for part in parts:
                writer.write(part)
                await asyncio.sleep(pause_s)
            try:
                return await asyncio.wait_for(reader.read(), 5)
            except ConnectionError:
                return b""


def run(scenario, **limits):
    """Runs a scenario beside a server with these limits."""

    async def live():
        answers = Answers(**limits)
        config = uvicorn.Config(answers.app, interface="asgi3", lifespan="off", log_config=None)
        config.load()
        state = uvicorn.server.ServerState()

        def protocol():
            return BoundedProtocol(config=config, server_state=state, app_state={}, gate=answers.gate)

        server = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0)
        answers.port = server.sockets[0].getsockname()[1]
        async with server:
            return await scenario(answers)

    return asyncio.run(live())


GET = b"GET / HTTP/1.1\r\nhost: localhost\r\n"
END = b"connection: close\r\n\r\n"
HEADER = b"x: " + b"y" * 1000 + b"\r\n"
TOO_LARGE = {
    "one header": GET + b"x: " + b"y" * HEAD_BYTES,
    "headers without end": GET + HEADER * 80,
    "a whole head": GET + HEADER * 80 + b"\r\n",
    "a request line": b"GET /" + b"a" * HEAD_BYTES,
    "trailers": b"POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n0\r\n" + HEADER * 160,
}


@pytest.mark.parametrize("what", TOO_LARGE)
def test_a_head_is_refused_before_it_takes_more_memory_than_a_head_may(what):
    """100 MB of header lines took 2.3 GB, and held everybody up."""

    async def scenario(answers):
        told = await answers.talk(TOO_LARGE[what])
        assert b"200 OK" not in told
        assert answers.refused("head_too_large") == 1
        assert b"200 OK" in await answers.talk(GET + END), "others are served"

    run(scenario)


def test_a_large_head_and_a_large_body_are_no_offence():
    """Sixty kilobytes of headers are allowed, and a body is bounded by who reads it."""

    async def scenario(answers):
        assert b"200 OK" in await answers.talk(GET + HEADER * 60 + END)
        body = b"z" * 10 * HEAD_BYTES
        post = b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n" % len(body)
        assert b"200 OK" in await answers.talk(post + body + GET + END)

    run(scenario)


@pytest.mark.parametrize("parts", [[], [GET], [GET + b"\r\n", b"GET"]], ids=["nothing", "half", "half of a second"])
def test_half_a_head_is_given_up_after_its_time(parts, monkeypatch):
    """Half a request line was waited for without end."""
    monkeypatch.setattr(connections, "HEAD_S", 0.1)

    async def scenario(answers):
        reader, writer = await asyncio.open_connection("127.0.0.1", answers.port)
        with closing(writer):
            for part in parts:
                writer.write(part)
                await asyncio.sleep(0.02)
            told = await asyncio.wait_for(reader.read(), 2)
        assert told.startswith(b"HTTP/1.1 200") == (len(parts) == 2)
        assert answers.refused("head_too_slow") == 1

    run(scenario)


def test_an_idle_connection_between_requests_is_no_offence(monkeypatch):
    """A driver comes again on the same connection, less often than heads have seconds."""
    monkeypatch.setattr(connections, "HEAD_S", 0.1)

    async def scenario(answers):
        told = await answers.talk(GET + b"\r\n", GET + END, pause_s=0.3)
        assert told.count(b"200 OK") == 2

    run(scenario)


@pytest.mark.parametrize(("limits", "reason"), [({"most_of_address": 2}, "address_full"), ({"most": 2}, "server_full")])
def test_who_holds_too_many_connections_is_told_so_and_may_come_again(limits, reason):
    async def scenario(answers):
        held = [await asyncio.open_connection("127.0.0.1", answers.port) for _ in range(2)]
        assert b"503" in await answers.talk(GET + END)
        assert answers.refused(reason) == 1
        held[0][1].close()
        await asyncio.sleep(0.05)
        assert b"200 OK" in await answers.talk(GET + END)
        held[1][1].close()

    run(scenario, **limits)


@pytest.mark.integration
def test_the_kill_switch_works_when_every_connection_is_taken(tmp_path):
    """At the file limit, the operator's `mode set off` got connection resets."""
    with serving(tmp_path / "plane.db", most_connections=20) as (_, address), held(address, 40):
        reply = operators.ask("PUT", f"{address}/api/v1/mode", json={"mode": "off", "reason": "stop"}, timeout=5)
        assert (reply.status_code, reply.json()["mode"]) == (200, "off")
        assert "server_full" in operators.ask("GET", f"{address}/metrics", timeout=5).text
        path = operators_socket(int(address.rpartition(":")[2]))
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


@contextmanager
def held(address, count):
    """Connections on which nothing is ever said."""
    host, port = address.removeprefix("http://").split(":")
    taken = [socket.create_connection((host, int(port))) for _ in range(count)]
    try:
        yield
    finally:
        for each in taken:
            each.close()
