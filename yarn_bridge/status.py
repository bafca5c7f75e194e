"""What happens in a YARN at this moment? Queues and applications, with the control plane's grants if it has any."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from yarn_bridge.plane_client import AttachedQueue, Grant, PlaneClient
from yarn_bridge.rm_client import Application, Queue, RmClient


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """One look at a resource manager; without a control plane there are no modes and no grants."""

    cluster: str
    queues: tuple[Queue, ...]
    applications: list[Application]
    attached: list[AttachedQueue]
    grants: list[Grant]

    def mode(self, queue: Queue) -> str | None:
        """The mode of a queue that the control plane hears from; None if it does not."""
        return next((each.mode for each in self.attached if each.is_queue(self.cluster, queue.path)), None)

    def grant(self, application: Application) -> Grant | None:
        """The application's grant, if it has one; another cluster may have an application of the same id."""
        of_cluster = f"yarn:{self.cluster}:"
        return next(
            (each for each in self.grants if each.application == application.id and each.source.startswith(of_cluster)),
            None,
        )


def look(rm: RmClient, plane: PlaneClient | None = None) -> Status:
    """Ask both.  Raises RestError."""
    return Status(
        cluster=rm.cluster_id(),
        queues=rm.scheduler().queues,
        applications=sorted(rm.apps(), key=lambda application: (application.queue, application.id)),
        attached=plane.queues() if plane else [],
        grants=plane.grants() if plane else [],
    )


def document(status: Status) -> dict[str, Any]:
    """The same for programs: every queue with its mode, every application with its grant.

    The resource manager counts masters' containers; `held` and `due`, like grants, do not.
    """
    return {
        "queues": [asdict(queue) | {"mode": status.mode(queue)} for queue in status.queues],
        "applications": [
            asdict(application)
            | {"held": application.held, "due": application.due}
            | {"grant": asdict(grant) if (grant := status.grant(application)) else None}
            for application in status.applications
        ],
    }
