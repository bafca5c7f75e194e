"""What may twenty sources do that are hostile or broken? One process of its own, so that their work is not the others'.

Arguments: port, seconds, the token of shims. Each kind goes on without a pause; refusals and cut connections are
expected.
"""

import gzip
import itertools
import json
import socket
import sys
import threading
import time

from tests.plane import attached, message, started

AT_ONCE = 4_500
"""Attempts in a message, of 5,000 facts that are allowed."""


def stage(n_tasks):
    """A job with one stage of so many tasks, on four executors."""
    return [
        *({"type": "executor_added", "executor": str(n), "host": f"host-{n}", "slots": n_tasks} for n in range(4)),
        {"type": "job_submitted", "job": "j", "stages": [1]},
        {"type": "stage_submitted", "job": "j", "stage": 1, "stage_attempt": 0, "n_tasks": n_tasks, "kind": "result"},
    ]


def running(n_tasks):
    """The facts of a full report of so many attempts."""
    return [attached(), *stage(n_tasks), *(started(n, host=n % 4) for n in range(n_tasks))]


def hosts(name):
    """Executors, each on a host of its own that nobody else has."""
    executor = {"type": "executor_added", "slots": 1}
    return [executor | {"executor": str(n), "host": f"{name}-{n}"} for n in range(AT_ONCE)]


def packed(body):
    return json.dumps(body, separators=(",", ":")).encode()


def anew(name, facts):
    """The same full report for ever, each time of a driver that has started anew."""
    text = packed(message(1, facts, source=name, epoch=0, full=True))
    for epoch in itertools.count(1):
        yield text.replace(b'"epoch":0', b'"epoch":%d' % epoch, 1), b""


def small_and_often(name):
    """Attempts that start and are lost again, a thousand a message."""
    yield packed(message(1, running(4), source=name, full=True)), b""
    facts = [started(n, index=n % 4) for n in range(1000)]
    for sequence in itertools.count(2):
        yield packed(message(sequence, facts, source=name)), b""


def invented(name):
    """Sources that nobody has heard of, one after the other."""
    for number in itertools.count():
        yield packed(message(1, [attached(), *stage(10)], source=f"{name}-{number}", full=True)), b""


def thief(name):
    """Another one's id, with the highest epoch that there is."""
    for number in itertools.count():
        yield packed(message(1, [attached()], source=f"honest-{number % 10}", epoch=2**53, full=True)), b""


def bomb(name):
    """A small body that says that it is large, in turn with one that is."""
    zipped = gzip.compress(b" " * 2**24)
    columns = packed(message(1, source=name, progress={"attempt": [1] * 7_000_000}))
    yield from itertools.cycle([(zipped, b"content-encoding: gzip\r\n"), (columns, b"")])


KINDS = {
    "too many attempts": lambda name: anew(name, running(100_000)),
    "many attempts": lambda name: anew(name, running(AT_ONCE)),
    "many hosts": lambda name: anew(name, [attached(), *hosts(name)]),
    "small and often": small_and_often,
    "invented": invented,
    "thief": thief,
    "bombs": bomb,
    "no JSON": lambda name: itertools.repeat((b"{" * 1000, b"")),
    "wrong token": lambda name: itertools.repeat((b"{}", b"authorization: Bearer wrong\r\n")),
}


def post(port, bodies, token, end_s):
    """Posts one body after the other, on a new connection where the old one was cut."""
    connection = None
    for content, more in bodies:
        if time.monotonic() > end_s:
            return
        login = b"" if b"authorization" in more else b"authorization: Bearer " + token.encode() + b"\r\n"
        head = (
            b"POST /shim/v1/sync HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
            b"%b%bcontent-length: %d\r\n\r\n"
        )
        try:
            connection = connection or socket.create_connection(("127.0.0.1", port), timeout=5)
            connection.sendall(head % (login, more, len(content)) + content)
            if b"200 OK" not in connection.recv(65536):
                connection = connection.close()
        except OSError:
            connection = connection and connection.close()


def endless_heads(port, end_s):
    """Header lines without end."""
    while time.monotonic() < end_s:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
                connection.sendall(b"GET / HTTP/1.1\r\n")
                while time.monotonic() < end_s:
                    connection.sendall(b"x: " + b"y" * 60_000 + b"\r\n")
        except OSError:
            time.sleep(0.01)


def half_requests(port, end_s):
    """As many connections as there are, each with half a request line."""
    held = []
    while time.monotonic() < end_s:
        try:
            held.append(socket.create_connection(("127.0.0.1", port), timeout=5))
            held[-1].sendall(b"GET /")
        except OSError:
            time.sleep(0.01)
    for each in held:
        each.close()


def main(port, seconds, token):
    """Twenty of them, until the time is over."""
    end_s = time.monotonic() + seconds
    kinds = [*KINDS.items(), *KINDS.items()]
    threads = [
        *(
            threading.Thread(target=post, args=(port, kind(f"{name}-{n}"), token, end_s))
            for n, (name, kind) in enumerate(kinds)
        ),
        threading.Thread(target=endless_heads, args=(port, end_s)),
        threading.Thread(target=half_requests, args=(port, end_s)),
    ]
    print("ready", flush=True)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3])
