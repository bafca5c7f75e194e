"""Do the steps of the Dockerfile make a control plane? Run in an empty folder and environment, without Docker."""

from __future__ import annotations

import re
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests

from controlplane.processes import free_port
from tests.docker.plain_image import PlainImage
from tests.integration.plane_process import ROOT, eventually
from tests.plane import message, working

pytestmark = [pytest.mark.soak, pytest.mark.checkout]

BACKUP = re.compile(r"docker compose .* exec grasshopper (python -c .*)")
TOKENS = {"GRASSHOPPER__AUTH__SHIM_TOKEN": "of-a-shim-1b9e6f20", "GRASSHOPPER__AUTH__READ_TOKEN": "of-a-reader-8c4d73"}
START_S = 300.0


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> PlainImage:
    """All steps of the Dockerfile, with the checkout as their context."""
    root = tmp_path_factory.mktemp("image") / "root"
    return PlainImage(root=root, context=ROOT).build(ROOT / "docker" / "Dockerfile")


@contextmanager
def running(image: PlainImage, log: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """The image's command, as `docker run -e` would start it; killed at the end if it still runs."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*image.entrypoint, *image.command], cwd=image.cwd, env=environment, stdout=output, stderr=output
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("is_compiled", [False, pytest.param(True, marks=pytest.mark.full)], ids=["plain", "compiled"])
def test_it_serves_until_sigterm_and_writes_only_into_its_volume(
    image: PlainImage, is_compiled: bool, tmp_path: Path
) -> None:
    """What a container with a read-only root would have to do: built, healthy, steering, backed up, ended with 0.

    Compiling every kernel takes minutes; kernels that run as plain Python start at once.
    """
    before = image.files()
    log, port = tmp_path / "log", free_port("127.0.0.1")
    here = {"GRASSHOPPER__SERVER__HOST": "127.0.0.1", "GRASSHOPPER__SERVER__PORT": str(port)}
    environment = image.environment | TOKENS | here | {"NUMBA_DISABLE_JIT": str(int(not is_compiled))}

    def is_healthy() -> bool:
        assert process.poll() is None, log.read_text()
        check = subprocess.run(image.health, env=environment, stderr=subprocess.DEVNULL, timeout=10, check=False)
        return check.returncode == 0

    with running(image, log, environment) as process:
        eventually(is_healthy, within_s=START_S, about=log.read_text)
        address = f"http://127.0.0.1:{port}/shim/v1/sync"
        report = message(1, working(), full=True)
        assert requests.post(address, json=report, timeout=10).status_code == 401
        bearer = {"Authorization": "Bearer of-a-shim-1b9e6f20"}
        reply = requests.post(address, json=report, headers=bearer, timeout=10).json()
        assert (reply["acknowledged"], reply["mode"]) == (1, "shadow")
        assert tables_of_backup(image, environment) >= {"decisions", "learned", "settings", "audit"}
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0, log.read_text()
    assert image.files() == before
    volume = Path(image.inside(image.volume))
    assert any((volume / "cache").rglob("*.nbc")) == is_compiled, "kernels outlive the container"


def test_without_tokens_it_does_not_start_and_says_why(image: PlainImage, tmp_path: Path) -> None:
    """An image must listen to others to be of use, and nobody may be served there who has no token."""
    log = tmp_path / "log"
    with running(image, log, image.environment) as process:
        assert process.wait(60) == 2
    assert "without tokens only this machine is served" in log.read_text()


def tables_of_backup(image: PlainImage, environment: dict[str, str]) -> set[str]:
    """Takes a backup with the very command that the documentation has, while the server runs."""
    (command,) = BACKUP.findall((ROOT / "docs" / "deploy.md").read_text())
    subprocess.run(["/bin/sh", "-c", image.inside(command)], env=environment, check=True)
    with sqlite3.connect(Path(image.inside(image.volume)) / "backup.db") as backup:
        return {name for (name,) in backup.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
