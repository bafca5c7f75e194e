"""Can what others have sent do anything to who reads the log, and who reads it to who writes it?"""

import asyncio
import errno
import json
import logging
import os
import pty
import sys
import threading
import time

import pytest
import structlog

from controlplane import main, settings
from controlplane.runtime import log_lines
from controlplane.runtime.complaints import COMPLAIN_EVERY_S, Complaints
from controlplane.runtime.log_lines import LogLines
from tests.plane import Clock, message, started, working
from tests.waiting import eventually

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("kind", ["console", "json"])
def test_control_characters_of_callers_reach_no_terminal(kind, capfd):
    """Escapes move the cursor and hide lines; a line break makes a line that we never wrote."""
    before, handlers = structlog.get_config(), logging.root.handlers[:]
    logging.root.handlers.clear()
    try:
        main.set_up_logs(settings.load(None, {"log": {"format": kind}}))
        structlog.get_logger().warning("bad_fact", source="spark:\x1b[2J\x9b1m\r\nforged [info] all is well")
    finally:
        structlog.configure(**before)
        logging.root.handlers[:] = handlers
    (line,) = eventually(lambda: capfd.readouterr().err).splitlines()
    assert "forged" in line
    assert line.isprintable(), "no colours either, for this is a file"


def test_a_librarys_lines_are_json_too_and_none_tells_where_a_cut_request_stood(capfd, monkeypatch):
    """A request that the end cut off wrote thirty lines of plain text into a log of JSON lines."""
    before, handlers = structlog.get_config(), logging.root.handlers[:]
    logging.root.handlers.clear()
    # In other tests uvicorn has set up logs of its own.
    monkeypatch.setattr(logging.getLogger("uvicorn"), "propagate", True)
    log = logging.getLogger("uvicorn.error")
    try:
        main.set_up_logs(settings.load())
        for fault in (asyncio.CancelledError("drained"), ValueError("ours")):
            try:
                raise fault
            except BaseException:
                log.exception("Exception in ASGI application")
    finally:
        structlog.configure(**before)
        logging.root.handlers[:] = handlers
        log.filters.clear()
    (line,) = eventually(lambda: capfd.readouterr().err).splitlines()
    told = json.loads(line)
    assert (told["event"], told["logger"], told["level"]) == (
        "Exception in ASGI application",
        "uvicorn.error",
        "error",
    )
    assert "ValueError: ours" in told["exception"]


@pytest.mark.parametrize(("no_color", "coloured"), [("", True), ("1", False)])
def test_a_terminal_gets_colours_unless_its_user_wants_none(no_color, coloured, monkeypatch):
    """Empty counts as not set (no-color.org)."""
    monkeypatch.setenv("NO_COLOR", no_color)
    reader, terminal = pty.openpty()
    before, handlers = structlog.get_config(), logging.root.handlers[:]
    logging.root.handlers.clear()
    try:
        with monkeypatch.context() as patch, os.fdopen(terminal, "w") as stream:
            patch.setattr(sys, "stderr", stream)
            main.set_up_logs(settings.load(None, {"log": {"format": "console"}}))
            structlog.get_logger().warning("bad_fact", source="spark:a")
            line = os.read(reader, 1000).decode()
    finally:
        structlog.configure(**before)
        logging.root.handlers[:] = handlers
        os.close(reader)
    assert "bad_fact" in line
    assert ("\x1b[" in line) is coloured


def test_of_many_complaints_one_is_logged_and_the_rest_counted():
    """Callers decide how often they are refused."""
    clock = Clock()
    complaints = Complaints(clock)
    with structlog.testing.capture_logs() as logs:
        for _ in range(1000):
            complaints.warn("token_refused", client="10.0.0.9")
        complaints.warn("sync_refused")
        clock.advance(COMPLAIN_EVERY_S)
        complaints.warn("token_refused", client="10.0.0.9")
    assert [(each["event"], each["left_out"]) for each in logs] == [
        ("token_refused", 0),
        ("sync_refused", 0),
        ("token_refused", 999),
    ]


class Place:
    """Where lines go: it may refuse with an error, take a few bytes at a time, or keep who writes waiting."""

    def __init__(self, error=None, takes=None):
        self.error, self.takes = error, takes
        self.text = ""
        self.opened = threading.Event()
        self.opened.set()
        self.n_calls = 0

    def __call__(self, data):
        self.n_calls += 1
        self.opened.wait(30)
        if self.error:
            raise OSError(self.error, "no")
        self.text += data[: self.takes].decode()
        return len(data[: self.takes])


@pytest.mark.parametrize("error", [errno.EPIPE, errno.ENOSPC, errno.EAGAIN])
def test_a_line_that_cannot_be_written_harms_nobody_and_is_written_once_it_can_be(error, monkeypatch):
    """A reader that has gone, a full disk: who logs goes on, and after a torn line comes its rest."""
    monkeypatch.setattr(log_lines, "RETRY_S", 0.001)
    place = Place(takes=3)
    lines = LogLines(place)
    lines.write("one\n")
    eventually(lambda: place.text == "one\n")
    place.error = error
    lines.write("two\n")
    eventually(lambda: place.n_calls > 5)
    lines.write("three \ud800\n")
    place.error = None
    eventually(lambda: place.text == "one\ntwo\nthree \\ud800\n")
    lines.close()


@pytest.mark.parametrize("word", ["line", "línea"])
def test_nobody_waits_for_a_reader_and_lines_dropped_meanwhile_are_told_where_they_are_missing(word, monkeypatch):
    """A pipe that nobody reads is full after 64 kB; what waits or is being written then is bounded, in bytes."""
    monkeypatch.setattr(log_lines, "MOST_BYTES", 100)
    place = Place()
    place.opened.clear()
    lines = LogLines(place)
    before = structlog.get_config()
    structlog.configure(
        processors=[structlog.processors.JSONRenderer(sort_keys=True)],
        logger_factory=structlog.WriteLoggerFactory(lines),
    )
    try:
        lines.write("in the pipe\n")
        eventually(lambda: place.n_calls)
        start_s = time.monotonic()
        for number in range(1000):
            lines.write(f"{word} {number:04}\n")
        assert time.monotonic() - start_s < 1.0
        place.opened.set()
        told = eventually(lambda: place.text if "dropped" in place.text else "").splitlines()
        lines.write("all is well\n")
        eventually(lambda: place.text.endswith("all is well\n"))
    finally:
        structlog.configure(**before)
        lines.close()
    n_kept = (100 - len("in the pipe\n")) // len(f"{word} 0000\n".encode())
    assert told[:-1] == ["in the pipe", *(f"{word} {number:04}" for number in range(n_kept))]
    assert told[-1] == f'{{"event": "log_lines_dropped", "lines": {1000 - n_kept}}}'


@pytest.mark.parametrize("error", [None, errno.EPIPE])
def test_the_end_waits_for_the_last_lines_but_not_for_a_reader_that_does_not_come(error, monkeypatch):
    monkeypatch.setattr(log_lines, "PATIENCE_S", 0.2)
    place = Place(takes=1)
    lines = LogLines(place)
    lines.write("the last words\n")
    lines.close()
    assert place.text == "the last words\n"
    stuck = Place(error)
    stuck.opened.clear()
    lines = LogLines(stuck)
    lines.write("the last words\n")
    start_s = time.monotonic()
    lines.close()
    assert 0.1 < time.monotonic() - start_s < 2.0
    stuck.opened.set()


def test_facts_that_are_refused_fill_no_log(plane):
    """One source can send thousands of them in a second; they are counted one by one."""
    plane.reply(message(1, working(), full=True))
    with structlog.testing.capture_logs() as logs:
        for sequence in range(2, 6):
            plane.reply(message(sequence, [started(number, index=99) for number in range(100, 120)]))
        plane.clock.advance(COMPLAIN_EVERY_S)
        plane.reply(message(6, [started(100, index=99)]))
    assert [(each["event"], each["left_out"]) for each in logs] == [("bad_fact", 0), ("bad_fact", 79)]
