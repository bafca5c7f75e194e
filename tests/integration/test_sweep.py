"""Does a sweep come to the same wherever it runs: in one process, on a Spark cluster, and after it was stopped?"""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.plane_process import ROOT, eventually

pytestmark = pytest.mark.integration

EXPERIMENT = "redundancy/figure-3"
"""A few dozen cells of a tenth of a second."""
STOPPED = 1


def sweep(folder: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "controlplane.cli", "experiment", "run", EXPERIMENT, "--folder", str(folder)]
    return subprocess.Popen([*command, *options], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def results(folder: Path) -> bytes:
    """What a sweep has written when it has ended by itself."""
    return (folder / "smoke.jsonl").read_bytes()


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> bytes:
    """The results of one process."""
    folder = tmp_path_factory.mktemp("alone")
    process = sweep(folder)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return results(folder)


@pytest.mark.full
def test_on_a_cluster_of_several_hosts_the_file_has_the_same_bytes(hosts, alone, tmp_path):
    """A cell depends on nothing but itself, and lines are sorted when all are there."""
    process = sweep(tmp_path, "--on", hosts.master_url)
    _, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors
    assert results(tmp_path) == alone


@pytest.mark.full
def test_a_sweep_stopped_by_ctrl_c_goes_on_where_it_was(alone, tmp_path):
    """What was computed before is kept as it is, and not computed again."""
    process = sweep(tmp_path, "--on", "local[2]")
    lines = tmp_path / "smoke.jsonl"
    eventually(lambda: lines.exists() and len(lines.read_text().splitlines()) > 3, within_s=120)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == STOPPED, errors
    assert "run again to continue" in errors
    before = [json.loads(line)["point"] for line in lines.read_text().splitlines() if line]
    again = sweep(tmp_path)
    _, errors = again.communicate(timeout=120)
    assert again.returncode == 0, errors
    assert 3 <= len(before) < len(alone.splitlines())
    assert results(tmp_path) == alone


def test_what_is_no_master_is_refused_by_its_option(tmp_path):
    """Before anything starts."""
    process = sweep(tmp_path, "--on", "mesos://here")
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, "--on" in errors) == (2, True), errors
