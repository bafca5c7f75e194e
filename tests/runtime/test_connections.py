"""Is the server there for others, and for operators, whatever one caller does with its connections?"""

import asyncio
import os
import socket
import stat
from contextlib import closing, contextmanager, suppress
from functools import partial
from threading import Thread
from types import SimpleNamespace

import pytest
import requests
import structlog
import uvicorn

from controlplane import main, operators, settings
from controlplane.api import connections
from controlplane.api.connections import CRUMB_BYTES, CRUMBS, HEAD_BYTES, PIPELINED, BoundedProtocol, Gate
from controlplane.processes import free_port, operators_socket, remove_socket
from controlplane.runtime.complaints import Complaints
from controlplane.runtime.metrics import Metrics
from tests.runtime.test_serve import serving

pytestmark = pytest.mark.unit


class Answers:
    """A server of this process that answers 200 to every whole request."""

    def __init__(self, most=5, most_of_address=5, at_once=False):
        self.at_once = at_once
        self.n_asked = self.n_left = 0
        self.metrics = Metrics()
        self.gate = Gate(most=most, most_of_address=most_of_address, metrics=self.metrics, complaints=Complaints())

    async def app(self, scope, receive, send):
        """Reads the body, then answers; or answers at once. At `/wait` it waits for the caller to leave."""
        self.n_asked += 1
        while not self.at_once and (message := await receive())["type"] != "http.disconnect":
            if not message["more_body"] and scope["path"] != "/wait":
                break
        else:
            self.n_left += not self.at_once
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


def test_requests_that_wait_for_an_earlier_answer_are_few():
    """Two thousand in one piece were taken in whole, again and again: gigabytes, and a kill switch that waited."""

    async def scenario(answers):
        wait = b"GET /wait HTTP/1.1\r\nhost: localhost\r\n\r\n"
        assert b"200 OK" not in await answers.talk(wait + (GET + b"\r\n") * 2000)
        assert answers.refused("pipelined") == 1
        await asyncio.sleep(0.05)
        assert (answers.n_asked, answers.n_left) == (1, 1), "who was answering hears that nobody waits any more"
        told = await answers.talk((GET + b"\r\n") * PIPELINED + GET + END)
        assert told.count(b"200 OK") == PIPELINED + 1

    run(scenario)


POST = b"POST / HTTP/1.1\r\nhost: localhost\r\n"
CHUNKED = POST + b"transfer-encoding: chunked\r\n\r\n"


def chunks(count, n_bytes):
    """So many pieces of a body, each of so many bytes."""
    return (b"%x\r\n" % n_bytes + b"z" * n_bytes + b"\r\n") * count


LAST = b"0\r\n\r\n"


@pytest.mark.parametrize("at_once", [False, True], ids=["read", "not read"])
def test_a_body_in_crumbs_is_not_read_for_ever(at_once):
    """Six of them, of one byte a chunk, made the kill switch wait for eleven seconds, also after their answer."""

    async def scenario(answers):
        told = await answers.talk(CHUNKED + chunks(CRUMBS, 1), chunks(100, 1), pause_s=0.05)
        assert told.startswith(b"HTTP/1.1 200" if at_once else b"HTTP/1.1 400")
        assert told.count(b"HTTP/1.1") == 1
        assert answers.refused("body_in_crumbs") == 1
        assert answers.n_left == (not at_once)
        for body in (chunks(CRUMBS, 1), chunks(3 * CRUMBS, CRUMB_BYTES)):
            assert (await answers.talk(CHUNKED + body + LAST + GET + END)).count(b"200 OK") == 2, "and that is none"

    run(scenario, at_once=at_once)


@pytest.mark.parametrize("at_once", [False, True], ids=["read", "not read"])
@pytest.mark.parametrize(
    "half", [POST + b"content-length: 9\r\n\r\nhalf", CHUNKED + chunks(1, 4), CHUNKED + b"9\r\nha"]
)
def test_half_a_body_is_given_up_after_its_time(at_once, half, monkeypatch):
    """A host that hangs in the middle of its message held a place for ever, on every path but the shim's."""
    monkeypatch.setattr(connections, "BODY_S", 0.1)

    async def scenario(answers):
        told = await answers.talk(half)
        assert told.startswith(b"HTTP/1.1 200" if at_once else b"HTTP/1.1 408")
        assert told.count(b"HTTP/1.1") == 1
        assert answers.refused("body_too_slow") == 1
        assert answers.n_left == (not at_once)

    run(scenario, at_once=at_once)


def test_every_body_has_its_time_from_its_own_head_on(monkeypatch):
    """Not from the connection's beginning, nor from an earlier body's."""
    monkeypatch.setattr(connections, "BODY_S", 0.2)

    async def scenario(answers):
        half = POST + b"content-length: 2\r\n\r\n1"
        told = await answers.talk(half, b"2" + half, b"2" + half, b"2" + GET + END, pause_s=0.12)
        assert told.count(b"200 OK") == 4

    run(scenario)


def test_a_body_after_its_answer_ends_or_the_connection_does(monkeypatch):
    """It was read on for ever; yet who sends all before it looks for its answer must find it."""
    monkeypatch.setattr(connections, "UNWANTED_BYTES", 100_000)

    async def scenario(answers):
        late = [chunks(2, 40_000) + LAST + GET + END, chunks(3, 40_000)]
        told = [await answers.talk(CHUNKED, each, pause_s=0.05) for each in late]
        assert [each.count(b"200 OK") for each in told] == [2, 1]
        assert answers.refused("body_unwanted") == 1

    run(scenario, at_once=True)


@pytest.mark.parametrize(("megabytes", "refused"), [(16, None), (17, 1)])
def test_sixteen_megabytes_are_read_after_an_answer(megabytes, refused):
    """And no more, however the client goes on."""

    async def scenario(answers):
        await answers.talk(CHUNKED, chunks(megabytes, 2**20) + LAST + GET + END, pause_s=0.05)
        assert answers.refused("body_unwanted") == refused

    run(scenario, at_once=True)


@pytest.mark.parametrize(("limits", "reason"), [({"most_of_address": 2}, "address_full"), ({"most": 2}, "server_full")])
def test_who_holds_too_many_connections_is_told_so_and_may_come_again(limits, reason):
    async def scenario(answers):
        held = [await asyncio.open_connection("127.0.0.1", answers.port) for _ in range(2)]
        assert b"503" in await answers.talk(GET + END)
        assert answers.refused(reason) == 1
        told = [(line["event"], line["reason"], line["client"]) for line in lines]
        assert told == [("connection_refused", reason, "127.0.0.1")]
        held[0][1].close()
        await asyncio.sleep(0.05)
        assert b"200 OK" in await answers.talk(GET + END)
        held[1][1].close()

    with structlog.testing.capture_logs() as lines:
        run(scenario, **limits)


@pytest.mark.parametrize(
    ("most", "files", "named"),
    [
        (20_000, 64, "open files (ulimit -n, LimitNOFILE=) from 64"),
        (8, 1024, "server.max_connections from 8"),
        (32, 160, ""),
    ],
)
def test_room_for_a_few_connections_is_told_at_the_start(most, files, named):
    """With 64 open files there was one connection for everybody, and no driver that had both of its own."""
    chosen = settings.load(None, {"server": {"max_connections": most}})
    runtime = SimpleNamespace(metrics=Metrics(), complaints=Complaints())
    with structlog.testing.capture_logs() as logs:
        main.build_gate(chosen, runtime, files)
    assert [each["event"] for each in logs] == ["few_connections"] * bool(named)
    assert all(named in each["about"] for each in logs)


@pytest.mark.integration
def test_the_kill_switch_works_when_every_connection_is_taken(tmp_path):
    """At the file limit, the operator's `mode set off` got connection resets."""
    with serving(tmp_path / "plane.db", most_connections=20) as (_, address), held(address, 40):
        reply = operators.ask("PUT", f"{address}/api/v1/mode", json={"mode": "off", "reason": "stop"}, timeout=5)
        assert (reply.status_code, reply.json()["mode"]) == (200, "off")
        assert "server_full" in operators.ask("GET", f"{address}/metrics", timeout=5).text
        path = operators_socket("127.0.0.1", int(address.rpartition(":")[2]))
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


@pytest.mark.parametrize(
    ("listens", "reached"),
    [("127.0.0.1", True), ("0.0.0.0", True), ("127.0.0.2", False), ("::", False)],
)
def test_an_operator_reaches_the_server_that_was_asked_for(listens, reached, tmp_path, monkeypatch):
    """With that one dead, the kill switch turned off another server on the same port of another address."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    port = free_port("127.0.0.1")
    with listening(operators_socket("127.0.0.1", port)):
        pass  # It has ended, and its socket is still there.
    with listening(operators_socket(listens, port)):
        ask = partial(operators.ask, "PUT", f"http://127.0.0.1:{port}/api/v1/mode", timeout=5)
        if reached:
            assert ask().text == "reached"
        else:
            with pytest.raises(requests.ConnectionError):
                ask()


def test_the_socket_of_a_living_server_is_not_taken_away(tmp_path):
    """Its operators would lose their way in."""
    path = tmp_path / "operators.socket"
    with listening(path):
        with pytest.raises(OSError, match="another server listens on it"):
            remove_socket(path)
        assert path.exists()
    remove_socket(path)
    assert not path.exists()


@contextmanager
def listening(path):
    """A server on a socket in the file system, which stays there."""
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        Thread(target=answer_all, args=(server,), daemon=True).start()
        yield
        server.shutdown(socket.SHUT_RDWR)


def answer_all(server):
    """Answers one request of each connection, until the server is shut down."""
    with suppress(OSError):
        while True:
            with server.accept()[0] as connection:
                if connection.recv(10_000):
                    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 7\r\nconnection: close\r\n\r\nreached")


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
