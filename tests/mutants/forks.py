"""How does pytest start at once? A process that has loaded all that no change touches forks for each run.

`python -P tests/mutants/forks.py MODULE...` loads these modules, reads a `Request` from each line of its input, and
answers each with a line: the exit code of pytest, or the signal that ended it as a negative number.
"""

import contextlib
import importlib
import json
import os
import resource
import signal
import sys
from typing import NoReturn, TypedDict

import pytest


class Request(TypedDict):
    """One run of pytest, in the folder that the process was started in."""

    arguments: list[str]
    output: str
    """The file for its output."""
    cpu_s: int
    """Processor time, at the most."""
    wall_s: int
    memory_bytes: int
    """Address space, at the most."""


def serve(modules: list[str]) -> None:
    """Answer until the input ends."""
    with os.fdopen(os.dup(sys.stdout.fileno()), "w") as answers:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        for name in modules:
            with contextlib.suppress(Exception):
                importlib.import_module(name)
        for line in sys.stdin:
            child = os.fork()
            if not child:
                run(json.loads(line))
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), file=answers, flush=True)


def run(request: Request) -> NoReturn:
    """Be that run."""
    output = os.open(request["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(output, stream.fileno())
    os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())
    resource.setrlimit(resource.RLIMIT_CPU, (request["cpu_s"], request["cpu_s"]))
    resource.setrlimit(resource.RLIMIT_AS, (request["memory_bytes"], request["memory_bytes"]))
    signal.alarm(request["wall_s"])
    code = pytest.ExitCode.INTERNAL_ERROR
    try:
        code = pytest.main(request["arguments"])
        sys.stdout.flush()
    finally:
        os._exit(code)


if __name__ == "__main__":
    serve(sys.argv[1:])
