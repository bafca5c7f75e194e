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
    """Hosts on which it must not start."""
    before_waiting: bool = False
    """Whether the copy goes before originals that wait for a slot."""
    byte_offset: Count = 0
    """Where to resume; hosts without that capability refuse anything but 0."""


class RunNext(Order, frozen=True, tag="run_next"):
    """A stage's waiting originals go in this order, if the host would start them on the free slot at all.

    It replaces the previous one; tasks that run or are done are skipped, others follow those it names.
    """

    stage: Id
    stage_attempt: Id
    indices: list[Id]
    """Task indices in starting order; empty ends the previous order."""


class KillAttempt(Order, frozen=True, tag="kill_attempt"):
    """End one attempt; never counted as a failure."""

    attempt: Id
    stage: Id
    stage_attempt: Id
    index: Id
    reason: Text = ""
    """Why, in words."""


class StopJob(Order, frozen=True, tag="stop_job"):
    """End a whole job early; only if its user set `spark.grasshopper.late.job` to `kill`."""

    job: Key
    reason: Text = ""
    """Why, in words."""


class ContainerGrant(Order, frozen=True, tag="container_grant"):
    """How many slots a claimant should hold from now on, until `ttl_ms` has passed."""

    job: Key
    target: Count
    cap: Count | None = None
    """Most slots that it may hold, which keeps others free; none for no cap."""
    originals: Count | None = None
    """Most slots that its originals may hold, which keeps others for copies; none for no such limit."""
    precedence: float = 0.0
    """Claimants below their targets take a free slot first; of two that are, or are not, the one of lower precedence;
    of equal ones, who holds less of its target, or for its weight."""


class AvoidHosts(Order, frozen=True, tag="avoid_hosts"):
    """Keep originals off these hosts while few wait: there they would end later than by waiting for another host.

    It replaces the previous one; without hosts it only ends that. It does not end with any job's claim.
    """

    patience_ms: Age
    """A task set that has launched nothing for this long goes anywhere."""
    hosts: list[Key] = []
    """The hosts to avoid."""
    waves: list[Count] = []
    """One number per host: a job's originals stay off it while fewer than this many times its target wait.

    Originals of a job without a grant stay off it in any case: its grant comes with the next exchange.
    """


class CapExecutors(Order, frozen=True, tag="cap_executors"):
    """Hold no more executors than this: ask for none, start nothing on those beyond it, and release them when idle.

    It replaces the previous one. An executor that keeps what others need stays, whatever is ordered.
    """

    executors: Count | None = None
    """None ends it."""


AnyOrder = LaunchCopy | RunNext | KillAttempt | StopJob | ContainerGrant | AvoidHosts | CapExecutors


class Claim(Struct, frozen=True):
    """The control plane speculates for this job, so the host's own speculation is paused until the lease ends."""

    job: Key
    lease_ms: Age
    """Milliseconds for which the claim holds, from its arrival."""
