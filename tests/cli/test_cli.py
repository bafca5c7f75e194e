"""Does every command do what its help says, and end with the documented code?"""

import errno
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest
import requests
import typer

from controlplane import __version__, main
from controlplane.api.decisions import OutcomeName
from controlplane.model.reasons import TEXTS, Reason
from controlplane.store.database import alone
from controlplane.terminal import NOT_ALLOWED, NOT_FOUND, REFUSED, UNREACHABLE, USAGE
from tests.cli.command import NOT_THE_ONE, run

pytestmark = pytest.mark.unit


def test_help_imports_nothing_heavy() -> None:
    """Help must be quick: no web framework, no numbers, no database, no Spark."""
    script = (
        "import sys; from typer.testing import CliRunner; from controlplane.cli.app import app;"
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0;"
        "print([m for m in ('fastapi', 'numpy', 'sqlalchemy', 'pyspark', 'pydantic', 'requests') if m in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


def test_one_demo_runs_at_a_time() -> None:
    """Two that are asked for are neither."""
    told = run("demo", "--table1", "--deadlines")
    assert (told.exit_code, "choose one" in told.stderr) == (USAGE, True)


def test_the_version_is_told() -> None:
    """For bug reports; the rest of the help is in its place."""
    assert run("--version").stdout == f"grasshopper {__version__}\n"
    told = run("--help").stdout
    assert "Speculation-aware scheduling" in told
    assert "--version" in told


def test_an_address_that_cannot_be_printed_keeps_no_server_from_serving(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may go to a file on a full disk, as the log does."""

    def fail(_line: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(main, "serve", lambda _settings, on_start: on_start("http://127.0.0.1:7"))
    monkeypatch.setattr(typer, "echo", fail)
    assert run("serve", "--port", "0", "--store", str(tmp_path / "plane.db")).exit_code == 0


def test_decisions_are_listed_and_filtered(server: str) -> None:
    """As a table for people and as JSON for programs."""
    table = run("decisions", "list", token="reader-5d1c83fa97", server=server)
    assert table.exit_code == 0
    assert "could write its output twice" in table.stdout
    listed = run(
        "decisions", "list", "--reason", "unsafe_output", "-o", "json", token="reader-5d1c83fa97", server=server
    )
    assert {decision["reason"] for decision in json.loads(listed.stdout)} == {"unsafe_output"}


def test_an_empty_list_says_so_and_how_to_see_more(server: str, other_server: Callable[[bytes], str]) -> None:
    """On standard error, so that programs get an empty list and nothing else."""
    filters = ("decisions", "list", "--job", "report", "--outcome", "refused")
    table = run(*filters, token="reader-5d1c83fa97", server=server)
    assert (table.exit_code, table.stdout) == (0, "")
    assert "no decision matches; leave out --job or --outcome to see more" in table.stderr
    listed = run(*filters, "-o", "json", token="reader-5d1c83fa97", server=server)
    assert (json.loads(listed.stdout), listed.stderr) == ([], "")
    assert "nothing has been decided yet" in run("decisions", "list", server=other_server(b'{"items": []}')).stderr


def test_the_report_says_what_copies_were_worth(server: str) -> None:
    """In words and tables for people, as REST has it for programs; a time that is none is refused by its name."""
    told = run("report", "--since", "90m", token="reader-5d1c83fa97", server=server)
    assert told.exit_code == 0, told.output
    assert "Shadow mode has not decided on any copy." in told.stdout
    assert re.search(r"Time to an attempt's end +0 +not known yet", told.stdout)
    listed = json.loads(run("report", "-o", "json", token="reader-5d1c83fa97", server=server).stdout)
    assert listed["total"]["shadow"]["copies"] == 0
    refused = run("report", "--since", "soon", token="reader-5d1c83fa97", server=server)
    assert refused.exit_code == USAGE
    assert "since = 'soon', want minutes, hours or days" in refused.stderr


def test_the_report_labels_every_saving(other_server: Callable[[bytes], str]) -> None:
    """A figure of shadow mode that is pasted into a message must not pass for a result."""
    zeros = dict.fromkeys(("copies", "without_outcome", "won", "lost", "estimated_saved_s", "losing_core_s"), 0)
    shadow = {"copies": 3, "without_outcome": 1, "estimated_saved_s": 77.7, "estimated_cost_core_s": 5.5}
    one = {"source": "spark:a", "name": "nightly", "shadow": shadow, "control": zeros, "stock": zeros}
    error = {"estimate": "Time saved", "samples": 2, "ratio": 3.0, "spread": None, "about": "Three times too much."}
    body = {"summary": ["In words."], "applications": [one], "errors": [error], "complete": False}
    told = run("report", server=other_server(json.dumps(body).encode()))
    assert told.exit_code == 0, told.output
    head, line = (next(each for each in told.stdout.splitlines() if word in each) for word in ("in shadow", "77.7"))
    assert head.index("in shadow (estimate)") == line.index("3 copies, 1 without an outcome yet; 77.7 s saved")
    assert "nightly (spark:a)" in line
    assert "the host's own" in head, "as on the page"
    assert "Time saved: Three times too much." in told.stdout
    assert "this report is incomplete" in told.stderr


def test_a_refusal_is_not_told_as_done(server: str) -> None:
    """It orders nothing, so nothing can have come of it."""
    table = run("decisions", "list", "--action", "refuse_copy", token="reader-5d1c83fa97", server=server).stdout
    assert re.search(r" - +A second attempt", table)
    assert not re.search("applied|shadow", table)


def test_what_list_and_explain_print_is_what_why_wants(server: str) -> None:
    """Source and task can be taken over as they stand, by people and by their shells."""
    listed = run("decisions", "list", "--action", "refuse_copy", token="reader-5d1c83fa97", server=server).stdout
    decision, source, epoch, task = re.search(r"(\d+) +refuse_copy +(\S+) +(\d+) +report +(\S+)", listed).groups()
    asked = ("decisions", "why", source, task, "--epoch")
    assert "was not copied" in run(*asked, epoch, token="reader-5d1c83fa97", server=server).stdout
    assert run(*asked, "2", token="reader-5d1c83fa97", server=server).exit_code == NOT_FOUND
    *told, hint = run("decisions", "explain", decision, token="reader-5d1c83fa97", server=server).stdout.splitlines()
    assert f"  about: source {source}, epoch {epoch}, job report, task {task}" in told
    assert hint.endswith(f": grasshopper decisions why {source} {task} --epoch {epoch}")


def test_explain_gives_a_hosts_answer_as_a_sentence(server: str, other_server: Callable[[bytes], str]) -> None:
    """A code of the shim says little to who reads it for the first time."""
    listed = run("decisions", "list", "-o", "json", token="reader-5d1c83fa97", server=server).stdout
    outcome = {"result": "expired", "after_s": 2.0, "reason": "no_slot", "saved_s": 0.0}
    told = json.dumps(json.loads(listed)[0] | {"outcomes": [outcome]}).encode()
    explained = run("decisions", "explain", "1", server=other_server(told)).stdout
    assert "  after 2.0 s: expired: no slot came free in time" in explained


def test_explain_leaves_the_host_that_was_chosen_out_of_what_was_considered(
    server: str, other_server: Callable[[bytes], str]
) -> None:
    """It stands by its rank, and a 0 reads as the copy's own score."""
    listed = run("decisions", "list", "-o", "json", token="reader-5d1c83fa97", server=server).stdout
    considered = {"to_host": "a", "alternatives": [["wait", 0.0], ["host a", 0.0], ["host b", -1.0]]}
    told = json.dumps(json.loads(listed)[0] | considered).encode()
    explained = run("decisions", "explain", "1", server=other_server(told)).stdout
    assert "  considered, by score: wait 0, host b -1" in explained


def test_help_names_filters_that_find_something() -> None:
    """Every outcome that can be asked for, and as an example a reason that is recorded."""
    told = run("decisions", "list", "--help").stdout
    assert [name for name in get_args(OutcomeName) if name not in told] == []
    (example,) = (reason for reason in Reason if reason.label in told)
    assert TEXTS[example].severity > 0


def test_a_decision_is_explained(server: str) -> None:
    """With its sentence and inputs."""
    listed = run("decisions", "list", "--action", "refuse_copy", "-o", "json", token="reader-5d1c83fa97", server=server)
    decision = json.loads(listed.stdout)[0]
    told = run("decisions", "explain", str(decision["id"]), token="reader-5d1c83fa97", server=server)
    assert decision["sentence"] in told.stdout


def test_an_attempt_says_why_it_was_not_copied(server: str) -> None:
    """The question an engineer on call asks."""
    told = run("decisions", "why", "spark:app-1", "7", token="reader-5d1c83fa97", server=server)
    assert "was not copied by Grasshopper: A second attempt of this stage could write its output twice." in told.stdout


def test_why_tells_fate_reason_and_what_came_later_apart(other_server: Callable[[bytes], str]) -> None:
    """What speaks against a second copy is not why there was a first one; what cannot be read is not left out."""
    about = {"job": "job-0", "stage": 0, "index": 3, "fate": "was copied", "sentence": "It was slow."}
    found = about | {"since": "No host has room.", "complete": False, "decisions": []}
    told = run("decisions", "why", "spark:app-1", "0/3", server=other_server(json.dumps(found).encode()))
    first, later = told.stdout.splitlines()
    assert first == "Task 3 of stage 0 in job-0 was copied: It was slow."
    assert later == "Since then: No host has room."
    assert "older decisions may be missing" in told.stderr


def test_what_is_attached_is_listed_with_its_mode(server: str, other_server: Callable[[bytes], str]) -> None:
    """The first question after attaching a driver, and the names that other commands want."""
    table = run("status", token="reader-5d1c83fa97", server=server)
    assert re.search(r"spark:app-1 .* (shadow|control|off) +1 +\d+ s ago", table.stdout)
    listed = run("status", "-o", "json", token="reader-5d1c83fa97", server=server)
    assert [each["source"] for each in json.loads(listed.stdout)] == ["spark:app-1"]
    empty = run("status", server=other_server(b'{"items": [], "cursor": null}'))
    assert (empty.exit_code, empty.stdout) == (0, "")
    assert "nothing is attached" in empty.stderr


def test_the_mode_is_set_with_a_reason(server: str) -> None:
    """And read back."""
    assert run("mode", "set", "control", "--reason", "trial", token="operator-20b6e94f1", server=server).exit_code == 0
    told = run("mode", "get", "-o", "json", token="reader-5d1c83fa97", server=server)
    assert json.loads(told.stdout)["mode"] == "control"


def test_off_asks_before_it_kills(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing destructive without a yes from whoever can give one; a script's kill switch must kill."""
    arguments = ("mode", "set", "off", "--reason", "trial")
    monkeypatch.setattr("controlplane.cli.app.is_interactive", lambda: True)
    assert run(*arguments, token="operator-20b6e94f1", server=server, answers="n\n").exit_code == REFUSED
    assert (
        json.loads(run("mode", "get", "-o", "json", token="reader-5d1c83fa97", server=server).stdout)["mode"] != "off"
    )
    monkeypatch.setattr("controlplane.cli.app.is_interactive", lambda: False)
    assert run(*arguments, token="operator-20b6e94f1", server=server).exit_code == 0
    assert (
        json.loads(run("mode", "get", "-o", "json", token="reader-5d1c83fa97", server=server).stdout)["mode"] == "off"
    )


@pytest.mark.parametrize(
    ("arguments", "token", "code"),
    [
        (("decisions", "explain", "1"), "reader-5d1c83fa97", NOT_FOUND),
        (("decisions", "why", "spark:none", "1"), "reader-5d1c83fa97", NOT_FOUND),
        (("decisions", "why", "spark:app-1", "0.3/1"), "reader-5d1c83fa97", NOT_FOUND),
        (("decisions", "why", "spark:app-1", "0/1/2"), "reader-5d1c83fa97", USAGE),
        (("decisions", "list"), "", NOT_ALLOWED),
        (("mode", "set", "shadow", "--reason", "x"), "reader-5d1c83fa97", NOT_ALLOWED),
        (("decisions", "list", "--action", "dance"), "reader-5d1c83fa97", USAGE),
        (("mode", "set", "shadow", "--reason", ""), "operator-20b6e94f1", USAGE),
        (("mode", "set", "sideways", "--reason", "x"), "operator-20b6e94f1", USAGE),
        (("mode", "set", "shadow"), "operator-20b6e94f1", USAGE),
    ],
)
def test_exit_codes_tell_what_went_wrong(server: str, arguments: tuple[str, ...], token: str, code: int) -> None:
    """As documented, with one line on standard error."""
    told = run(*arguments, token=token, server=server)
    assert told.exit_code == code
    assert told.stderr


def test_a_server_that_is_not_there_has_its_own_code() -> None:
    """Port 1 on loopback answers nobody."""
    told = run("mode", "get", server="http://127.0.0.1:1")
    assert told.exit_code == UNREACHABLE
    assert "cannot be reached" in told.stderr


def test_a_server_without_tls_is_not_taken_for_one_that_is_down(server: str) -> None:
    """The address begins with https, and the server speaks http."""
    told = run("mode", "get", server=server.replace("http://", "https://"))
    assert told.exit_code == UNREACHABLE
    assert "no TLS connection" in told.stderr


def test_a_server_that_listens_and_says_nothing_is_told_from_one_that_is_not_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The one is looked for in its log, the other is started."""
    monkeypatch.setattr("controlplane.terminal.TIMEOUT_S", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        told = run("mode", "get", server=f"http://127.0.0.1:{silent.getsockname()[1]}")
    assert told.exit_code == UNREACHABLE
    assert "listens, but did not answer within 0.1 s" in told.stderr


STRANGE = [b"", b"not json", b"[1, 2]", b"{}", b"null", b'{"items": 5}', b'{"items": [{"id": 1}]}', b"[" * 100_000]


@pytest.mark.parametrize("body", STRANGE, ids=range(len(STRANGE)))
@pytest.mark.parametrize(
    "command",
    [("decisions", "list"), ("decisions", "explain", "1"), ("mode", "get"), ("status",), ("config", "show")],
)
def test_a_server_that_is_not_ours_is_told_and_never_a_traceback(
    body: bytes, command: tuple[str, ...], other_server: Callable[[bytes], str]
) -> None:
    """A port may be anybody's."""
    told = run(*command, "--server", other_server(body))
    assert (told.exit_code, type(told.exception)) == (REFUSED, SystemExit)
    assert "does not answer like Grasshopper" in told.stderr


@pytest.mark.parametrize(
    ("server", "token", "code"),
    [
        ("no-scheme", "", USAGE),
        ("127.0.0.1:7272", "", USAGE),
        ("http://[", "", USAGE),
        ("ftp://127.0.0.1", "", USAGE),
        ("http://127.0.0.1:1", "t\u00f6ken", USAGE),
        ("http://127.0.0.1:1", "two\nlines", USAGE),
    ],
)
def test_a_bad_address_or_token_is_wrong_usage(server: str, token: str, code: int) -> None:
    """And the token is not repeated."""
    told = run("mode", "get", server=server, token=token)
    assert (told.exit_code, type(told.exception)) == (code, SystemExit)
    assert not token or token not in told.stderr


def test_a_port_in_use_is_told_in_one_line(server: str, tmp_path: Path) -> None:
    """Somebody else is there already; nothing is opened, and there is no traceback to look through."""
    port = server.rpartition(":")[2]
    store = tmp_path / "x.db"
    command = [sys.executable, "-m", "controlplane.cli", "serve", "--port", port, "--store", str(store)]
    told = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert told.returncode == REFUSED
    assert told.stderr.startswith(f"grasshopper: 127.0.0.1:{port} is in use")
    assert len(told.stderr.splitlines()) == 1
    assert not store.exists()


def test_a_store_in_use_is_told_in_one_line(tmp_path: Path) -> None:
    """Two on one file would write over each other's choices: a kill switch would be gone with the next restart."""
    store = tmp_path / "x.db"
    command = [sys.executable, "-m", "controlplane.cli", "serve", "--port", "0", "--store", str(store)]
    with alone(str(store)):
        told = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (told.returncode, len(told.stderr.splitlines())) == (REFUSED, 1)
    assert told.stderr.startswith(f"grasshopper: {store} is another `grasshopper serve`'s")


@pytest.mark.parametrize("option", ["--port-file", "--config", "--store"])
def test_a_path_that_cannot_be_used_is_wrong_usage(option: str, tmp_path: Path) -> None:
    """Found out before anything is started."""
    path = {"--store": "nosuch://x"}.get(option, str(tmp_path / "no" / "file"))
    told = run("serve", "--port", "0", option, path)
    assert (told.exit_code, type(told.exception)) == (USAGE, SystemExit)


def test_who_gives_no_token_or_a_wrong_one_is_told_which_and_how_to_give_it(server: str) -> None:
    """A wrong token looks like none at all otherwise, and no other line says where it may stand."""
    how = "; give it by --token, GRASSHOPPER__CLIENT__TOKEN or GRASSHOPPER__CLIENT__TOKEN_FILE\n"
    none, wrong = run("status", server=server), run("status", "--token", "nope", server=server)
    assert (none.exit_code, wrong.exit_code) == (NOT_ALLOWED, NOT_ALLOWED)
    assert none.stderr == f"grasshopper: no token; this needs the read token{how}"
    assert wrong.stderr == f"grasshopper: {NOT_THE_ONE} the read token{how}"


def test_a_token_comes_from_a_file(server: str, tmp_path: Path) -> None:
    """So that it stands in no process list."""
    secret = tmp_path / "token"
    secret.write_text("reader-5d1c83fa97\n")
    assert run("mode", "get", server=server, GRASSHOPPER__CLIENT__TOKEN_FILE=str(secret)).exit_code == 0
    secret.write_bytes(b"\xff")
    for path in (secret, tmp_path / "none", tmp_path, "/dev/zero"):
        told = run("mode", "get", server=server, GRASSHOPPER__CLIENT__TOKEN_FILE=str(path))
        assert (told.exit_code, type(told.exception)) == (USAGE, SystemExit)


def test_a_right_file_is_valid_and_a_wrong_one_names_the_field(tmp_path: Path) -> None:
    """A typing error is found before a restart, not after."""
    right, wrong = tmp_path / "right.yaml", tmp_path / "wrong.yaml"
    right.write_text("engine: {mode: control}\n")
    wrong.write_text("engine: {max_copies_per_task: 99}\nserver: {prot: 80}\n")
    assert run("config", "validate", str(right)).exit_code == 0
    told = run("config", "validate", str(wrong))
    assert told.exit_code == USAGE
    assert f"{wrong}:1: engine.max_copies_per_task = 99, want less than or equal to 16" in told.stderr
    assert f"{wrong}:2: server.prot" in told.stderr


def test_config_show_tells_origins_and_masks_secrets(tmp_path: Path) -> None:
    """File, environment or default, for each value."""
    file = tmp_path / "plane.yaml"
    file.write_text(
        "engine: {allocator: fair}\nauth: {read_token: hush-0123456789abcdef}\nstore: {url: 'sqlite:///x?password=hush'}\n"
    )
    told = run("config", "show", "--config", str(file), "-o", "json", GRASSHOPPER__ENGINE__SPECULATOR="late")
    shown = json.loads(told.stdout)
    assert shown["engine.allocator"] == {"value": "fair", "origin": str(file)}
    assert shown["engine.speculator"] == {"value": "late", "origin": "environment"}
    assert shown["engine.mode"]["origin"] == "default"
    assert "hush" not in told.stdout
    table = run("config", "show", "--config", str(file), "--origin").stdout
    assert str(file) in table


def test_config_show_tells_a_servers_settings_from_the_shells(server: str) -> None:
    """What was changed while it runs is in no file and no environment."""
    change = {"engine": {"max_copies_per_task": 1}, "reason": "trial"}
    headers = {"Authorization": "Bearer operator-20b6e94f1"}
    requests.patch(f"{server}/api/v1/settings", json=change, headers=headers, timeout=5).raise_for_status()
    there = run("config", "show", "--server", server, token="reader-5d1c83fa97")
    assert f"value at {server}" in there.stdout
    assert re.search(r"engine.max_copies_per_task +1 ", there.stdout)
    here = run("config", "show")
    assert "value in this shell" in here.stdout
    assert re.search(r"engine.max_copies_per_task +2 ", here.stdout)
    told = json.loads(run("config", "show", "--server", server, "-o", "json", token="reader-5d1c83fa97").stdout)
    assert told["engine.max_copies_per_task"] == {"value": 1, "origin": server}
    assert run("config", "show", "--server", server, "--config", "plane.yaml").exit_code == USAGE


def test_serving_others_without_tokens_is_refused() -> None:
    """A port open to everybody must ask for a token."""
    told = run("serve", "--host", "0.0.0.0", "--port", "0")
    assert told.exit_code == USAGE
    assert "server.host" in told.stderr


def test_an_unknown_policy_is_refused_before_serving(tmp_path: Path) -> None:
    """The message names the setting."""
    told = run("serve", "--port", "0", "--store", str(tmp_path / "x.db"), "--allocator", "lottery")
    assert told.exit_code == USAGE
    assert "allocator" in told.stderr


def test_jars_prints_a_path_or_says_how_to_get_one() -> None:
    """Either the jar is there, or the message says what builds it."""
    told = run("jars")
    if told.exit_code == 0:
        assert Path(told.stdout.strip()).is_file()
    else:
        assert told.exit_code == REFUSED
        assert "grasshopper-spark.jar" in told.stderr


def test_serve_tells_its_port_reads_its_file_again_and_ends_on_sigterm(tmp_path: Path) -> None:
    """Port 0 takes a free one; scripts read it from a file, people from the first line. SIGHUP is for the file."""
    port_file = tmp_path / "port"
    file = tmp_path / "plane.yaml"
    file.write_text("engine: {lease_ms: 1000}\n")
    command = [sys.executable, "-m", "controlplane.cli", "serve", "--port", "0", "--port-file", str(port_file)]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [*command, "--config", str(file), "--store", str(tmp_path / "x.db"), "--mode", "control",
         "--speculator", "late"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment,
    )  # fmt: skip
    try:
        deadline_s = time.monotonic() + 300
        while not port_file.exists():
            assert process.poll() is None
            assert time.monotonic() < deadline_s
            time.sleep(0.05)
        address = f"http://127.0.0.1:{int(port_file.read_text())}"
        assert process.stdout.readline() == f"Grasshopper listens on {address}\n"
        settings = requests.get(f"{address}/api/v1/settings", timeout=5).json()["engine"]
        assert (settings["mode"], settings["allocator"], settings["speculator"]) == ("control", "hopper", "late")
        file.write_text("engine: {lease_ms: 2000}\n")
        process.send_signal(signal.SIGHUP)
        while requests.get(f"{address}/api/v1/settings", timeout=5).json()["engine"]["lease_ms"] != 2000:
            assert time.monotonic() < deadline_s
            time.sleep(0.05)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=20)
        process.stdout.close()
