"""Which policies are there, and where does each run? docs/policies/README.md, from the rows and the kinds of hosts."""

from collections.abc import Callable

from controlplane.hosts import KINDS, kind
from controlplane.policies.registry import FORESEEING, PLANS, TABLE
from controlplane.policies.row import Kind, Row
from controlplane.simulator.cluster.scenario import ROWS
from tests.docs.markdown import DOCS, NOTE, table

PAGES = DOCS / "policies"
INDEX = PAGES / "README.md"


def _acts_on(host: kind.Kind) -> Callable[[Row], bool]:
    """Whether a policy acts on such hosts: a leaf queue reports no tasks, so there is nothing to copy in one."""
    return lambda row: row in TABLE and row.needs <= host.offers and (row.kind is Kind.ALLOCATOR or not host.is_queue)


WORLDS: dict[str, Callable[[Row], bool]] = {
    **{f"live: `{name}` {'queues' if host.is_queue else 'drivers'}": _acts_on(host) for name, host in KINDS.items()},
    "cluster simulator": lambda row: row in ROWS,
    "master-worker simulator": lambda row: row.name in PLANS,
}
"""Whether a policy runs there, by column."""


def policies() -> str:
    """docs/policies/README.md: each policy with its kind, its source, and where it runs."""
    rows = [
        (
            f"[{row.name}]({row.name}.md)",
            row.kind.replace("_", " "),
            row.source,
            row.about,
            *("yes" if runs(row) else "" for runs in WORLDS.values()),
        )
        for row in (*TABLE, *FORESEEING)
    ]
    return f"""# Policies

An allocator divides the slots of a pool among its jobs. A speculator says which running tasks get another attempt. A
pair of them, such as `hopper+ras`, decides together. The [settings](../settings.md) of each are listed;
[contributing](../../CONTRIBUTING.md#recipes) says how to add one.

A leaf queue reports applications and none of their tasks, so only allocators act there; speculators act in those of its
applications whose drivers have the shim. MapReduce starts tasks in its own order, and cannot end an attempt without
starting another one, so neither allocators nor `relaunch` act there. A policy's needs of a host are listed with its
settings. The simulators are those of `grasshopper simulate`.

{NOTE}
{table("policy", "kind", "source", "what it does", *WORLDS, rows=rows)}
## Pages about several

{chr(10).join(f"- [{name}]({name}.md): {about}." for name, about in _others().items())}
"""


def _others() -> dict[str, str]:
    """Headings of those pages that are no single policy's."""
    of_policies = {row.name for row in (*TABLE, *FORESEEING)}
    pages = sorted(page for page in PAGES.glob("*.md") if page != INDEX and page.stem not in of_policies)
    return {page.stem: page.read_text().partition("\n")[0].partition(": ")[2] for page in pages}
