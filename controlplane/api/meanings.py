"""What does each field of an answer mean? Its meaning is the string below it in its struct, else the usual one.

The OpenAPI document and the snapshot's page are made from these texts.
"""

import ast
import inspect
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from typing import Any, get_args, get_origin, get_type_hints

from msgspec import Struct

ALWAYS = {
    "action": "The action that was decided on, in one word.",
    "age_s": "Seconds since it began: since it was submitted or added, or since it asked.",
    "application": "The host's id of the application; for a leaf queue, its cluster's and its own name.",
    "at_unix_ms": "When, by the wall clock: milliseconds since 1970.",
    "attempt": "Id of the attempt, which its source never uses twice; -1 for none.",
    "attempt_number": "Number of the attempt in its task, as the host counts them, from 0.",
    "bytes_read": "Bytes that it has read so far; 0 where unknown.",
    "bytes_written": "Bytes that it has written so far; 0 where unknown.",
    "cap": "Slots that the job may hold at most; -1, or null in an order, for no cap.",
    "capabilities": "The orders that the source's host can carry out.",
    "copies_launched": "Copies of its tasks that have started so far.",
    "copies_lost": "Copies of its tasks that have ended without being the first to succeed.",
    "copies_won": "Copies of its tasks that were the first to succeed.",
    "copy_limit": "Copies that may run at once.",
    "cores": "CPU cores of each slot or container asked for.",
    "cycle": "Number of the decision cycle, counted since the control plane started.",
    "deadline_s": "Seconds left to its deadline, negative once it has passed; null for a job without one.",
    "decisions": "Decisions about it, newest first.",
    "elapsed_s": "Seconds since it was launched.",
    "epoch": "The source's own start, in milliseconds since 1970; it grows with every restart.",
    "error_bound": "Share of its input tasks that may stay undone; 0 for an exact job.",
    "executor": "The host's id of the executor.",
    "executors": "Executors that it has now.",
    "host": "Name of the machine; empty if it is about none.",
    "host_version": "Version of Spark or Hadoop.",
    "index": "Number of the task in its stage, from 0; -1 for none.",
    "inputs": "The numbers in the sentence, by name; null where one is not known.",
    "job": "Id of the job in its source: SQL execution, else job group, else Spark job; in a queue, application.",
    "jobs": "Live jobs of the source.",
    "kill_late": "Whether its user lets it be ended once it cannot meet its deadline.",
    "last_heard_s": "Seconds since the source's last report.",
    "listed": "What leaf queues say of the application; null where none reports.",
    "losing_core_s": "Core-seconds of copies that Grasshopper ordered and that lost.",
    "mode": "How much Grasshopper may do here: the lower of what user and server allow.",
    "n_copies": "Running copies.",
    "n_running": "Running attempts, including copies; in a leaf queue, the application's containers.",
    "name": "Name given by its user or its host; may be empty.",
    "named_speculator": "The speculator that its user names for it; null if none is named.",
    "order": "Id of the order; 0 for none.",
    "outcome": "How it ended; null while it runs, or if that is not reported.",
    "plan_age_s": "Seconds since the source last applied an order, or a queue's newest grant's age; null for never.",
    "pocd": "Whether it will keep its deadline; null for a job without one.",
    "policy": "The allocator and the speculator, as in `hopper+ras`.",
    "queued": "Its further fields as an application of a leaf queue; null for a driver's job.",
    "reason": "Code of the reason; docs/reasons.md lists them.",
    "records_read": "Records that it has read so far; 0 where unknown.",
    "records_written": "Records that it has written so far; 0 where unknown.",
    "remaining_tasks": "Tasks not done of the stages submitted so far; in a leaf queue, containers held and asked for.",
    "running": "Slots that are in use.",
    "running_attempts": "Live attempts of the task, including copies.",
    "sentence": "The reason in words.",
    "shim_version": "Version of the Grasshopper shim in the host.",
    "slots": "Attempts or containers that there is room for at once.",
    "source": "The driver or leaf queue, as kind and id: `spark:app-1`, `yarn:cluster:root.queue`.",
    "speculation_claimed": "Whether Grasshopper speculates for it now, so that the host's own speculation is paused.",
    "speculative": "Whether it is a copy.",
    "stage": "Id of the stage in its source; -1 for none.",
    "stage_attempt": "Number of the stage's submission, from 0; -1 for none.",
    "startup_s": "Seconds from an attempt's launch to its first progress, as learned; 0 where unknown.",
    "stock_speculation": "Whether the host's own speculation takes over where we do not decide.",
    "t_new_s": "Seconds that a fresh copy would take, as estimated; null where unknown.",
    "t_rem_s": "Seconds that it still needs, as estimated; null where unknown.",
    "tail_index": "Tail index of task durations: the lower it is, the worse stragglers are; null where unknown.",
    "tail_samples": "Number of durations behind the tail index.",
    "target": "Slots that the job should hold.",
    "total_core_s": "Core-seconds of all attempts that have ended.",
    "transfer_ratio": "Transfer left to do downstream over the work left upstream; null where unknown.",
    "ttl_ms": "Milliseconds that the order may take effect for, from the moment the host receives it.",
    "type": "Kind of order.",
    "ui_url": "Address of the host's own web pages; may be empty.",
    "user": "The user that it belongs to; may be empty.",
    "user_mode": "The most that the application's user allows.",
    "virtual_size": "Slots that the job wants once its copies are counted; null where unknown.",
    "weight": "Its share against other jobs of the pool; 1 is usual.",
}
"""The meaning of a field with this name unless its struct says otherwise."""


def meaning(kind: type, field: str) -> str:
    """The meaning of a struct's field, with its unit; empty if nothing says it.

    >>> from controlplane.model.snapshot import ExecutorState, HostState
    >>> meaning(HostState, "confidence"), meaning(ExecutorState, "slots")
    ('0 (nothing known) to 1.', 'Attempts or containers that there is room for at once.')
    """
    for owner in kind.__mro__[: kind.__mro__.index(Struct)]:
        if words := _strings(owner.__module__).get((owner.__name__, field)):
            return words
    return ALWAYS.get(field, "")


def described(schemas: dict[str, Any], kinds: Iterable[Any]) -> dict[str, Any]:
    """The schemas of these structs and of the structs they hold, by name, with every field described."""
    by_name = {each.__name__: each for kind in kinds for each in _structs(kind)}
    for name, schema in schemas.items():
        kind = by_name.get(name.partition("_")[0])
        for field, shown in schema.get("properties", {}).items():
            if kind and (words := meaning(kind, field)):
                shown["description"] = words
    return schemas


def _structs(kind: Any) -> Iterator[type]:
    """The structs that a type names, and those that their fields hold."""
    for part in get_args(kind):
        yield from _structs(part)
    owner = get_origin(kind) or kind
    if isinstance(owner, type) and issubclass(owner, Struct):
        yield owner
        for held in get_type_hints(owner).values():
            yield from _structs(held)


@cache
def _strings(module: str) -> dict[tuple[str, str], str]:
    """The strings below fields of a module's classes, by class and field."""
    classes = [
        each for each in ast.parse(inspect.getsource(sys.modules[module])).body if isinstance(each, ast.ClassDef)
    ]
    return {
        (kind.name, ast.unparse(field.target)): " ".join(str(below.value.value).split())
        for kind in classes
        for field, below in pairwise(kind.body)
        if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
    }
