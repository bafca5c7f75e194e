"""How does a test hold a control plane in its hand? The real command in a process, and its REST API."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import requests

from controlplane.processes import free_port
from tests.waiting import eventually

ROOT = Path(__file__).parents[2]
START_S = 180.0
WHY = {"reason": "a test"}
OPEN_HANDED = {
    "GRASSHOPPER__ENGINE__MAX_COPIES_PER_TASK": "3",
    "GRASSHOPPER__ENGINE__JOB_COPY_SHARE": "1.0",
    "GRASSHOPPER__ENGINE__POOL_COPY_SHARE": "1.0",
    "GRASSHOPPER__ENGINE__CLUSTER_COPY_SHARE": "1.0",
    "GRASSHOPPER__ENGINE__LOSING_ALLOWANCE_TASKS": "1000000",
    "GRASSHOPPER__ENGINE__ORDER_TTL_MS": "5000",
    "GRASSHOPPER__ENGINE__STARTUP_PRIOR_S": "0.5",
    "GRASSHOPPER__RUNTIME__FORGET_AFTER_S": "8",
    "GRASSHOPPER__RUNTIME__SNAPSHOT_AGE_S": "0",
}
"""No budget is in the way of a test that is about something else, and every answer is of this moment."""


WILD_CLOCK = """
import random, time
now, now_ns = time.time, time.time_ns
time.time = lambda: now() + random.choice([-3600, 0, 3600])
time.time_ns = lambda: now_ns() + random.choice([-3600, 0, 3600]) * 10**9
from controlplane.cli.app import app
app()
"""
"""The same command where the wall clock jumps by an hour, forwards or back, whenever somebody looks at it."""


class Plane:
    """A control plane process as a context manager; it can be paused, killed and started again on its port."""

    def __init__(
        self, folder: Path, *, policy: str = "fixed+none", mode: str = "control", token: str = "", **environment: str
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._policy, self._mode = policy, mode
        tokens = {f"GRASSHOPPER__AUTH__{role}_TOKEN": token for role in ("READ", "OPERATE", "SHIM") if token}
        self._environment = {**os.environ, **OPEN_HANDED, **tokens, **environment}
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._port = free_port("127.0.0.1")
        self._starts = 0
        self.store = folder / "plane.db"
        self._process: subprocess.Popen[bytes] | None = None
        self.address = f"http://127.0.0.1:{self._port}"

    @classmethod
    def hesitant(cls, folder: Path) -> Self:
        """One that claims every job, so stock speculation rests, and finds every attempt too young to be copied."""
        patience = {"STARTUP_PRIOR_S": "600", "JUDGE_WITHIN_MS": "3600000"}
        settings = {f"GRASSHOPPER__ENGINE__{name}": value for name, value in patience.items()}
        return cls(folder, policy="fair+ras", **settings)

    # -- process ------------------------------------------------------------------------------------------------

    def start(self, *, wild_clock: bool = False, keeps_store: bool = False) -> None:
        """Start with an empty store, or with the last one, and return when it is ready."""
        self._starts += 1
        if not keeps_store:
            self.store = self._folder / f"plane-{self._starts}.db"
        program = ["-c", WILD_CLOCK] if wild_clock else ["-m", "controlplane.cli"]
        allocator, speculator = self._policy.split("+")
        with (self._folder / f"plane-{self._starts}.log").open("wb") as log:
            self._process = subprocess.Popen(
                [
                    sys.executable, *program, "serve", "--port", str(self._port), "--mode", self._mode,
                    "--store", str(self.store),
                    "--allocator", allocator, "--speculator", speculator,
                ],
                cwd=ROOT, env=self._environment, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
            )  # fmt: skip
        eventually(self._is_ready, within_s=START_S)

    def _is_ready(self) -> bool:
        assert self._process.poll() is None, f"the control plane has ended; see {self._folder}"
        with contextlib.suppress(requests.ConnectionError):
            return requests.get(f"{self.address}/readyz", timeout=5).ok
        return False

    def pause(self) -> None:
        """It holds its sockets and says nothing."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """It goes on."""
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """It is gone at once."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """End it in good order, if it runs."""
        if self._process is not None and self._process.poll() is None:
            self.resume()
            self._process.terminate()
            try:
                self._process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self.kill()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # -- REST ---------------------------------------------------------------------------------------------------

    def call(self, method: str, path: str, **more: Any) -> Any:
        """The JSON answer of one request that must succeed."""
        answer = requests.request(method, f"{self.address}/api/v1{path}", headers=self._headers, timeout=10, **more)
        assert answer.ok, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json()

    def pool(self, source: str) -> dict[str, Any] | None:
        """What is live in one driver; None where it is not attached."""
        pools = self.call("GET", "/state:dump")["pools"]
        return next((pool for pool in pools if pool["source"] == source), None)

    def attempts(self, source: str, job: str, index: int | None = None) -> list[dict[str, Any]]:
        """Live attempts of a job, by its key or by its name."""
        pool = self.pool(source) or {"jobs": [], "attempts": []}
        keys = {live["job"] for live in pool["jobs"] if job in (live["job"], live["name"])}
        return [a for a in pool["attempts"] if a["job"] in keys and index in (None, a["index"])]

    def running(self, source: str, job: str, index: int, count: int = 1) -> list[dict[str, Any]]:
        """The live attempts of one task, once there are `count`, originals first."""

        def enough() -> list[dict[str, Any]] | None:
            live = self.attempts(source, job, index)
            return live if len(live) >= count else None

        found = eventually(
            enough, about=lambda: f"{count} of {job}/{index} wanted: {self.decisions(source, index=index)}"
        )
        return sorted(found, key=lambda attempt: attempt["attempt"])

    def copy(self, attempt: dict[str, Any], source: str, **wish: Any) -> dict[str, Any]:
        """Ask for copies of an attempt's task; of what the same cycle decided, those about copies are told."""
        place = f"{attempt['stage']}/{attempt['stage_attempt']}/{attempt['index']}"
        answer = self.call("POST", f"/tasks/{_quoted(source)}/{place}:copy", json=WHY | wish)
        return answer | {"decisions": [one for one in answer["decisions"] if one["action"].endswith("_copy")]}

    def kill_attempt(self, attempt: dict[str, Any], source: str) -> dict[str, Any]:
        """Ask for the end of an attempt."""
        return self.call("POST", f"/attempts/{_quoted(source)}/{attempt['attempt']}:kill", json=WHY)

    def set_mode(self, mode: str, source: str = "") -> None:
        """Set the mode, everywhere or for one source."""
        self.call("PUT", "/mode", json=WHY | {"mode": mode, "source": source})

    def set_target(self, source: str, job: str, target: int, cap: int | None = None) -> None:
        """Give a job a fixed target."""
        self.call("PUT", f"/jobs/{_quoted(source)}/{_quoted(job)}/target", json=WHY | {"target": target, "cap": cap})

    def drop_target(self, source: str, job: str) -> None:
        """Take a fixed target back."""
        self.call("DELETE", f"/jobs/{_quoted(source)}/{_quoted(job)}/target", params=WHY)

    @contextlib.contextmanager
    def engine(self, **settings: Any) -> Iterator[None]:
        """Settings of the engine for a while."""
        self.call("PATCH", "/settings", json=WHY | {"engine": settings})
        try:
            yield
        finally:
            self.call("PATCH", "/settings", json=WHY | {"engine": dict.fromkeys(settings)})

    @contextlib.contextmanager
    def policy(self, source: str, policy: str) -> Iterator[None]:
        """Give one pool a policy of its own for a while."""
        path = f"/pools/{_quoted(source)}/policy"
        self.call("PUT", path, json=WHY | {"policy": policy})
        try:
            yield
        finally:
            self.call("DELETE", path, params=WHY)

    def decisions(self, source: str, **which: Any) -> list[dict[str, Any]]:
        """Decisions about a source, newest first."""
        return self.call("GET", "/decisions", params={"source": source, "limit": 1000} | which)["items"]

    def history(self, source: str, job: str) -> dict[str, Any]:
        """What is remembered of a job; it may still run."""
        return self.call("GET", f"/jobs/{_quoted(source)}/{_quoted(job)}/history")

    def ended(self, source: str, job: str, *, lost: int = 0) -> list[dict[str, Any]]:
        """All attempts of a job, once it is over and all but so many have said how they ended."""

        def all_told() -> bool:
            told = self.history(source, job)
            outcomes = [attempt["outcome"] for attempt in told["attempts"]]
            return told["ended_s"] is not None and None not in outcomes and outcomes.count("lost") == lost

        eventually(all_told, about=lambda: self.history(source, job))
        return self.history(source, job)["attempts"]


def _quoted(text: str) -> str:
    return quote(text, safe="")
