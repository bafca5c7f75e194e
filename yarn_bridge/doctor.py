"""Is a live ResourceManager ready for Grasshopper, and does the plug-in work in it? Findings, each with its fix.

Every check is a function from the examination to findings; only an error makes the doctor fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from controlplane.findings import ERROR, NOTE, OK, WARNING, Finding, worst_first
from yarn_bridge.examination import INTRA_QUEUE_KEY, PRIORITY_KEY, RECOVERY_KEY, Examined
from yarn_bridge.install_conf import EDIT_POLICY, JAR_NAME, MONITOR_KEY, POLICIES_KEY, SERVER_KEY
from yarn_bridge.plane_client import AttachedQueue
from yarn_bridge.rm_client import Queue

TRIED_VERSIONS = ((3, 3), (3, 4), (3, 5))
ASYNCHRONOUS_SINCE = (3, 5)
"""From this version on the CapacityScheduler schedules asynchronously by default."""
CLOCK_LIMIT_S = 5.0
PLAN_LIMIT_S = 5.0
"""The plug-in asks twice a second, and by default no grant lives longer: an older plan is no longer in force."""


def diagnose(seen: Examined) -> list[Finding]:
    """All findings, worst first, otherwise in the order of the checks."""
    return worst_first(finding for check in CHECKS for finding in check(seen))


def _version(seen: Examined) -> Iterator[Finding]:
    version = seen.info.version
    if _major_minor(version) in TRIED_VERSIONS:
        yield Finding(OK, "version", f"Hadoop {version}")
    else:
        tried = ", ".join(f"{major}.{minor}" for major, minor in TRIED_VERSIONS)
        message = f"Hadoop {version}; the plug-in was tried on {tried}"
        yield Finding(WARNING, "version", message, "try it on a test cluster of this version first")


def _state(seen: Examined) -> Iterator[Finding]:
    if (seen.info.state, seen.info.ha_state) != ("STARTED", "ACTIVE"):
        yield Finding(
            ERROR, "state", f"the resource manager is {seen.info.state} and {seen.info.ha_state}",
            "ask the active one"
        )  # fmt: skip


def _scheduler(seen: Examined) -> Iterator[Finding]:
    kind = seen.scheduler.type
    if kind == "capacityScheduler":
        yield Finding(OK, "scheduler", _scheduling_mode(seen))
    elif kind == "fairScheduler":
        yield Finding(
            NOTE, "scheduler",
            "FairScheduler: targets become shares; no slots can be kept free, no priorities can be driven",
            "turn on yarn.scheduler.fair.preemption if running slots should move"
        )  # fmt: skip
    else:
        yield Finding(
            ERROR, "scheduler", f"{kind} has no place for the plug-in",
            "use the CapacityScheduler, or the FairScheduler"
        )  # fmt: skip


def _scheduling_mode(seen: Examined) -> str:
    """Whether nodes' heartbeats or threads assign containers; as seen, else the version's default."""
    if seen.threads is None:
        mode = "asynchronous" if _major_minor(seen.info.version) >= ASYNCHRONOUS_SINCE else "synchronous"
        return f"CapacityScheduler, {mode} unless configured otherwise"
    mode = "asynchronous" if "AsyncScheduleThread" in seen.threads else "synchronous"
    return f"CapacityScheduler, {mode}"


def _plugin(seen: Examined) -> Iterator[Finding]:
    if seen.conf is None:
        yield _unknown("plug-in", "/conf")
        return
    configured = EDIT_POLICY in seen.policies
    if not configured and not seen.covered:
        yield Finding(
            WARNING, "plug-in",
            "not installed" + (f", though {JAR_NAME} is on the class path" if _has_jar(seen) else ""),
            "`grasshopper yarn install-conf` prints the changes"
        )  # fmt: skip
    elif not configured:
        yield Finding(
            ERROR, "plug-in",
            f"queues name our policy, but {EDIT_POLICY} is not among the monitor's: no plan ever comes",
            f"set {MONITOR_KEY} and {POLICIES_KEY} and restart the resource manager"
        )  # fmt: skip
    elif seen.threads is not None and "SchedulingMonitor (Grasshopper" not in seen.threads:
        yield Finding(
            ERROR, "plug-in", "configured, but its thread does not run",
            f"look for grasshopper in the RM's log; is {JAR_NAME} on every resource manager, and was it restarted?"
        )  # fmt: skip
    else:
        yield Finding(OK, "plug-in", "installed")
    if configured and not seen.conf[SERVER_KEY]:
        yield Finding(ERROR, "plug-in", "it does not know a server", f"set {SERVER_KEY}")


def _coverage(seen: Examined) -> Iterator[Finding]:
    if not seen.covered:
        if EDIT_POLICY in seen.policies:
            yield Finding(
                WARNING, "queues", "the plug-in runs, but no leaf queue uses its policy",
                "name the queues: `grasshopper yarn install-conf --queue root.default`"
            )  # fmt: skip
        return
    yield Finding(OK, "queues", f"covered: {_paths(seen.covered)}")
    others = [queue for queue in seen.scheduler.queues if queue not in seen.covered]
    greedy = [queue for queue in others if queue.max_capacity_percent > queue.capacity_percent]
    if others:
        yield Finding(
            WARNING, "queues",
            f"not covered: {_paths(others)}; a driver whose id no queue lists may be theirs, so it is believed",
            "cover them too, so that only ids that the resource manager gave get orders"
        )  # fmt: skip
    if greedy:
        yield Finding(
            WARNING, "queues", f"allowed to take slots that covered queues keep free: {_paths(greedy)}",
            "cover them too, or lower their maximum-capacity to their capacity"
        )  # fmt: skip


def _am_share(seen: Examined) -> Iterator[Finding]:
    for queue in seen.scheduler.queues:
        if queue.pending:
            yield Finding(
                WARNING, "AM share",
                f"{queue.path}: {queue.pending} applications wait to become active; application masters hold "
                f"{queue.am_used_mb} of the {queue.am_limit_mb} MB that one user's may",
                "raise yarn.scheduler.capacity.maximum-am-resource-percent: no order helps an inactive application"
            )  # fmt: skip


def _clock(seen: Examined) -> Iterator[Finding]:
    ahead_s = seen.info.clock_ahead_s
    if abs(ahead_s) > CLOCK_LIMIT_S:
        yield Finding(
            WARNING, "clock",
            f"the RM's clock is {abs(ahead_s):.0f} s {'ahead of' if ahead_s > 0 else 'behind'} this machine's; "
            "orders do not depend on it, but logs will not line up", "synchronise the clocks"
        )  # fmt: skip


def _preemption(seen: Examined) -> Iterator[Finding]:
    if seen.conf and seen.covered and seen.conf[INTRA_QUEUE_KEY] == "true":
        yield Finding(
            WARNING, "preemption",
            "intra-queue preemption is on; it follows priorities or user limits and may undo what targets do",
            f"turn {INTRA_QUEUE_KEY} off for covered queues"
        )  # fmt: skip


def _recovery(seen: Examined) -> Iterator[Finding]:
    if seen.conf and seen.conf[RECOVERY_KEY] != "true":
        yield Finding(
            WARNING, "recovery",
            "off: restarting the resource manager, which installation requires, ends every application",
            f"set {RECOVERY_KEY}, or restart when nothing runs"
        )  # fmt: skip


def _priorities(seen: Examined) -> Iterator[Finding]:
    if seen.conf and not seen.covered and int(seen.conf[PRIORITY_KEY] or 0) <= 0:
        yield Finding(
            NOTE, "priorities",
            "applications have no priorities, so `grasshopper yarn drive-priorities` cannot work without the jar",
            f"set {PRIORITY_KEY} to 2 or more"
        )  # fmt: skip


def _plane(seen: Examined) -> Iterator[Finding]:
    if seen.plane_fault:
        yield Finding(
            ERROR, "server", f"{seen.plane_fault}; without it queues keep their stock order",
            "start `grasshopper serve`, or name the right --server"
        )  # fmt: skip
    if seen.attached is None:
        return
    configured = (seen.conf or {}).get(SERVER_KEY)
    if configured and configured.rstrip("/") != seen.server.rstrip("/"):
        yield Finding(
            NOTE, "server", f"the resource manager reports to {configured}, not here",
            f"name that one by --server, or set {SERVER_KEY} and restart the resource manager"
        )  # fmt: skip
    for queue in seen.covered:
        attached = next((each for each in seen.attached if each.is_queue(seen.cluster, queue.path)), None)
        yield _plan(queue, attached, seen.busy)


def _plan(queue: Queue, attached: AttachedQueue | None, busy: frozenset[str]) -> Finding:
    """Age of a covered queue's last report and plan; without asks, or in shadow mode, it needs no plan."""
    if attached is None:
        return Finding(
            ERROR, "plan", f"the control plane has never heard from {queue.path}",
            "look for grasshopper in the RM's log: address, token, firewall"
        )  # fmt: skip
    message = f"{queue.path}: last heard {attached.last_heard_s:.1f} s ago, mode {attached.mode}"
    if attached.last_heard_s > PLAN_LIMIT_S:
        return Finding(
            ERROR, "plan", f"{message}; its plan has expired and stock order applies",
            "is the resource manager up, and can it reach the server?"
        )  # fmt: skip
    if attached.mode != "control" or attached.source not in busy:
        return Finding(OK, "plan", message)
    if attached.plan_age_s is None or attached.plan_age_s > PLAN_LIMIT_S:
        since = "never" if attached.plan_age_s is None else f"last {attached.plan_age_s:.0f} s ago"
        return Finding(
            ERROR, "plan", f"{message}; a grant was applied {since}, and stock order applies",
            "look for grasshopper in the RM's log; engine.grant_ttl_ms of the server may be at most twice plan-ttl-ms"
        )  # fmt: skip
    return Finding(OK, "plan", f"{message}, newest grant {attached.plan_age_s:.1f} s old")


CHECKS: tuple[Callable[[Examined], Iterator[Finding]], ...] = (
    _version, _state, _scheduler, _plugin, _coverage, _plane, _preemption, _am_share, _recovery, _clock, _priorities,
)  # fmt: skip


def _major_minor(version: str) -> tuple[int, ...]:
    """The first two numbers of a version.

    >>> _major_minor("3.5.0"), _major_minor("3.1.1.7.2.16.0-287")
    ((3, 5), (3, 1))
    """
    return tuple(int(part) for part in version.split(".")[:2])


def _has_jar(seen: Examined) -> bool:
    return JAR_NAME in (seen.class_path or "")


def _unknown(check: str, path: str) -> Finding:
    return Finding(
        NOTE, check, f"unknown: the resource manager does not show {path} to us",
        "ask from a host or as a user that may see it"
    )  # fmt: skip


def _paths(queues: list[Queue]) -> str:
    return ", ".join(queue.path for queue in queues)
