"""What does a ResourceManager say over REST? Its version, scheduler, queues, applications, nodes; priorities are set.

Hadoop writes the same JSON from 3.3 to 3.5, but an empty collection is null, an empty object or missing, depending on
the version.  No call lasts longer than its deadline, and every error names the resource manager and the path.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from controlplane.rest import Reply, RestClient, RestError

TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterInfo:
    """Which resource manager this is."""

    id: int
    version: str
    state: str
    ha_state: str
    clock_ahead_s: float
    """The RM's wall clock minus ours, as exactly as one second and the round trip allow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """A leaf queue; percents are of the cluster."""

    path: str
    policy: str
    """The ordering policy's own words (CapacityScheduler) or the scheduling policy's name (FairScheduler)."""
    capacity_percent: float
    max_capacity_percent: float
    used_percent: float
    running: int
    """Applications that are active."""
    pending: int
    """Applications that wait to become active."""
    am_limit_mb: int
    """Memory that application masters of one user may hold together."""
    am_used_mb: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduler:
    """The scheduler's type as the RM names it (`capacityScheduler`, `fairScheduler`) and its leaf queues."""

    type: str
    queues: tuple[Queue, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """One application that has not ended; containers include its master's."""

    id: str
    name: str
    user: str
    type: str
    queue: str
    """Its path; Hadoop 3.3's CapacityScheduler gives only the leaf's name."""
    state: str
    priority: int
    age_ms: int
    running_containers: int
    pending_containers: int
    ask_mb: int
    """Memory of the largest container it asks for; 0 if it asks for none."""

    @property
    def held(self) -> int:
        """Containers that it runs besides its master's."""
        return max(0, self.running_containers - 1)

    @property
    def due(self) -> int:
        """Containers that it asks for besides its master's."""
        return self.pending_containers if self.state == "RUNNING" else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One node manager."""

    id: str
    state: str
    containers: int
    used_mb: int
    available_mb: int


class RmClient:
    """One resource manager, or one of a pair: a standby's redirect is followed.  Every method may raise RestError.

    With simple authentication `user` is the caller; a site with Kerberos needs a proxy that authenticates.
    """

    def __init__(self, rm_url: str, *, user: str | None = None, timeout_s: float = TIMEOUT_S) -> None:
        params = {"user.name": user} if user else {}
        self._rest = RestClient(rm_url, what="resource manager", timeout_s=timeout_s, params=params)

    @property
    def rm_url(self) -> str:
        """The web address."""
        return self._rest.server

    def info(self) -> ClusterInfo:
        """Version, state and clock."""
        path = "/ws/v1/cluster/info"
        asked_s = time.time()
        reply = self._rest.call("GET", path)
        middle_s = (asked_s + time.time()) / 2
        return self._rest.read(
            reply, path, lambda said: parse_info(said["clusterInfo"], clock_ahead_s=clock_ahead_s(reply, middle_s))
        )

    def scheduler(self) -> Scheduler:
        """The scheduler and its leaf queues."""
        return self._rest.get(
            "/ws/v1/cluster/scheduler", lambda said: parse_scheduler(said["scheduler"]["schedulerInfo"])
        )

    def apps(self, *states: str) -> list[Application]:
        """Applications that are accepted or run, or those in the given states."""
        path = f"/ws/v1/cluster/apps?states={','.join(states or ('ACCEPTED', 'RUNNING'))}"
        return self._rest.get(path, lambda said: [parse_application(app) for app in items(said["apps"], "app")])

    def nodes(self) -> list[Node]:
        """All nodes that the resource manager knows."""
        return self._rest.get(
            "/ws/v1/cluster/nodes", lambda said: [parse_node(node) for node in items(said["nodes"], "node")]
        )

    def conf(self, name: str) -> str | None:
        """The value of a key in the RM's configuration (core-site, yarn-site and defaults); None if it has none."""
        try:
            return self._rest.get(f"/conf?name={name}", lambda said: said["property"].get("value"))
        except RestError as refused:
            if refused.status == 404:
                return None
            raise

    def cluster_id(self) -> str:
        """The plug-in's name for this cluster; the RM's start if the configuration is not shown to us."""
        try:
            name = self.conf("yarn.resourcemanager.cluster-id") or self.conf("yarn.resourcemanager.address")
        except RestError:
            name = None
        return name or str(self.info().id)

    def class_path(self) -> str:
        """The class path that the RM's JVM was started with."""
        return self._rest.get("/jmx?qry=java.lang:type=Runtime", lambda said: str(said["beans"][0]["ClassPath"]))

    def threads(self) -> str:
        """The RM's threads with their stacks, as text."""
        return self._rest.call("GET", "/stacks").body.decode(errors="replace")

    def set_priority(self, application: str, priority: int) -> int:
        """Change an application's priority; returns the effective one."""
        path = f"/ws/v1/cluster/apps/{application}/priority"
        reply = self._rest.call("PUT", path, json={"priority": priority})
        return self._rest.read(reply, path, lambda said: int(said["priority"]))


def items(collection: Any, name: str) -> list[Any]:
    """The members of one of the RM's collections, however it says that there are none.

    >>> items(None, "node"), items({}, "node"), items({"node": [1]}, "node")
    ([], [], [1])
    """
    return (collection or {}).get(name) or []


def clock_ahead_s(reply: Reply, unix_s: float) -> float:
    """How far a server's clock is ahead of ours, which showed `unix_s`; 0 if the server does not send its time.

    A Date has whole seconds, so on average the clock showed half a second more.

    >>> clock_ahead_s(Reply(status=200, date="Thu, 01 Jan 1970 00:01:40 GMT", body=b""), unix_s=40.5)
    60.0
    """
    return parsedate_to_datetime(reply.date).timestamp() + 0.5 - unix_s if reply.date else 0.0


def parse_info(said: Mapping[str, Any], *, clock_ahead_s: float) -> ClusterInfo:
    """A `clusterInfo`."""
    return ClusterInfo(
        id=said["id"],
        version=said["resourceManagerVersion"],
        state=said["state"],
        ha_state=said["haState"],
        clock_ahead_s=clock_ahead_s,
    )


def parse_scheduler(said: Mapping[str, Any]) -> Scheduler:
    """The scheduler of a `schedulerInfo`."""
    kind = said.get("type", "unknown")
    if kind == "fairScheduler":
        return Scheduler(type=kind, queues=tuple(_fair_leaves(said["rootQueue"])))
    return Scheduler(type=kind, queues=tuple(_capacity_leaves(said, said.get("queueName", "root"))))


def _capacity_leaves(queue: Mapping[str, Any], path: str) -> Iterator[Queue]:
    children = items(queue.get("queues"), "queue")
    for child in children:
        yield from _capacity_leaves(child, f"{path}.{child['queueName']}")
    if not children and "orderingPolicyInfo" in queue:
        yield Queue(
            path=path,
            policy=queue["orderingPolicyInfo"],
            capacity_percent=queue["absoluteCapacity"],
            max_capacity_percent=queue["absoluteMaxCapacity"],
            used_percent=queue["absoluteUsedCapacity"],
            running=queue["numActiveApplications"],
            pending=queue["numPendingApplications"],
            am_limit_mb=min(queue["AMResourceLimit"]["memory"], queue["userAMResourceLimit"]["memory"]),
            am_used_mb=queue["usedAMResource"]["memory"],
        )


def _fair_leaves(queue: Mapping[str, Any]) -> Iterator[Queue]:
    children = items(queue.get("childQueues"), "queue")
    for child in children:
        yield from _fair_leaves(child)
    if not children:
        cluster_mb = queue["clusterResources"]["memory"] or 1
        yield Queue(
            path=queue["queueName"],
            policy=queue["schedulingPolicy"],
            capacity_percent=100 * queue["fairResources"]["memory"] / cluster_mb,
            max_capacity_percent=min(100.0, 100 * queue["maxResources"]["memory"] / cluster_mb),
            used_percent=100 * queue["usedResources"]["memory"] / cluster_mb,
            running=queue.get("numActiveApps", 0),
            pending=queue.get("numPendingApps", 0),
            am_limit_mb=queue["amMaxResources"]["memory"],
            am_used_mb=queue["amUsedResources"]["memory"],
        )


def parse_application(said: Mapping[str, Any]) -> Application:
    """One `app`."""
    asks = [ask for ask in said.get("resourceRequests") or [] if ask["resourceName"] == "*" and ask["numContainers"]]
    return Application(
        id=said["id"],
        name=said["name"],
        user=said["user"],
        type=said["applicationType"],
        queue=said["queue"],
        state=said["state"],
        priority=int(said.get("priority", 0)),
        age_ms=said["elapsedTime"],
        running_containers=max(0, said["runningContainers"]),
        pending_containers=sum(ask["numContainers"] for ask in asks),
        ask_mb=max((ask["capability"]["memory"] for ask in asks), default=0),
    )


def parse_node(said: Mapping[str, Any]) -> Node:
    """One `node`."""
    return Node(
        id=said["id"],
        state=said["state"],
        containers=said["numContainers"],
        used_mb=said["usedMemoryMB"],
        available_mb=said["availMemoryMB"],
    )
