"""How does a queue reach the control plane where no jar may be added? We read it over the ResourceManager's REST.

One source per leaf queue, as the plug-in has it: a whole snapshot of the queue goes up, the grants in force come back.
The control plane must be in control mode to give any.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any, get_args

from controlplane.model.facts import (
    Age,
    AnyFact,
    Capabilities,
    DriverAttached,
    OrderOutcome,
    OrderResult,
    QueueDemand,
    Slots,
)
from controlplane.model.facts import QueuedApplication as Queued
from controlplane.model.orders import ContainerGrant
from controlplane.rest import RestError
from controlplane.wire.envelope import PROTOCOL, Source, SyncRequest
from yarn_bridge.plane_client import PlaneClient
from yarn_bridge.rm_client import Application, Node, Queue, RmClient

MIB = 1 << 20
LONGEST_TEXT = 1024
"""The protocol's limit; names are user input, and one of them must not cost the whole report."""


class RestSources:
    """All leaf queues of one resource manager; `targets` is one exchange for each of them."""

    def __init__(self, rm: RmClient, plane: PlaneClient, clock: Callable[[], float] = time.monotonic) -> None:
        self._rm = rm
        self._plane = plane
        self._clock = clock
        self._epoch = time.time_ns() // 1_000_000
        self._sequence = 0
        self._granted: dict[str, tuple[int, float]] = {}
        """(target, when it expires) by application."""
        self._outcomes: dict[str, list[OrderOutcome]] = {}

    def targets(self) -> tuple[dict[str, int], list[RestError]]:
        """Containers without the master's, by application, for grants in force; and what failed in this round.

        A failure takes no grant away: grants end with their own time.  Raises RestError if no queue has an answer and
        no grant is in force.
        """
        try:
            failures = self._report()
        except RestError as unanswered:
            if not self._in_force():
                raise
            failures = [unanswered]
        return self._in_force(), failures

    def _report(self) -> list[RestError]:
        """One exchange for each queue; returns those that failed.  Raises RestError if none has an answer."""
        cluster, version, queues = self._rm.cluster_id(), self._rm.info().version, self._rm.scheduler().queues
        applications, nodes = self._rm.apps(), self._rm.nodes()
        self._sequence, failures = self._sequence + 1, []
        for queue in queues:
            inside = [each for each in applications if each.queue in (queue.path, queue.path.rpartition(".")[2])]
            try:
                self._exchange(f"{cluster}:{queue.path}", version, demand(queue, inside, nodes))
            except RestError as error:
                failures.append(error)
        if failures and len(failures) == len(queues):
            raise failures[0]
        return failures

    def _in_force(self) -> dict[str, int]:
        """The targets whose time has not ended; the others are forgotten."""
        now_s = self._clock()
        self._granted = {id: grant for id, grant in self._granted.items() if grant[1] > now_s}
        return {id: target for id, (target, _) in self._granted.items()}

    def _exchange(self, id: str, version: str, snapshot: QueueDemand) -> None:
        attached = DriverAttached(application=id, host_version=version, capabilities=Capabilities(order_pending=True))
        facts: list[AnyFact] = [attached, snapshot, *self._outcomes.get(id, [])]
        reply = self._plane.sync(
            SyncRequest(
                protocol=PROTOCOL,
                source=Source("yarn", id, self._epoch),
                sequence=self._sequence,
                full=True,
                facts=facts,
            )
        )
        self._outcomes[id] = []
        for order in reply.orders:
            if isinstance(order, ContainerGrant):
                self._granted[order.job] = (order.target, self._clock() + order.ttl_ms / 1000)
                applied = OrderOutcome(order=order.order, result=OrderResult.APPLIED)
                self._outcomes[id].append(applied)


def demand(queue: Queue, applications: Iterable[Application], nodes: Iterable[Node]) -> QueueDemand:
    """A queue's demand.  Its slots are the containers it holds and those that nodes and queue have room for."""
    applications = list(applications)
    ask_mb = max((each.ask_mb for each in applications if each.due), default=0)
    held = sum(each.held for each in applications)
    return QueueDemand(
        slots=within(Slots, held + free_slots(queue, nodes, ask_mb=ask_mb)),
        applications=[
            Queued(
                job=each.id,
                running=each.held,
                pending=each.due,
                name=each.name[:LONGEST_TEXT],
                user=each.user[:LONGEST_TEXT],
                kind=each.type[:LONGEST_TEXT],
                memory_bytes=each.ask_mb * MIB if each.due else -1,
                age_ms=within(Age, each.age_ms),
            )
            for each in applications
        ],
    )


def within(kind: Any, number: int) -> int:
    """The nearest number that the protocol's type allows: one that it refuses would cost the whole report.

    >>> within(Age, -5), within(Slots, 2_000_000), within(Slots, 3)
    (0, 1000000, 3)
    """
    _, bounds = get_args(kind)
    return min(max(number, bounds.ge), bounds.le)


def free_slots(queue: Queue, nodes: Iterable[Node], *, ask_mb: int) -> int:
    """How many more containers of `ask_mb` a queue may start, by memory alone."""
    if ask_mb <= 0:
        return 0
    nodes = [node for node in nodes if node.state == "RUNNING"]
    cluster_mb = sum(node.used_mb + node.available_mb for node in nodes)
    headroom_mb = cluster_mb * max(0.0, queue.max_capacity_percent - queue.used_percent) / 100
    return min(int(headroom_mb // ask_mb), sum(max(0, node.available_mb) // ask_mb for node in nodes))
