"""Control planes for the page's tests: the real application on a clock of its own, fed by a scripted driver."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from starlette.testclient import TestClient

from controlplane.main import build_app
from controlplane.settings import load
from controlplane.wire.envelope import SyncReply, SyncRequest
from tests.browser.scripted_driver import Job, ScriptedDriver

HOSTILE_NAME = "<script>alert('name')</script>"
HOSTILE_ID = "a/b?c=\"'><img src=x onerror=alert(1)>&#"

_decode_reply = msgspec.json.Decoder(SyncReply).decode


class Clock:
    """Seconds that pass only when told."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s

    def advance(self, duration_s: float) -> None:
        """Lets time pass."""
        self.now_s += duration_s


def make_app(folder: Path, clock: Clock, **overrides: dict):
    """The application as `serve` builds it, with a store of its own and a snapshot that is always fresh."""
    base = {
        "store": {"url": str(folder / "page.db")},
        "runtime": {"snapshot_age_s": 0.0},
        "server": {"demo_report": str(folder / "demo.json")},
    }
    return build_app(load(overrides=base | overrides), clock=clock)


def through(post: Callable) -> Callable[[SyncRequest], SyncReply]:
    """One exchange of the shim protocol by an HTTP client's `post`."""

    def sync(request: SyncRequest) -> SyncReply:
        content = msgspec.json.encode(request)
        reply = post("/shim/v1/sync", content=content, headers={"content-type": "application/json"})
        reply.raise_for_status()
        return _decode_reply(reply.content)

    return sync


def jobs() -> list[Job]:
    """One job that ends, one that must not be copied, one with a hostile name and id, one that still runs."""
    return [
        Job("report", 0, 20, 0.0, {4: 9.0, 11: 6.0}, title="users by country"),
        Job("export", 1, 6, 4.0, {1: 30.0}, action="foreach"),
        Job(HOSTILE_ID, 2, 8, 6.0, {3: 6.0}, title=HOSTILE_NAME),
        Job("join", 3, 30, 12.0, {2: 10.0, 17: 7.0, 21: 6.0, 28: 8.0}),
    ]


@contextmanager
def local_client(app) -> Iterator[TestClient]:
    """A client that the application takes for one on the same machine."""
    with TestClient(app, base_url="http://127.0.0.1", client=("127.0.0.1", 50000), follow_redirects=False) as client:
        yield client


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A control plane in control mode in the middle of the script. Not to be changed by tests."""
    clock = Clock()
    with local_client(make_app(tmp_path_factory.mktemp("played"), clock, engine={"mode": "control"})) as client:
        ScriptedDriver(through(client.post), clock.advance, jobs(), application="app-1").run_into_race("join")
        yield client


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[TestClient]:
    """A control plane that nobody has attached to."""
    with local_client(make_app(tmp_path, Clock())) as client:
        yield client
