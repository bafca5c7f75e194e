"""What does the control plane know about YARN? The queues it hears from, and the grants in force."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec

from controlplane.rest import RestClient
from controlplane.wire.envelope import SyncReply, SyncRequest

TIMEOUT_S = 5.0
SYNC_PATH = "/shim/v1/sync"
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachedQueue:
    """A leaf queue whose resource manager reports to the control plane."""

    source: str
    """`yarn:CLUSTER:PATH`."""
    mode: str
    last_heard_s: float
    plan_age_s: float | None
    """Seconds since its resource manager last applied a grant; None for never."""

    def is_queue(self, cluster: str, path: str) -> bool:
        """Whether this is the queue of that path in that cluster."""
        return self.source == f"yarn:{cluster}:{path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """How many containers an application should hold, and why; a cap of -1 is none."""

    source: str
    """`yarn:CLUSTER:PATH`."""
    application: str
    target: int
    cap: int
    running: int
    pending: int
    virtual_size: float | None
    driver: str
    """The source by whose jobs it counts; empty if it counts by its containers."""
    why: str


class PlaneClient:
    """One control plane.  Every method may raise RestError."""

    def __init__(self, server: str, *, token: str | None = None, timeout_s: float = TIMEOUT_S) -> None:
        self._rest = RestClient(server, what="Grasshopper server", timeout_s=timeout_s, token=token)

    def version(self) -> str:
        """Its version."""
        return self._rest.get("/api/v1/openapi.json", lambda said: str(said["info"]["version"]))

    def queues(self) -> list[AttachedQueue]:
        """The attached queues."""
        return self._items(
            "/applications",
            lambda said: AttachedQueue(
                source=said["source"],
                mode=said["mode"],
                last_heard_s=said["last_heard_s"],
                plan_age_s=said["plan_age_s"],
            ),
        )

    def grants(self) -> list[Grant]:
        """The grants of all attached queues' applications."""
        return [grant for grant in self._items("/grants", _grant) if grant is not None]

    def sync(self, report: SyncRequest) -> SyncReply:
        """One exchange of the shim protocol."""
        reply = self._rest.call(
            "POST", SYNC_PATH, data=msgspec.json.encode(report), headers={"Content-Type": "application/json"}
        )
        return self._rest.read(reply, SYNC_PATH, lambda said: msgspec.convert(said, SyncReply))

    def _items(self, path: str, parse: Callable[[Any], Item]) -> list[Item]:
        """The items of all pages that are about YARN's queues."""
        found: list[Item] = []
        cursor: str | None = ""
        while cursor is not None:
            after = f"&cursor={quote(cursor, safe='')}" if cursor else ""
            page, cursor = self._rest.get(
                f"/api/v1{path}?limit=1000{after}",
                lambda said: (
                    [parse(item) for item in said["items"] if item["source"].startswith("yarn:")],
                    said["cursor"],
                ),
            )
            found += page
        return found


def _grant(said: Mapping[str, Any]) -> Grant | None:
    """The grant of an application; None for one that its queue does not list yet."""
    queued = said["queued"]
    return queued and Grant(
        source=said["source"],
        application=said["job"],
        target=said["target"],
        cap=said["cap"],
        running=queued["running"],
        pending=queued["pending"],
        virtual_size=said["virtual_size"],
        driver=queued["driver"],
        why=queued["sentence"],
    )
