"""What does a local cluster need to know of the machine it runs on? Java, free ports, and other processes.

Spark's and YARN's local clusters and the command line share it; nothing here imports more than the standard library.
"""

import contextlib
import errno
import ipaddress
import os
import random
import shutil
import signal
import socket
import sys
from functools import lru_cache
from pathlib import Path

LONGEST_TOKEN = 2**16
"""Characters read of a file that should hold a token: it may be a device that never ends."""

LISTENED_ON = range(10_000, 30_000)
"""Ports that are chosen to listen on: below those that Linux, macOS and Windows give to outgoing connections."""

COMPILED_ONCE = "compiled once for each version on a machine, which takes a minute, at most three on a busy one"
"""Tells a user who waits for kernels how long they take."""


class ClusterError(RuntimeError):
    """The local cluster could not be started; the message says what is missing and where the logs are."""


def java_home() -> Path:
    """JAVA_HOME, or the home of the `java` on the PATH.  Raises ClusterError."""
    if home := os.environ.get("JAVA_HOME"):
        if (Path(home) / "bin" / "java").exists():
            return Path(home)
        raise ClusterError(f"JAVA_HOME is {home}, but there is no bin/java in it")
    if java := shutil.which("java"):
        return Path(java).resolve().parent.parent
    raise ClusterError("no Java found: set JAVA_HOME or put java (17 or newer for Spark 4) on the PATH")


def free_port(host: str) -> int:
    """A TCP port that nobody listens on now, and that no outgoing connection can take before it is used.

    Raises OSError if there is none.

    >>> free_port("127.0.0.1") in LISTENED_ON
    True
    """
    for port in random.sample(LISTENED_ON, len(LISTENED_ON)):
        with socket.socket() as probe:
            try:
                probe.bind((host, port))
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
            else:
                return port
    raise OSError(errno.EADDRINUSE, f"no free port on {host}")


def require_port(host: str, port: int) -> None:
    """Raises OSError if nobody could listen on this TCP port now; 0 stands for any."""
    family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(address)


@lru_cache(maxsize=1024)
def is_loopback(host: str) -> bool:
    """Whether a host name or address means this machine.

    >>> is_loopback("127.0.0.2"), is_loopback("localhost"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def operators_socket(host: str, port: int) -> Path:
    """The socket on which the server that listens there serves its own user, below XDG_CACHE_HOME or ~/.cache."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    return home / "grasshopper" / f"{host}:{port}.socket"


def is_listening(path: Path) -> bool:
    """Whether a process listens on a socket in the file system.  Raises OSError if that cannot be known."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(path))
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        except (BlockingIOError, TimeoutError):  # Its queue is full.
            return True
    return True


def remove_socket(path: Path) -> None:
    """Remove what an ended process has left there.  Raises OSError if a process listens on it."""
    if is_listening(path):
        raise OSError(errno.EADDRINUSE, "another server listens on it")
    path.unlink(missing_ok=True)


def child_pids(parent_pid: int) -> list[int]:
    """The direct children of a process, from /proc."""
    children = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # The command name, in parentheses, may hold spaces; state and parent follow it.
            if int(stat.read_text().rpartition(")")[2].split()[1]) == parent_pid:
                children.append(int(stat.parent.name))
    return sorted(children)


def command_line(pid: int) -> str:
    """A process's command line, or nothing if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def leaving_files_in(folder: Path) -> dict[str, str]:
    """The environment of a JVM that leaves its temporary files, and Spark's, in a folder, which is made.

    A killed JVM removes none of them; without this they stay in /tmp. A user's SPARK_LOCAL_DIRS stays.
    """
    folder = folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    options = [os.environ.get("JAVA_TOOL_OPTIONS", ""), f'"-Djava.io.tmpdir={folder}"']
    return {
        "JAVA_TOOL_OPTIONS": " ".join(filter(None, options)),
        "SPARK_LOCAL_DIRS": os.environ.get("SPARK_LOCAL_DIRS", str(folder)),
    }


def exit_on_signals() -> None:
    """Make SIGTERM, and SIGHUP of a terminal that closes, end the program as an exception does.

    Context managers then end what they started; a second such signal does not keep them from it. SIGHUP stays ignored
    under nohup.
    """
    ends = [signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        ends.append(signal.SIGHUP)

    def end(*_: object) -> None:
        for each in ends:
            signal.signal(each, lambda *_: None)
        sys.exit("terminated")

    for each in ends:
        signal.signal(each, end)


def read_token(path: Path) -> str:
    """The token in a file, without the space around it.

    Raises OSError or UnicodeDecodeError if it cannot be read, or does not end within `LONGEST_TOKEN` characters.
    """
    with path.open() as file:
        text = file.read(LONGEST_TOKEN + 1)
    if len(text) > LONGEST_TOKEN:
        raise OSError(errno.EFBIG, "more than a token", str(path))
    return text.strip()


def write_whole(path: Path, text: str) -> None:
    """Write a file, with a line end after the text, so that no reader ever sees a part of it."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.write_text(text + "\n")
    draft.replace(path)
