"""Who decides for a Grasshopper contestant? A control plane process of its own, on SQLite, on a loopback port."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from pathlib import Path

from controlplane.processes import free_port
from spark_listener.demo.application import ROOT
from spark_listener.demo.contestants import Contestant


@contextlib.contextmanager
def control_plane(
    contestant: Contestant,
    *,
    work_dir: Path,
    report: Path,
    port: int | None = None,
    timeout_s: float = 300.0,
) -> Iterator[str]:
    """The address of a ready control plane that runs the contestant's policy pair.  Raises RuntimeError.

    Its pages show `report`, once the demo has written it.  `port` is a free one, if not given.
    """
    port = port or free_port("127.0.0.1")
    url = f"http://127.0.0.1:{port}"
    shown = {"GRASSHOPPER__SERVER__DEMO_REPORT": str(report.resolve())}
    log_path = work_dir / f"control-plane-{contestant.name}.log"
    store = f"sqlite:///{store_of(contestant, work_dir).resolve()}"
    with log_path.open("wb") as log:
        process = subprocess.Popen(
            [
                sys.executable, "-m", "controlplane.cli", "serve", "--host", "127.0.0.1", "--port", str(port),
                "--store", store, "--mode", "control",
                "--allocator", str(contestant.allocator), "--speculator", str(contestant.speculator),
            ],
            cwd=ROOT, env=os.environ | shown | contestant.variables, stdin=subprocess.DEVNULL,
            stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    try:
        deadline_s = time.monotonic() + timeout_s
        while not is_ready(url):
            if process.poll() is not None or time.monotonic() > deadline_s:
                raise RuntimeError(f"the control plane is not ready; see {log_path}")
            time.sleep(0.2)
        yield url
    finally:
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def control_planes(contestants: Iterable[Contestant], *, work_dir: Path, report: Path) -> Iterator[dict[str, str]]:
    """The addresses of one for each contestant that has policies, by contestant.  Raises as `control_plane` does."""
    with contextlib.ExitStack() as servers:
        yield {
            one.name: servers.enter_context(control_plane(one, work_dir=work_dir, report=report))
            for one in contestants
            if one.allocator
        }


def store_of(contestant: Contestant, work_dir: Path) -> Path:
    """The SQLite file with its control plane's decisions, which stays after that has ended."""
    return work_dir / f"{contestant.name}.db"


def is_ready(url: str) -> bool:
    """Whether a control plane answers there and can write its store."""
    try:
        with urllib.request.urlopen(f"{url}/readyz", timeout=2):  # noqa: S310  # http
            return True
    except (urllib.error.URLError, OSError):
        return False
