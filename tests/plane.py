"""A whole control plane in this process, on a clock that tests move: what do its answers look like?"""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from controlplane import main, settings
from controlplane.model.snapshot import Snapshot
from controlplane.runtime.live import Runtime


class Clock:
    """A monotonic clock that only moves when it is told to."""

    def __init__(self, now_s: float = 1000.0) -> None:
        self.now_s = now_s

    def __call__(self) -> float:
        return self.now_s

    def advance(self, seconds: float) -> None:
        """Time goes by."""
        self.now_s += seconds


class Plane:
    """The app, its runtime, its clock, and a client on loopback."""

    def __init__(self, client: TestClient, clock: Clock) -> None:
        self.client = client
        self.clock = clock
        self.runtime: Runtime = client.app.state.runtime

    def sync(self, message: dict[str, Any], **more: Any) -> Any:
        """The response of one exchange."""
        return self.client.post("/shim/v1/sync", json=message, **more)

    def reply(self, message: dict[str, Any]) -> dict[str, Any]:
        """The reply of one exchange that works."""
        response = self.sync(message)
        assert response.status_code == 200, response.text
        return response.json()

    def snapshot(self) -> Snapshot:
        """The published state."""
        return self.client.portal.call(self.runtime.snapshot)


@contextmanager
def running(folder: Path, **sections: dict[str, Any]) -> Iterator[Plane]:
    """A control plane with an empty store in `folder`; `sections` are settings by section."""
    chosen: dict[str, Any] = {
        "store": {"url": str(folder / "plane.db"), "retry_s": 0.05},
        "runtime": {"cycle_gap_ms": 0},
        "engine": {"mode": "control"},
    }
    for name, values in sections.items():
        chosen[name] = chosen.get(name, {}) | values
    clock = Clock()
    epochs = itertools.count(1_795_000_000_000)
    app = main.build_app(settings.load(None, chosen), clock=clock, plane_epoch=next(epochs))
    local = TestClient(app, base_url="http://127.0.0.1", client=("127.0.0.1", 50000), raise_server_exceptions=False)
    with local as client:
        yield Plane(client, clock)


def message(
    sequence: int, facts: list[dict[str, Any]] | None = None, *, source: str = "app-1", epoch: int = 7, **more: Any
) -> dict[str, Any]:
    """One request of the shim protocol."""
    identity = {"kind": "spark", "id": source, "epoch": epoch}
    return {"protocol": 1, "source": identity, "sequence": sequence, "facts": facts or [], **more}


def attached(application: str = "app-1", **capabilities: Any) -> dict[str, Any]:
    """The first fact of a source, by default of a host that can do everything Spark can."""
    can = ("named_host", "kill_copy", "order_pending", "hold_slots", "avoid_hosts")
    able = {"max_copies": 4} | dict.fromkeys(can, True)
    return {"type": "driver_attached", "application": application, "capabilities": able | capabilities}


def started(attempt: int, *, stage: int = 1, index: int | None = None, host: int = 0, **more: Any) -> dict[str, Any]:
    """An attempt of a task of the same number begins on one of four hosts."""
    return {
        "type": "attempt_started",
        "attempt": attempt,
        "stage": stage,
        "stage_attempt": 0,
        "index": attempt if index is None else index,
        "executor": str(host),
        "host": f"host-{host}",
        **more,
    }


def ended(attempt: int, *, outcome: str = "success", duration_ms: int = 1000, **more: Any) -> dict[str, Any]:
    """The end of an attempt that `started` began."""
    fact = started(attempt, **more)
    return {**fact, "type": "attempt_ended", "outcome": outcome, "duration_ms": duration_ms}


def working(n_tasks: int = 4, *, job: str = "job-1", application: str = "app-1") -> list[dict[str, Any]]:
    """The facts of a full report: four hosts of four slots, and one safe stage whose tasks all run."""
    return [
        attached(application),
        *({"type": "executor_added", "executor": str(n), "host": f"host-{n}", "slots": 4} for n in range(4)),
        {"type": "job_submitted", "job": job, "name": "count words", "stages": [1]},
        {
            "type": "stage_submitted",
            "job": job,
            "stage": 1,
            "stage_attempt": 0,
            "n_tasks": n_tasks,
            "kind": "shuffle_map",
            "input_bytes": [1_000_000] * n_tasks,
        },
        *(started(n, host=n % 4) for n in range(n_tasks)),
    ]


def while_another_reports(plane: Plane, seconds: int) -> None:
    """Time goes by for a control plane that hears app-2, and nobody else."""
    for sequence in range(1, seconds // 2 + 1):
        plane.clock.advance(2)
        plane.reply(message(sequence, [attached("app-2")], full=True, source="app-2"))
