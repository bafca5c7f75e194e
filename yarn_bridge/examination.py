"""What do a live ResourceManager and the control plane reveal about Grasshopper there?

Everything comes over REST.  What a site does not show to everybody (/conf, /jmx, /stacks) stays unknown.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from controlplane.rest import RestError
from yarn_bridge.install_conf import MONITOR_KEY, POLICIES_KEY, SERVER_KEY
from yarn_bridge.plane_client import AttachedQueue, PlaneClient
from yarn_bridge.rm_client import ClusterInfo, Queue, RmClient, Scheduler

Shown = TypeVar("Shown")

RECOVERY_KEY = "yarn.resourcemanager.recovery.enabled"
PRIORITY_KEY = "yarn.cluster.max-application-priority"
INTRA_QUEUE_KEY = "yarn.resourcemanager.monitor.capacity.preemption.intra-queue-preemption.enabled"
CONF_KEYS = (MONITOR_KEY, POLICIES_KEY, SERVER_KEY, RECOVERY_KEY, PRIORITY_KEY, INTRA_QUEUE_KEY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """Answers of a resource manager and, if one was named, of the control plane; None means not shown to us."""

    cluster: str
    info: ClusterInfo
    scheduler: Scheduler
    conf: Mapping[str, str | None] | None
    class_path: str | None
    threads: str | None
    server: str = ""
    attached: list[AttachedQueue] | None = None
    """The queues that the control plane hears from; None if it was not asked or did not answer."""
    busy: frozenset[str] = frozenset()
    """The sources of queues in which some application holds or asks for containers."""
    plane_fault: str = ""

    @property
    def covered(self) -> list[Queue]:
        """The leaf queues with our policy."""
        return [queue for queue in self.scheduler.queues if "grasshopper" in queue.policy.lower()]

    @property
    def policies(self) -> list[str]:
        """The scheduler monitor's policies; none while it is off."""
        conf = self.conf or {}
        return (conf.get(POLICIES_KEY) or "").split(",") if conf.get(MONITOR_KEY) == "true" else []


def examine(rm: RmClient, plane: PlaneClient | None = None, server: str = "") -> Examined:
    """Read everything.  Raises RestError if the resource manager itself does not answer."""
    attached, busy, fault = None, frozenset[str](), ""
    if plane is not None:
        try:
            attached = plane.queues()
            busy = frozenset(grant.source for grant in plane.grants() if grant.running or grant.pending)
        except RestError as error:
            fault = str(error)
    return Examined(
        cluster=rm.cluster_id(),
        info=rm.info(),
        scheduler=rm.scheduler(),
        conf=_shown(lambda: {key: rm.conf(key) for key in CONF_KEYS}),
        class_path=_shown(rm.class_path),
        threads=_shown(rm.threads),
        server=server,
        attached=attached,
        busy=busy,
        plane_fault=fault,
    )


def _shown(read: Callable[[], Shown]) -> Shown | None:
    """The answer of a site that may refuse it; None if it does."""
    with contextlib.suppress(RestError):
        return read()
    return None
