"""Which changes install the plug-in in a ResourceManager, and which remove it again? In the order to make them.

The order matters: a resource manager whose configuration names a class that it cannot load does not start.  So the
jar is added first and removed last.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from urllib.parse import urlsplit
from xml.sax.saxutils import escape

from yarn_bridge.rm_client import RmClient
from yarn_bridge.site_files import property_elements

ORDERING_POLICY = "io.grasshopper.yarn.GrasshopperOrderingPolicy"
EDIT_POLICY = "io.grasshopper.yarn.GrasshopperEditPolicy"
FAIR_POLICY = "io.grasshopper.yarn.GrasshopperFairPolicy"
PREFIX = "yarn.scheduler.grasshopper"
SERVER_KEY = f"{PREFIX}.server"
TOKEN_KEY = f"{PREFIX}.token"
MONITOR_KEY = "yarn.resourcemanager.scheduler.monitor.enable"
POLICIES_KEY = "yarn.resourcemanager.scheduler.monitor.policies"
JAR_NAME = "grasshopper-yarn.jar"
JCEKS = "localjceks://file/etc/hadoop/conf/grasshopper.jceks"
DEFAULT_SERVER = "http://127.0.0.1:7272"


class SchedulerKind(StrEnum):
    """The two schedulers that the plug-in works in."""

    CAPACITY = "capacity"
    FAIR = "fair"


class Base(StrEnum):
    """The stock order that applies without a grant."""

    FIFO = "fifo"
    FAIR = "fair"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One change: what to do, in which file, and what to write there or type."""

    do: str
    file: str = ""
    properties: Mapping[str, object] = field(default_factory=dict)
    xml: str = ""
    commands: tuple[str, ...] = ()


def install(
    queues: tuple[str, ...],
    *,
    kind: SchedulerKind = SchedulerKind.CAPACITY,
    base: Base = Base.FIFO,
    server: str = DEFAULT_SERVER,
    token: bool = False,
    rm_url: str | None = None,
    kept_policies: tuple[str, ...] = (),
) -> list[Step]:
    """The steps that install the plug-in for leaf queues.  Raises ValueError for what cannot be a queue or a server.

    `token` adds how the resource manager learns the server's token.  `kept_policies` are the scheduler monitor's
    policies that the site uses already; the key would replace them.
    """
    check(queues, server)
    credential = Step(
        do="Put the server's token for shims into a file that only the resource manager's user may read; if "
        "a provider is configured already, add it to that one.",
        file="yarn-site.xml",
        properties={"hadoop.security.credential.provider.path": JCEKS},
        commands=(f"hadoop credential create {TOKEN_KEY} -provider {JCEKS}",),
    )
    return [
        Step(
            do="Put the jar on the class path of every resource manager.",
            commands=(f"cp {_shown_jar()} $HADOOP_HOME/share/hadoop/yarn/lib/",),
        ),
        *([credential] if token else []),
        Step(
            do="Let the resource manager talk to Grasshopper.",
            file="yarn-site.xml",
            properties=rm_properties(server, kept_policies),
        ),
        _cover(queues, kind, base),
        Step(
            do="Restart the resource managers, standby first. With recovery on, applications run on.",
            commands=("yarn --daemon stop resourcemanager && yarn --daemon start resourcemanager",),
        ),
        Step(
            do="Check that everything works.",
            commands=(f"grasshopper yarn doctor --rm {rm_url or 'RM_URL'} --server {server}",),
        ),
    ]


def uninstall(
    queues: tuple[str, ...], *, kind: SchedulerKind = SchedulerKind.CAPACITY, kept_policies: tuple[str, ...] = ()
) -> list[Step]:
    """The steps that remove the plug-in: stock order at once, without a restart; configuration before jar.

    `kept_policies` are the scheduler monitor's policies in use; without them the site has to find others itself.
    """
    check(queues, DEFAULT_SERVER)
    others = [policy for policy in kept_policies if policy != EDIT_POLICY]
    keys = f"{POLICIES_KEY} and {MONITOR_KEY}"
    if others:
        monitor = "Set the policies without ours"
    elif kept_policies:
        monitor = f"Remove {keys}"
    else:
        monitor = f"Take {EDIT_POLICY} out of {POLICIES_KEY}, and leave others there; if it is alone, remove {keys}"
    return [
        _uncover(queues, kind),
        Step(
            do=f"{monitor}; remove everything that begins with {PREFIX}.",
            file="yarn-site.xml",
            properties={POLICIES_KEY: ",".join(others)} if others else {},
        ),
        Step(
            do="Restart the resource managers at the next opportunity, standby first.",
            commands=("yarn --daemon stop resourcemanager && yarn --daemon start resourcemanager",),
        ),
        Step(
            do="Only now remove the jar: while the configuration names its classes, no resource manager starts "
            "without it.",
            commands=(f"rm $HADOOP_HOME/share/hadoop/yarn/lib/{JAR_NAME}",),
        ),
    ]


def rm_properties(server: str, kept_policies: tuple[str, ...] = ()) -> dict[str, object]:
    """The properties for yarn-site.xml.

    >>> rm_properties("http://plane:7272")["yarn.resourcemanager.scheduler.monitor.policies"]
    'io.grasshopper.yarn.GrasshopperEditPolicy'
    """
    policies = [policy for policy in kept_policies if policy != EDIT_POLICY]
    return {
        MONITOR_KEY: True,
        POLICIES_KEY: ",".join([*policies, EDIT_POLICY]),
        SERVER_KEY: server,
    }


def queue_properties(queues: tuple[str, ...], base: Base = Base.FIFO) -> dict[str, object]:
    """The properties for capacity-scheduler.xml.

    >>> list(queue_properties(("root.batch",)).values())
    ['io.grasshopper.yarn.GrasshopperOrderingPolicy', 'fifo']
    """
    properties: dict[str, object] = {}
    for queue in queues:
        key = f"yarn.scheduler.capacity.{queue}.ordering-policy"
        properties |= {key: ORDERING_POLICY, f"{key}.base": base.value}
    return properties


def fair_queues(queues: tuple[str, ...], policy: str = FAIR_POLICY) -> str:
    """The queues as written in fair-scheduler.xml, each with its scheduling policy.

    >>> print(fair_queues(("root.prod.etl",), policy="fair"))
    <queue name="prod">
      <queue name="etl">
        <schedulingPolicy>fair</schedulingPolicy>
      </queue>
    </queue>
    """
    lines: list[str] = []
    for queue in queues:
        names = queue.split(".")[1:]
        lines += [f'{"  " * depth}<queue name="{escape(name)}">' for depth, name in enumerate(names)]
        lines.append(f"{'  ' * len(names)}<schedulingPolicy>{policy}</schedulingPolicy>")
        lines += [f"{'  ' * depth}</queue>" for depth in reversed(range(len(names)))]
    return "\n".join(lines)


def policies_in_use(rm: RmClient) -> tuple[str, ...]:
    """The scheduler monitor's policies in a live resource manager; none while it is off.  Raises RestError."""
    if rm.conf(MONITOR_KEY) != "true":
        return ()
    return tuple(policy for policy in (rm.conf(POLICIES_KEY) or "").split(",") if policy)


def check(queues: tuple[str, ...], server: str) -> None:
    """Raises ValueError for what cannot be a leaf queue's path or a server's address."""
    for queue in queues:
        if not queue.startswith("root.") or not all(queue.split(".")):
            raise ValueError(f"queue: got {queue!r}, want a leaf queue's path such as root.default")
    if not queues:
        raise ValueError("queue: got none, want at least one leaf queue's path such as root.default")
    if urlsplit(server).scheme not in ("http", "https") or not urlsplit(server).hostname:
        raise ValueError(f"server: got {server!r}, want an address such as {DEFAULT_SERVER}")


def plugin_jar() -> Path:
    """The plug-in's jar.  Raises FileNotFoundError."""
    return built_jar(JAR_NAME, module="shim-yarn")


def built_jar(name: str, module: str) -> Path:
    """A jar of ours: from the installed package, else from the checkout's build.  Raises FileNotFoundError."""
    package = Path(__file__).parent
    places = (package / "jars" / name, package.parent / "jvm-shim" / module / "target" / name)
    for place in places:
        if place.is_file():
            return place
    raise FileNotFoundError(f"{name} is in none of {[str(place) for place in places]}; `make jars` builds it")


def render(steps: list[Step]) -> str:
    """The steps as text for people."""
    return "\n\n".join(_render(number, step) for number, step in enumerate(steps, start=1))


def _render(number: int, step: Step) -> str:
    lines = [f"{number}. {step.do}"]
    written = [text for text in (property_elements(step.properties), step.xml) if text]
    if step.file:
        lines.append(f"   In {step.file}{':' if written else '.'}")
    lines += written
    lines += [f"   $ {command}" for command in step.commands]
    return "\n".join(lines)


def _cover(queues: tuple[str, ...], kind: SchedulerKind, base: Base) -> Step:
    if kind is SchedulerKind.FAIR:
        return Step(
            do="Choose the policy of each leaf queue. FairScheduler keeps no slots free; it moves running slots only "
            "where preemption is on.",
            file="fair-scheduler.xml",
            xml=fair_queues(queues),
        )
    return Step(
        do="Choose the policy of each leaf queue. A queue that is filled from auto-created leaves needs it in its "
        "leaf-queue-template.",
        file="capacity-scheduler.xml",
        properties=queue_properties(queues, base),
    )


def _uncover(queues: tuple[str, ...], kind: SchedulerKind) -> Step:
    if kind is SchedulerKind.FAIR:
        return Step(
            do="Give the leaf queues their own policy back. FairScheduler reads the file again within ten seconds.",
            file="fair-scheduler.xml",
            xml=fair_queues(queues, policy="fair"),
        )
    return Step(
        do="Give the leaf queues their stock order back (or fair, if that is what they had), also in templates, and "
        "remove the sub-keys of ordering-policy. It takes effect with the refresh.",
        file="capacity-scheduler.xml",
        properties={f"yarn.scheduler.capacity.{queue}.ordering-policy": "fifo" for queue in queues},
        commands=("yarn rmadmin -refreshQueues",),
    )


def _shown_jar() -> str:
    """The jar's path, or its name if it has not been built."""
    try:
        return str(plugin_jar())
    except FileNotFoundError:
        return JAR_NAME
