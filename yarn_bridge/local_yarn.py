"""How does one machine become a real YARN? One ResourceManager, and one NodeManager per loopback address.

Every daemon is a process of its own from Apache's published jars, and every node has an address of its own
(127.0.0.11, 127.0.0.12, ...), so applications see as many hosts as there are nodes.  All ports are free ones: several
local YARNs may run at once.

Try it:  python -m yarn_bridge.local_yarn --version 3.5.0
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from controlplane.processes import (
    ClusterError,
    command_line,
    exit_on_signals,
    free_port,
    java_home,
    leaving_files_in,
    write_whole,
)
from controlplane.rest import RestError
from yarn_bridge.hadoop_jars import VERSIONS, hadoop_jars
from yarn_bridge.local_conf import (
    JAVA_OPTIONS,
    NM_SERVICES,
    RM_HOST,
    RM_NAMES,
    RM_SERVICES,
    SHUFFLE,
    Layout,
    Properties,
    capacity_scheduler,
    recovery,
    write_all,
    write_capacity_scheduler,
)
from yarn_bridge.rm_client import RmClient

RM_CLASS = "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager"
NM_CLASS = "org.apache.hadoop.yarn.server.nodemanager.NodeManager"
ADMIN_CLASS = "org.apache.hadoop.yarn.client.cli.RMAdminCLI"
START_S = 90.0
PATIENCE_S = 2.0
ADMIN_S = 60.0
STATE_FILE = "state.json"
EVERYWHERE = "0.0.0.0"  # noqa: S104
"""Where Hadoop's shuffle listens."""


class LocalYarn:
    """A YARN cluster as a context manager; leaving it ends its daemons and every container they started.

    `queues` gives each queue's percent of its parent, `site` extra properties of the resource manager, `capacity`
    extra ones of its capacity-scheduler.xml, `fair` the text of a fair-scheduler.xml, which chooses that scheduler.
    `recover` lets a restarted resource manager find its applications again, `standby` starts a second one that can take
    over. `mapreduce` lets reduces fetch from the nodes, which listen for them on all of the machine's addresses: Hadoop
    has no setting for that. Files and logs go to `folder`, by default a temporary one that is kept only if something
    went wrong.

    Example: `with LocalYarn(version="3.4.3", plugin_jar=jar) as yarn: RmClient(yarn.rm_url).apps()`
    """

    def __init__(
        self,
        *,
        version: str = VERSIONS[0],
        nodes: int = 4,
        memory_per_node_mb: int = 2200,
        vcores_per_node: int = 8,
        queues: Mapping[str, float] | None = None,
        site: Properties | None = None,
        capacity: Properties | None = None,
        fair: str = "",
        plugin_jar: Path | None = None,
        recover: bool = False,
        standby: bool = False,
        mapreduce: bool = False,
        folder: Path | None = None,
    ) -> None:
        self.version = version
        self.hosts = tuple(f"127.0.0.{11 + number}" for number in range(nodes))
        self._queues = queues or {"root.default": 100}
        self._plugin_jar = plugin_jar
        self._java_home = java_home()
        jars = hadoop_jars(version)
        self._folder_is_ours = folder is None
        self.folder = (folder or Path(tempfile.mkdtemp(prefix="grasshopper-yarn-"))).absolute()
        services = (*NM_SERVICES, SHUFFLE) if mapreduce else NM_SERVICES
        self._layout = Layout(
            folder=self.folder,
            jars=jars,
            rm_ports={rm: {name: free_port(RM_HOST) for name in RM_SERVICES} for rm in RM_NAMES[: 2 if standby else 1]},
            nm_ports={
                host: {name: free_port(EVERYWHERE if name == SHUFFLE else host) for name in services}
                for host in self.hosts
            },
        )
        site = (recovery(self._layout) if recover or standby else {}) | dict(site or {})
        write_all(
            self._layout, memory_mb=memory_per_node_mb, vcores=vcores_per_node,
            queues=self._queues, site=site, fair=fair,
        )  # fmt: skip
        self.configure_queues(capacity or {})
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}
        self._active = RM_NAMES[0]

    @property
    def rm_url(self) -> str:
        """The web address of the resource manager that is active."""
        return f"http://{RM_HOST}:{self._layout.rm_ports[self._active]['webapp.address']}"

    @property
    def conf_dir(self) -> Path:
        """The clients' HADOOP_CONF_DIR."""
        return self._layout.conf("client")

    @property
    def jars(self) -> Path:
        """The folder of the Hadoop jars."""
        return self._layout.jars

    def start(self, timeout_s: float = START_S) -> None:
        """Start all daemons; return when all nodes run, or end what was started.  Raises ClusterError."""
        try:
            for rm in self._layout.rm_ports:
                self._start_rm(rm)
            for host in self.hosts:
                self._spawn(host, NM_CLASS, "-Xmx256m", f"{self._layout.conf(host)}:{self.jars}/*")
            if self._standby:
                self._wait(self._is_activated, timeout_s)
            self._wait_ready(timeout_s)
        except BaseException:
            self.stop()
            raise

    def nodes_running(self) -> int:
        """How many nodes the resource manager counts as running; 0 while it does not answer."""
        try:
            return sum(node.state == "RUNNING" for node in RmClient(self.rm_url).nodes())
        except RestError:
            return 0

    def kill_rm(self) -> None:
        """Kill the active resource manager; nodes and containers run on."""
        killed = self._daemons.pop(self._active)
        killed.kill()
        killed.wait()

    def restart_rm(self, timeout_s: float = START_S) -> None:
        """Start a resource manager in place of the old one; returns when all nodes have found it."""
        self.kill_rm()
        self._start_rm(self._active)
        self._wait_ready(timeout_s)

    def fail_over(self, timeout_s: float = START_S) -> None:
        """The active resource manager and its standby change places; returns when all nodes have found the new one."""
        standby = self._standby
        assert standby, "there is one resource manager only"
        self._admin("-transitionToStandby", self._active)
        self._admin("-transitionToActive", standby)
        self._active = standby
        self._wait_ready(timeout_s)

    def configure_queues(self, extra: Properties) -> None:
        """Rewrite capacity-scheduler.xml with extra properties; `refresh_queues` puts them into effect."""
        write_capacity_scheduler(self._layout, capacity_scheduler(self._queues) | dict(extra))

    def refresh_queues(self) -> None:
        """`yarn rmadmin -refreshQueues`.  Raises ClusterError with what the command said."""
        self._admin("-refreshQueues")

    def stop(self) -> None:
        """End nodes, containers and the resource manager, in this order; only what this object started is touched."""
        end_all(self.folder)
        for daemon in self._daemons.values():
            daemon.kill()  # no effect on one that has ended
            daemon.wait()
        self._daemons.clear()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, exception_type: object, *_: object) -> None:
        self.stop()
        if exception_type is None and self._folder_is_ours:
            shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def _standby(self) -> str | None:
        """The resource manager that is not active, if there are two."""
        return next((rm for rm in self._layout.rm_ports if rm != self._active), None)

    def _admin(self, *arguments: str) -> None:
        command = (self._java(), "-cp", f"{self.conf_dir}:{self.jars}/*", ADMIN_CLASS, *arguments)
        ran = subprocess.run(command, capture_output=True, text=True, timeout=ADMIN_S, check=False)
        if ran.returncode:
            raise ClusterError(f"rmadmin {' '.join(arguments)} ended with {ran.returncode}:\n{ran.stderr}")

    def _start_rm(self, rm: str) -> None:
        plugin = f"{self._plugin_jar}:" if self._plugin_jar else ""
        self._spawn(rm, RM_CLASS, "-Xmx768m", f"{self._layout.conf(rm)}:{plugin}{self.jars}/*")

    def _is_activated(self) -> bool:
        """Whether a resource manager that may just have been started is active now."""
        with contextlib.suppress(ClusterError):
            self._admin("-transitionToActive", self._active)
            return True
        return False

    def _wait_ready(self, timeout_s: float) -> None:
        self._wait(lambda: self.nodes_running() >= len(self.hosts), timeout_s)

    def _wait(self, is_there: Callable[[], bool], timeout_s: float) -> None:
        deadline_s = time.monotonic() + timeout_s
        while not is_there():
            ended = [name for name, daemon in self._daemons.items() if daemon.poll() is not None]
            if ended or time.monotonic() > deadline_s:
                what = f"lost {ended}" if ended else f"is not ready after {timeout_s:.0f} s"
                raise ClusterError(f"the local YARN {what}; logs are in {self.folder / 'log'}")
            time.sleep(0.2)

    def _java(self) -> str:
        return str(self._java_home / "bin" / "java")

    def _spawn(self, name: str, main_class: str, memory: str, class_path: str) -> None:
        """Start one daemon apart from the terminal's signals; `stop` or `grasshopper yarn local down` ends it."""
        log_path = self.folder / "log" / f"{name}.log"
        log_path.parent.mkdir(exist_ok=True)
        with log_path.open("ab") as log, undisturbed():
            self._daemons[name] = subprocess.Popen(
                [self._java(), memory, *JAVA_OPTIONS, "-cp", class_path, main_class],
                cwd=self.folder,
                env={**os.environ, **leaving_files_in(self.folder / "tmp" / name), "JAVA_HOME": str(self._java_home)},
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            self._write_state()

    def _write_state(self) -> None:
        """Record what another process needs to end all this, whatever becomes of this one."""
        state = {
            "version": self.version,
            "rm_url": self.rm_url,
            "conf_dir": str(self.conf_dir),
            "pids": {name: daemon.pid for name, daemon in self._daemons.items()},
        }
        write_whole(self.folder / STATE_FILE, json.dumps(state, indent=2))


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Hold back Ctrl-C and other ends meanwhile: between a start and its record they would leave a process behind."""
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():  # which alone runs handlers of signals
        yield
        return
    handlers = {
        signum: signal.signal(signum, lambda number, _: came.append(number))
        for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    try:
        yield
    finally:
        for signum, handler in handlers.items():
            signal.signal(signum, handler)
        for number in came:
            signal.raise_signal(number)


def read_state(folder: Path) -> dict[str, Any] | None:
    """The record of the YARN in `folder`, or None if there is none."""
    try:
        return json.loads((folder / STATE_FILE).read_text())
    except FileNotFoundError:
        return None
    except ValueError as broken:
        raise ClusterError(f"{folder / STATE_FILE} cannot be read: {broken}") from broken


def fresh_folder(folder: Path) -> Path:
    """`folder` without an earlier local YARN's leftovers.  Raises ClusterError if one is up, or if it is not ours."""
    if is_up(folder):
        raise ClusterError(f"a local YARN is already up in {folder}; `grasshopper yarn local down` ends it")
    if folder.exists() and not (folder / "conf" / "rm" / "yarn-site.xml").exists():
        raise ClusterError(f"{folder} holds something else; move it away")
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def is_up(folder: Path) -> bool:
    """Whether any daemon that `folder` names still runs."""
    state = read_state(folder)
    return state is not None and bool(_alive(state["pids"].values(), folder.absolute()))


def end_all(folder: Path) -> None:
    """End the daemons that `folder` names, nodes first, and the containers that they left."""
    folder = folder.absolute()
    state = read_state(folder) or {"pids": {}}
    pids: dict[str, int] = dict(state["pids"])
    rm_pids = [pids.pop(rm) for rm in RM_NAMES if rm in pids]
    end(pids.values(), folder)
    for pid in containers(folder):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    end(rm_pids, folder)
    (folder / STATE_FILE).unlink(missing_ok=True)


def remove_local_files(folder: Path) -> None:
    """Remove what the nodes of `folder` fetched for containers, which is most of what a local YARN leaves."""
    for fetched in folder.glob("127.0.0.*/local"):
        shutil.rmtree(fetched, ignore_errors=True)


def end(
    pids: Iterable[int],
    folder: Path,
    signals: tuple[signal.Signals, ...] = (signal.SIGTERM, signal.SIGKILL),
) -> None:
    """End processes whose command lines name `folder`, each signal with its patience; ended pids are left alone."""
    pids = list(pids)
    for signum in signals:
        deadline_s = time.monotonic() + PATIENCE_S
        for pid in _alive(pids, folder):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signum)
        while _alive(pids, folder) and time.monotonic() < deadline_s:
            time.sleep(0.05)


def _alive(pids: Iterable[int], folder: Path) -> list[int]:
    """The processes that still run and are still the same program: a pid may have been given to another."""
    return [pid for pid in pids if f"{folder}/" in command_line(pid)]


def containers(folder: Path) -> list[int]:
    """Processes that the nodes of `folder` started: YARN gives each container the place of its local files."""
    mark = f"LOCAL_DIRS={folder.absolute()}/".encode()
    found = []
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if any(entry.startswith(mark) for entry in environment.read_bytes().split(b"\0")):
                found.append(int(environment.parent.name))
    return sorted(found)


def main() -> None:
    """Keep a local YARN up until Ctrl-C."""
    parser = argparse.ArgumentParser(description="A real YARN on loopback addresses.")
    parser.add_argument("--version", choices=VERSIONS, default=VERSIONS[0])
    parser.add_argument("--nodes", type=int, default=4)
    chosen = parser.parse_args()
    exit_on_signals()
    yarn = LocalYarn(version=chosen.version, nodes=chosen.nodes)
    with contextlib.suppress(KeyboardInterrupt), yarn:
        print(f"resource manager {yarn.rm_url}   HADOOP_CONF_DIR={yarn.conf_dir}   logs {yarn.folder / 'log'}")
        print("Ctrl-C ends it.")
        signal.pause()


if __name__ == "__main__":
    main()
