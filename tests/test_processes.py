"""Does a program that is told to end, end what it has started?"""

import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.unit

PROGRAM = """
import signal, sys, time
from controlplane.processes import exit_on_signals
signal.signal(signal.SIGHUP, signal.SIG_IGN if sys.argv[1] == "nohup" else signal.SIG_DFL)
exit_on_signals()
try:
    print("started", flush=True)
    sys.stdin.readline()
    print("not ended", flush=True)
finally:
    signal.raise_signal(signal.SIGHUP)
    signal.raise_signal(signal.SIGTERM)
    print("cleaned up", flush=True)
"""


@pytest.mark.parametrize(
    ("signum", "way", "said"),
    [
        (signal.SIGTERM, "plain", ["cleaned up"]),
        (signal.SIGHUP, "plain", ["cleaned up"]),
        (signal.SIGHUP, "nohup", ["not ended"]),
    ],
)
def test_a_closed_terminal_leaves_nothing_behind(signum, way, said):
    """A demo's servers and drivers went on without it. A shell and a terminal may each send SIGHUP: one does not
    cut short what the other began. nohup means that the program stays.
    """
    command = [sys.executable, "-c", PROGRAM, way]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "started\n"
        process.send_signal(signum)
        if way == "nohup":
            process.stdin.write("\n")
            process.stdin.flush()
        assert process.stdout.read().splitlines()[: len(said)] == said
        assert process.wait() != 0
