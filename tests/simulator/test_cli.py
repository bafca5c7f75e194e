"""Do `grasshopper simulate` and `grasshopper experiment` do what their help says?"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import Result
from py4j.protocol import Py4JError
from typer.testing import CliRunner

from controlplane.cli.app import app
from controlplane.model.errors import BadSetting
from controlplane.processes import COMPILED_ONCE, free_port
from controlplane.simulator import sweep
from controlplane.terminal import UNREACHABLE

pytestmark = pytest.mark.unit

GONE, THERE = (SimpleNamespace(isStopped=lambda answer=answer: answer) for answer in (True, False))

SIMULATE = ("simulate", "--policy", "redundant-small", "--d", "35", "--rho", "0.8", "--jobs", "2000", "--seeds", "1..3")


def grasshopper(*arguments: str) -> Result:
    """One command line, in this process; it ends by itself, with an exit code."""
    told = CliRunner().invoke(app, list(arguments))
    assert told.exception is None or isinstance(told.exception, SystemExit), told.exc_info
    return told


def test_simulate_prints_means_with_errors_beside_the_formula():
    """The table is for people."""
    told = grasshopper(*SIMULATE)
    assert told.exit_code == 0
    for word in ("response time, s", "standard error", "by formula", "28.28"):
        assert word in told.stdout


def test_simulate_writes_the_same_record_to_a_file_and_to_stdout(tmp_path):
    """For programs, with everything that went in."""
    told = grasshopper(*SIMULATE, "-o", "json", "--to", str(tmp_path / "new" / "run.json"))
    found = json.loads(told.stdout)
    assert found == json.loads((tmp_path / "new" / "run.json").read_text())
    assert (found["scenario"]["threshold_s"], found["scenario"]["offered_load"], found["seeds"]) == (
        35.0,
        0.8,
        [1, 2, 3],
    )


def test_an_unstable_system_is_called_so():
    """A mean alone would look like a result."""
    told = grasshopper("simulate", "--policy", "redundant-all", "--rho", "0.9", "--jobs", "3000", "--seeds", "1,2")
    assert "UNSTABLE in 2 of 2 runs" in told.stdout


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--rho", "-1"), "--rho"),
        (("--policy", "relaunch", "--w", "-1"), "--w"),
        (("--seeds", "9..1"), "--seeds"),
        (("--policy", "redundant-all", "--max-tasks", "15"), "--rate"),
        (("--policy", "redundant-all", "--nodes", "1", "--max-tasks", "1"), "--rate"),
        (("--rate", "0.5"), "--rate"),
        (("--max-service-s", "3"), "--max-service-s"),
        (("--max-task-slots", "11"), "--max-task-slots"),
        (("--service-noise", "-1"), "--service-noise"),
        (("--cancel-s", "-1"), "--cancel-s"),
        (("--service-tail-index", "inf"), "--service-tail-index"),
        (("--model", "cluster", "--locality", "101"), "--locality"),
        (("--jobs", "many"), "--jobs"),
        (("--jobs", "100", "--to", "/dev/null/run.json"), "--to"),
        (("--policy", "best"), "--policy"),
    ],
)
def test_bad_input_names_its_option(arguments, named):
    """By exit code 2."""
    told = grasshopper("simulate", *arguments)
    assert told.exit_code == 2
    assert named in told.stderr


@pytest.mark.parametrize("policy", [("none",), ("redundant-all", "--spare", "0")])
def test_a_rate_that_the_policy_does_not_go_by_refuses_nothing(policy):
    """One node holds no two tasks of a job, which is the default rate: nobody gave it, and nobody uses it."""
    few = ("--nodes", "1", "--max-tasks", "1", "--jobs", "100", "--seeds", "1")
    told = grasshopper("simulate", "--policy", *policy, *few)
    assert (told.exit_code, "response time, s" in told.stdout) == (0, True)


def test_results_that_cannot_be_written_are_printed():
    """Hours of simulation must not be lost to a name that was mistyped."""
    told = grasshopper("simulate", "--jobs", "100", "--seeds", "1", "--to", "/dev/null/run.json")
    assert told.exit_code == 2
    assert "response time, s" in told.stdout


def test_an_experiment_is_run_and_reported(tmp_path):
    """Without points there is nothing to wait for; with a point missing there is no page."""
    folder = ("--folder", str(tmp_path))
    told = grasshopper("experiment", "run", "redundancy/equation-10", *folder)
    assert "not reproduced" in told.stdout
    told = grasshopper("experiment", "report", "redundancy/equation-10", *folder)
    assert Path(told.stdout.strip()).read_text().startswith("<!doctype html>")
    told = grasshopper("experiment", "report", "redundancy/equation-4", *folder)
    assert told.exit_code == 1
    assert "10 runs are not computed yet: grasshopper experiment run redundancy/equation-4 --scale smoke" in told.stderr


def test_a_folder_that_takes_no_results_ends_a_run_with_a_sentence(tmp_path):
    """As a full disk does: a file is in its place."""
    (tmp_path / "file").touch()
    told = grasshopper("experiment", "run", "redundancy/equation-4", "--folder", str(tmp_path / "file"))
    assert told.exit_code == 1
    assert "earlier results are kept" in told.stderr.replace("\n", " ")
    assert f"loading kernels; they are {COMPILED_ONCE}" in told.stderr, "before anything is computed"


def test_a_master_that_cannot_be_reached_is_told_in_one_line(tmp_path):
    """Spark tried for a minute, and then told of its own inside."""
    master = f"spark://127.0.0.1:{free_port('127.0.0.1')}"
    told = grasshopper("experiment", "run", "redundancy/equation-4", "--folder", str(tmp_path), "--on", master)
    assert (told.exit_code, told.stderr.count("\n")) == (UNREACHABLE, 1)
    assert told.stderr.startswith(f"grasshopper: --on {master} cannot be reached")


def test_a_cluster_that_goes_while_it_computes_is_told_in_one_line():
    """Spark stops the context; whatever is asked of it then fails. A failure of a running one is another matter."""
    stopped, running = (SimpleNamespace(_jsc=SimpleNamespace(sc=lambda is_on=is_on: is_on)) for is_on in (GONE, THERE))
    with pytest.raises(sweep.NoCluster, match="spark://h:7077 is gone"), sweep._told_if_gone("spark://h:7077", stopped):
        raise Py4JError("a page of Java")
    with pytest.raises(Py4JError), sweep._told_if_gone("spark://h:7077", running):
        raise Py4JError("a page of Java")


def test_each_address_of_a_master_has_five_seconds_to_let_somebody_in(monkeypatch):
    """A host that answers nothing would hold the command for minutes."""
    asked = []

    def create_connection(*given):
        asked.append(given)
        raise TimeoutError

    monkeypatch.setattr(sweep.socket, "create_connection", create_connection)
    with pytest.raises(sweep.NoCluster), sweep.computing("spark://a:7077,b:7078"):
        pass
    assert asked == [(("a", 7077), 5.0), (("b", 7078), 5.0)]


def test_who_stops_early_waits_for_no_cell_that_has_not_begun(monkeypatch):
    """Only what is under way is cancelled; hours of cells may be queued behind it."""
    over, begun = threading.Event(), []
    context = SimpleNamespace(cancelAllJobs=over.set, stop=lambda: None)

    def as_a_job(context, cell):
        begun.append(cell)
        return "1", cell()

    monkeypatch.setattr(sweep, "_spark", lambda master: context)
    monkeypatch.setattr(sweep, "_as_a_job", as_a_job)
    monkeypatch.setattr(sweep, "provenance", lambda **_: SimpleNamespace(code="1"))
    with sweep.computing("local[2]") as compute:
        assert next(compute([int, *[lambda: over.wait(60)] * 200])) == (0, 0)
    assert len(begun) <= sweep.JOBS_AT_ONCE + 1


@pytest.mark.parametrize("given", [{}, {"SPARK_SUBMIT_OPTS": "-Xint"}])
def test_the_jvm_of_a_sweep_compiles_little_unless_somebody_says_otherwise(given, monkeypatch):
    """Workers compute, and it only passes on; what is set already stays."""
    environ, context = dict(given), SimpleNamespace(cancelAllJobs=lambda: None, stop=lambda: None)
    monkeypatch.setattr(sweep, "os", SimpleNamespace(environ=environ))
    monkeypatch.setattr("pyspark.SparkContext.getOrCreate", lambda conf: context)
    with sweep.computing("local[2]"):
        pass
    assert {"SPARK_SUBMIT_OPTS": "-XX:TieredStopAtLevel=1"} | given == {
        "SPARK_SUBMIT_OPTS": environ["SPARK_SUBMIT_OPTS"]
    }


@pytest.mark.parametrize("master", ["spark://host", "spark://a:1,b", "mesos://here"])
def test_what_is_no_master_is_wrong_usage(master):
    """Found out before Spark is loaded."""
    with pytest.raises(BadSetting), sweep.computing(master):
        pass


def test_a_run_with_nothing_to_compute_leaves_the_journal_alone(tmp_path):
    """Another run may be writing it."""
    journal = tmp_path / "smoke.jsonl"
    line = {"point": "Square(side=2)", "code": "0", "result": 4}
    journal.write_text("".join("\n" + json.dumps({**line, "seed": seed}) for seed in (2, 1)))
    before = journal.read_text()
    told = grasshopper("experiment", "run", "redundancy/equation-10", "--folder", str(tmp_path))
    assert (told.exit_code, journal.read_text()) == (0, before)


def test_the_list_names_every_experiment():
    """With what the paper says; an unknown name is answered with the known ones."""
    rows = json.loads(grasshopper("experiment", "list", "-o", "json").stdout)
    assert {"id", "source", "statement"} == set(rows[0])
    told = grasshopper("experiment", "run", "redundancy/figure-99")
    assert told.exit_code == 2
    assert rows[0]["id"] in told.stderr


def test_ctrl_c_keeps_what_is_done(tmp_path):
    """And says how to go on."""
    # Whoever runs the tests in the background may have told them to ignore Ctrl-C, which a child would inherit.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    command = [sys.executable, "-m", "controlplane.cli", "experiment", "run", "--folder", str(tmp_path)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ) as process:
        journal = tmp_path / "smoke.jsonl"
        deadline_s = time.monotonic() + 60
        while not (journal.exists() and journal.read_text().count("\n") >= 2) and time.monotonic() < deadline_s:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        told = process.stderr.read()
    assert process.returncode == 1
    assert "kept" in told
    assert len([json.loads(line) for line in journal.read_text().splitlines() if line]) >= 2
