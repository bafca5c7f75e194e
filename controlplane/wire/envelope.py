"""What does one exchange of `POST /shim/v1/sync` carry, and what `POST /shim/v1/doorbell`?

One round trip: facts up, orders down. The same (source, epoch, sequence) twice is harmless: the second gets the
first one's reply. A gap in the sequence, or a control plane that has not seen this source, answers `want_full`.
A source that gives up on a reply and reports in full leaves out a number: that reply's orders are then sent again.

An order that no fact of its source has caused waits for the source's next exchange. The doorbell is a request that
stays open until such orders wait, or until the time that the source has named is over. It carries no orders: a source
that hears it ring exchanges at once. So whatever becomes of it, orders travel as they do without it.
"""

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from controlplane.hosts import KINDS
from controlplane.model.facts import AnyFact, Count, Id, Key, Mode, Progress
from controlplane.model.orders import AnyOrder, Claim

PROTOCOL = 1


class Source(Struct, frozen=True):
    """The sender. `epoch` grows with every restart of the same id (the driver's start in milliseconds)."""

    kind: Annotated[str, Meta(pattern=rf"^({'|'.join(KINDS)})$(?!\n)")]
    id: Key
    epoch: Id


class SyncRequest(Struct, frozen=True, omit_defaults=True):
    """Facts since the last acknowledged exchange; `full` says that they are complete."""

    protocol: Count
    source: Source
    sequence: Id
    full: bool = False
    dropped_events: Count = 0
    """Facts that the shim's bounded queue has dropped since it attached."""
    facts: list[AnyFact] = []
    progress: Progress = Progress()


class SyncReply(Struct, frozen=True, omit_defaults=True):
    """Orders for the source that asked, and when it should ask again."""

    protocol: Count
    """Version of the protocol."""
    plane_epoch: Id
    """Start of this control plane; a change means that it has forgotten running work."""
    acknowledged: Id
    """Sequence number of the exchange that this answers."""
    cycle: Id
    """Number of the decision cycle that saw these facts; a claim counts only while this number grows."""
    next_interval_ms: Count
    """Milliseconds after which the source should exchange again."""
    mode: Mode
    want_full: bool = False
    """Whether the next request should be a full report."""
    orders: list[AnyOrder] = []
    """Orders for the host."""
    claims: list[Claim] = []
    """Jobs for which the control plane speculates."""


class DoorbellRequest(Struct, frozen=True):
    """Answer when orders wait, or after `wait_ms` at the latest. The source must have exchanged before."""

    protocol: Count
    source: Source
    wait_ms: Annotated[int, Meta(ge=0, le=60_000)]


class DoorbellReply(Struct, frozen=True):
    """How many orders wait for the source's next exchange; 0 if the time was over, or the source asked again."""

    protocol: Count
    """Version of the protocol."""
    orders_waiting: Count
    """Orders that wait for the next exchange."""


decode_request = msgspec.json.Decoder(SyncRequest).decode
decode_doorbell = msgspec.json.Decoder(DoorbellRequest).decode
encode_reply = msgspec.json.Encoder().encode
