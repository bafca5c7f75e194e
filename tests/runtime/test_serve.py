"""Does the real server start, tell where it listens, stop in good order, and come back after a crash?"""

import json
import os
import resource
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
import requests

from tests.integration.plane_process import eventually
from tests.plane import message, started, working

pytestmark = pytest.mark.integration

SERVE = """
import sys
from controlplane import main, settings
server = {"port": int(sys.argv[2]), "max_connections": int(sys.argv[3])}
overrides = {"server": server, "store": {"url": sys.argv[1]}, "engine": {"mode": "control"}}
main.serve(settings.load(None, overrides), on_start=lambda address: print(address, flush=True))
"""


@contextmanager
def serving(store, port=0, *, most_connections=1000, code=SERVE, stderr=subprocess.PIPE):
    """A server in a process of its own, and its address."""
    command = [sys.executable, "-c", code, str(store), str(port), str(most_connections)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True) as process:
        try:
            yield process, process.stdout.readline().strip()
        finally:
            if process.poll() is None:
                process.kill()


def sync(address, body):
    return requests.post(f"{address}/shim/v1/sync", json=body, timeout=10).json()


def test_it_serves_until_it_is_told_to_stop_and_keeps_its_decisions(tmp_path):
    store = tmp_path / "plane.db"
    with serving(store) as (process, address):
        assert requests.get(f"{address}/livez", timeout=10).text == "ok\n"
        assert sync(address, message(1, working(), full=True))["claims"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
        told = [json.loads(line)["event"] for line in process.stderr]
        assert (told[-1], "serving" in told) == ("stopped", True)
    with serving(store) as (_, address):
        (grant,) = requests.get(f"{address}/api/v1/decisions?action=grant", timeout=10).json()["items"]
        assert grant["job"] == "job-1"


def test_a_body_that_never_comes_is_cut_off_in_one_line(tmp_path):
    """It left a traceback of thirty lines, which were no JSON."""
    with serving(tmp_path / "plane.db") as (process, address):
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as caller:
            head = f"POST /shim/v1/sync HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
            caller.sendall(f"{head}Content-Length: 9000\r\nExpect: 100-continue\r\n\r\n".encode())
            assert caller.recv(12) == b"HTTP/1.1 100"
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
        told = [json.loads(line)["event"] for line in process.stderr]
        assert (told[-3], told[-2].startswith("Cancel 1 "), told[-1]) == ("serving", True, "stopped")


@pytest.mark.parametrize("is_read", [True, False])
def test_a_log_that_nobody_takes_stops_neither_the_server_nor_the_kill_switch(tmp_path, is_read):
    """The reader of its pipe has gone, or it is there and reads nothing, and the pipe is full."""
    reading, writing = os.pipe()
    with serving(tmp_path / "plane.db", stderr=writing) as (process, address):
        if is_read:
            more = os.open(f"/proc/self/fd/{writing}", os.O_WRONLY | os.O_NONBLOCK)
            os.write(more, b" " * 2**20)
            os.close(more)
        os.close(writing)
        if not is_read:
            os.close(reading)
        sync(address, message(1, working(), full=True))
        sync(address, message(2, [started(99, index=99)]))
        wish = {"mode": "off", "reason": "too hot"}
        told = requests.put(f"{address}/api/v1/mode", json=wish, timeout=10)
        assert (told.status_code, told.json()["mode"]) == (200, "off")
        assert sync(address, message(3))["mode"] == "off"
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    if is_read:
        os.close(reading)


def test_as_many_drivers_may_hold_connections_as_the_system_allows(tmp_path):
    """Two each, and shells usually start programs with 1024 open files at most, of many more that they may have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard // 2, hard))
    try:
        with serving(tmp_path / "plane.db") as (process, _):
            assert resource.prlimit(process.pid, resource.RLIMIT_NOFILE) == (hard, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_doorbell_that_waits_does_not_delay_the_end(tmp_path):
    """Nobody is cut off, either: whoever waits is told that nothing waits for him."""
    with serving(tmp_path / "plane.db") as (process, address), ThreadPoolExecutor() as threads:
        body = message(1, working(), full=True)
        sync(address, body)
        question = {"protocol": 1, "source": body["source"], "wait_ms": 30_000}
        sync(address, message(2))
        answer = threads.submit(requests.post, f"{address}/shim/v1/doorbell", json=question, timeout=30)
        eventually(lambda: "grasshopper_doorbell_waits 1.0" in requests.get(f"{address}/metrics", timeout=10).text)
        process.send_signal(signal.SIGTERM)
        assert answer.result(10).json()["orders_waiting"] == 0
        assert process.wait(10) == 0


@pytest.mark.parametrize("after_s", [1, 2.6])
def test_signals_are_heard_while_kernels_are_compiled(tmp_path, monkeypatch, after_s):
    """A container's first process without a handler never hears SIGTERM; a reload that comes too early ends nothing.

    The compiler turns an exception that comes at the wrong moment into another, or into none.
    """
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))
    command = [sys.executable, "-c", SERVE, str(tmp_path / "plane.db"), "0", "1000"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert '"event": "loading_kernels"' in process.stderr.readline()
        process.send_signal(signal.SIGHUP)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(after_s)
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0


def test_after_a_crash_a_driver_is_steered_again_by_one_full_report(tmp_path):
    store = tmp_path / "plane.db"
    with serving(store) as (process, address):
        before = sync(address, message(1, working(), full=True))
        os.kill(process.pid, signal.SIGKILL)
    with serving(store, int(address.rpartition(":")[2])) as (_, address):
        reply = sync(address, message(2))
        assert reply["want_full"]
        assert reply["plane_epoch"] > before["plane_epoch"]
        assert sync(address, message(3, working(), full=True))["claims"]
