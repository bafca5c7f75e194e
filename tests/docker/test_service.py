"""Is the systemd unit one that systemd takes whole, with settings that a control plane takes?"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from controlplane.settings import load

DOCKER = Path(__file__).parents[2] / "docker"
UNIT = DOCKER / "grasshopper.service"

pytestmark = pytest.mark.checkout


@pytest.mark.integration
def test_systemd_finds_nothing_wrong(tmp_path: Path) -> None:
    """A key that systemd does not know is ignored with a warning: a sandbox that is none."""
    analyzer = shutil.which("systemd-analyze")
    assert analyzer, "systemd-analyze is missing; ./setup.sh systemd installs it"
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("/opt/grasshopper/bin/grasshopper", sys.executable))
    ran = subprocess.run([analyzer, "verify", str(unit)], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.unit
def test_its_settings_are_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """The store lies in the folder that systemd makes for it, and without tokens it stays on loopback."""
    unit = UNIT.read_text()
    for name, value in re.findall(r"^Environment=(GRASSHOPPER__\w+)=(.*)$", unit, re.MULTILINE):
        monkeypatch.setenv(name, value)
    settings = load(DOCKER / "etc" / "grasshopper.yaml")
    (folder,) = re.findall(r"^StateDirectory=(.*)$", unit, re.MULTILINE)
    assert Path(settings.store_settings().url).parent == Path("/var/lib") / folder
    assert settings.server.loopback
