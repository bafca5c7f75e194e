"""What may the engine ask of a host? One frozen struct per kind of order, and the claim of a job.

An order is a wish: it changes nothing until a fact confirms it. It carries an id that is never used twice by one
control plane, a time to live counted from the moment the host receives it, and the epoch of what it is about
(`stage_attempt`). Repeating an order is harmless.
"""

from msgspec import Struct

from controlplane.model.facts import Age, Count, Id, Key, Text


class Order(Struct, frozen=True, tag_field="type", omit_defaults=True):
    """Base of all orders; the tag is the field `type`."""

    order: Id
    ttl_ms: Age


class LaunchCopy(Order, frozen=True, tag="launch_copy"):
    """Start one more attempt of a task that is already running."""

    job: Key
    stage: Id
    stage_attempt: Id
    index: Id
    host: Text = ""
    """The host to use, empty for any that `avoid_hosts` leaves."""
    avoid_hosts: list[Key] = []
    """Hosts that it must not start on."""
    before_waiting: bool = False
    """Whether the copy goes before originals that wait for a slot."""
    byte_offset: Count = 0
    """Where to resume; hosts without that capability refuse anything but 0."""


class RunNext(Order, frozen=True, tag="run_next"):
    """A stage's waiting originals go in this order, as far as the host would start them where a slot is free.

    It takes the place of the one before; tasks that run or are done are passed over, others go after those it names.
    """

    stage: Id
    stage_attempt: Id
    indices: list[Id]
    """Task indices, the first first; empty ends what was ordered before."""


class KillAttempt(Order, frozen=True, tag="kill_attempt"):
    """End one attempt; never counted as a failure."""

    attempt: Id
    stage: Id
    stage_attempt: Id
    index: Id
    reason: Text = ""
    """Why, in words."""


class StopJob(Order, frozen=True, tag="stop_job"):
    """End a whole job early; only where its user set `spark.grasshopper.late.job` to `kill`."""

    job: Key
    reason: Text = ""
    """Why, in words."""


class ContainerGrant(Order, frozen=True, tag="container_grant"):
    """How many slots a claimant should hold from here on, until `ttl_ms` has passed."""

    job: Key
    target: Count
    cap: Count | None = None
    """More than this it must not hold, which keeps slots free; none for no cap."""
    originals: Count | None = None
    """More than this its originals must not hold, which keeps slots for copies; none for no such limit."""


class AvoidHosts(Order, frozen=True, tag="avoid_hosts"):
    """Keep originals off these hosts while few wait: there they would end later than by waiting for another host.

    It takes the place of the one before; without hosts it only ends it. It does not end with any job's claim.
    """

    patience_ms: Age
    """A task set that has launched nothing for so long goes anywhere."""
    hosts: list[Key] = []
    """Those to keep off."""
    waves: list[Count] = []
    """One for each host: a job's originals stay off it while fewer than so many times its target wait.

    Those of a job that has no grant yet stay off it in any case: its grant comes with the next exchange.
    """


class CapExecutors(Order, frozen=True, tag="cap_executors"):
    """Hold no more executors than so many: ask for none, start nothing on those beyond it, and let them go when idle.

    It takes the place of the one before. An executor that keeps what others need stays, whatever is ordered.
    """

    executors: Count | None = None
    """None ends it."""


AnyOrder = LaunchCopy | RunNext | KillAttempt | StopJob | ContainerGrant | AvoidHosts | CapExecutors


class Claim(Struct, frozen=True):
    """For this job the control plane speculates, so the host's own speculation rests until the lease ends."""

    job: Key
    lease_ms: Age
    """Milliseconds that the claim holds for, from its arrival."""
