"""What do these tests share? The recorded resource manager of each version, and a real control plane."""

import threading
import time

import pytest
import uvicorn

from controlplane.main import build_app
from controlplane.settings import load
from tests.yarn_bridge.recorded_rm import RecordedRm
from yarn_bridge.rm_client import RmClient

VERSIONS = ("3.4.3", "3.5.0")


@pytest.fixture(params=VERSIONS)
def recorded(request):
    with RecordedRm(request.param) as rm:
        yield rm


@pytest.fixture
def rm(recorded):
    return RmClient(recorded.url)


@pytest.fixture
def server(tmp_path):
    """The address of a control plane in control mode."""
    settings = load(
        overrides={
            "store": {"url": str(tmp_path / "plane.db")},
            "engine": {"mode": "control", "allocator": "hopper"},
            "runtime": {"snapshot_age_s": 0.0},
        }
    )
    plane = uvicorn.Server(uvicorn.Config(build_app(settings), port=0, log_level="warning"))
    thread = threading.Thread(target=plane.run)
    thread.start()
    while not plane.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{plane.servers[0].sockets[0].getsockname()[1]}"
    plane.should_exit = True
    thread.join()
