"""Does the real server start, tell where it listens, stop in good order, and come back after a crash?"""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest
import requests

from tests.plane import message, working

pytestmark = pytest.mark.integration

SERVE = """
import sys
from controlplane import main, settings
overrides = {"server": {"port": int(sys.argv[2])}, "store": {"url": sys.argv[1]}, "engine": {"mode": "control"}}
main.serve(settings.load(None, overrides), on_start=lambda address: print(address, flush=True))
"""


@contextmanager
def serving(store, port=0):
    """A server in a process of its own, and its address."""
    command = [sys.executable, "-c", SERVE, str(store), str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
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
        assert '"event": "serving"' in process.stderr.read()
    with serving(store) as (_, address):
        (grant,) = requests.get(f"{address}/api/v1/decisions?action=grant", timeout=10).json()["items"]
        assert grant["job"] == "job-1"


def test_signals_are_heard_while_kernels_are_compiled(tmp_path, monkeypatch):
    """A container's first process without a handler never hears SIGTERM; a reload that comes too early ends nothing."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))
    command = [sys.executable, "-c", SERVE, str(tmp_path / "plane.db"), "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert '"event": "loading_kernels"' in process.stderr.readline()
        process.send_signal(signal.SIGHUP)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


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
