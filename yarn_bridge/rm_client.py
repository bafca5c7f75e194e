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

import requests

TIMEOUT_S = 5.0
RETRY_HINT = "is it the web address (yarn.resourcemanager.webapp.address, port 8088 by default)?"


class BadRm(RuntimeError):
    """The resource manager did not answer as it should; says which one, at which path, and what it said."""

    def __init__(self, rm_url: str, path: str, what: str, *, status: int | None = None) -> None:
        super().__init__(f"{rm_url}{path}: {what}")
        self.rm_url = rm_url
        self.path = path
        self.status = status
        """The HTTP status; None if there was no answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterInfo:
    """Which resource manager this is."""

    id: int
    version: str
    state: str
    ha_state: str
    started_unix_ms: int
    clock_ahead_s: float
    """The RM's wall clock minus ours, as exact as one second and the round trip allow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """A leaf queue; percents are of the cluster, except `am_share`, which is of the queue."""

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
    am_used_mb: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduler:
    """The scheduler's type as the RM names it (`capacityScheduler`, `fairScheduler`) and its leaf queues."""

    type: str
    queues: tuple[Queue, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """One application that has not ended; containers include the application master's."""

    id: str
    name: str
    user: str
    type: str
    queue: str
    state: str
    priority: int
    age_ms: int
    running_containers: int
    pending_containers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One node manager."""

    id: str
    state: str
    containers: int
    used_mb: int
    available_mb: int


class RmClient:
    """One resource manager, or one of a pair: a standby's redirect is followed.

    With simple authentication `user` is who asks; a site with Kerberos needs a proxy that authenticates.
    """

    def __init__(self, rm_url: str, *, user: str | None = None, timeout_s: float = TIMEOUT_S) -> None:
        self.rm_url = rm_url.rstrip("/")
        self._params = {"user.name": user} if user else {}
        self._timeout_s = timeout_s

    def info(self) -> ClusterInfo:
        """Version, state and clock."""
        path = "/ws/v1/cluster/info"
        asked_s = time.time()
        reply = self._request("GET", path)
        middle_s = (asked_s + time.time()) / 2
        said = self._json(reply, path, "clusterInfo")
        date = reply.headers.get("Date")
        return ClusterInfo(
            id=said["id"],
            version=said["resourceManagerVersion"],
            state=said["state"],
            ha_state=said["haState"],
            started_unix_ms=said["startedOn"],
            clock_ahead_s=parsedate_to_datetime(date).timestamp() + 0.5 - middle_s if date else 0.0,
        )

    def scheduler(self) -> Scheduler:
        """The scheduler and its leaf queues."""
        said = self._get("/ws/v1/cluster/scheduler", "scheduler")["schedulerInfo"]
        return parse_scheduler(said)

    def apps(self, *states: str) -> list[Application]:
        """Applications that are accepted or run, or those in the given states."""
        path = f"/ws/v1/cluster/apps?states={','.join(states or ('ACCEPTED', 'RUNNING'))}"
        return [_application(said) for said in items(self._get(path, "apps"), "app")]

    def nodes(self) -> list[Node]:
        """All nodes that the resource manager knows."""
        return [_node(said) for said in items(self._get("/ws/v1/cluster/nodes", "nodes"), "node")]

    def conf(self, name: str) -> str | None:
        """The value of a key in the RM's configuration (core-site, yarn-site and defaults); None if it has none."""
        path = f"/conf?name={name}&format=json"
        try:
            reply = self._request("GET", path)
        except BadRm as refused:
            if refused.status == 404:
                return None
            raise
        value = self._json(reply, path, "property").get("value")
        return None if value is None else str(value)

    def runtime(self) -> Mapping[str, Any]:
        """The RM's JVM: `ClassPath`, `SpecVersion` and more, as the platform names them."""
        beans = self._get("/jmx?qry=java.lang:type=Runtime", "beans")
        return beans[0] if beans else {}

    def threads(self) -> str:
        """The RM's threads with their stacks, as text."""
        return self._request("GET", "/stacks").text

    def set_priority(self, application: str, priority: int) -> int:
        """Change an application's priority; returns the one that counts."""
        path = f"/ws/v1/cluster/apps/{application}/priority"
        reply = self._request("PUT", path, json={"priority": priority})
        return int(self._json(reply, path, "priority"))

    def _get(self, path: str, key: str) -> Any:
        return self._json(self._request("GET", path), path, key)

    def _request(self, method: str, path: str, **more: Any) -> requests.Response:
        try:
            reply = requests.request(
                method, self.rm_url + path, params=self._params, timeout=self._timeout_s,
                headers={"Accept": "application/json"}, **more,
            )  # fmt: skip
        except requests.Timeout as late:
            raise BadRm(self.rm_url, path, f"no answer within {self._timeout_s:g} s") from late
        except requests.RequestException as failed:
            raise BadRm(self.rm_url, path, f"cannot be reached; {RETRY_HINT}") from failed
        if not reply.ok:
            raise BadRm(self.rm_url, path, f"status {reply.status_code}{_told(reply)}", status=reply.status_code)
        return reply

    def _json(self, reply: requests.Response, path: str, key: str) -> Any:
        try:
            return reply.json()[key]
        except (requests.JSONDecodeError, KeyError, TypeError) as odd:
            raise BadRm(
                self.rm_url, path, f"does not answer like a resource manager; {RETRY_HINT}", status=reply.status_code
            ) from odd


def items(collection: Any, name: str) -> list[Any]:
    """The members of one of the RM's collections, however it says that there are none.

    >>> items(None, "node"), items({}, "node"), items({"node": [1]}, "node")
    ([], [], [1])
    """
    return (collection or {}).get(name) or []


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
            am_limit_mb=queue["AMResourceLimit"]["memory"],
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


def _application(said: Mapping[str, Any]) -> Application:
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
        pending_containers=sum(
            ask["numContainers"] for ask in said.get("resourceRequests") or [] if ask["resourceName"] == "*"
        ),
    )


def _node(said: Mapping[str, Any]) -> Node:
    return Node(
        id=said["id"],
        state=said["state"],
        containers=said["numContainers"],
        used_mb=said["usedMemoryMB"],
        available_mb=said["availMemoryMB"],
    )


def _told(reply: requests.Response) -> str:
    """The RM's own words about a refusal, if it has any."""
    try:
        return f": {reply.json()['RemoteException']['message']}"
    except (requests.JSONDecodeError, KeyError, TypeError):
        return ""
