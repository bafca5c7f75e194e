"""How is a policy asked, and is its answer lawful? The live engine, `decide` and the cluster simulator ask here.

The simulator's loop has the rules compiled in; the engine calls the kernels.
"""

from math import inf

from controlplane.compiled import kernel, rule
from controlplane.model.columns import Floats, Records
from controlplane.policies.dispatch import allocate, speculate
from controlplane.policies.seen import Seen

LAST = 1e300
"""The precedence of a claimant whose own is no number; finite, because JSON has no infinity."""


@rule
def ask_allocator(code: int, seen: Seen, settings: Floats, answer: Records) -> bool:
    """Ask an allocator; fills in `ALLOCATION`, (n_claimants,).

    False if its answer breaks a law: a target is negative, they add up to more than the slots, or a virtual size is no
    number. A precedence that is no number goes last.
    """
    allocate(code, seen, settings, answer)
    left = seen.slots
    for row in range(len(answer)):
        if not abs(answer[row]["precedence"]) < LAST:
            answer[row]["precedence"] = LAST
        if not (0 <= answer[row]["target"] <= left and abs(answer[row]["virtual_size"]) < inf):
            return False
        left -= answer[row]["target"]
    return True


@rule
def ask_speculator(code: int, seen: Seen, settings: Floats, answer: Records) -> bool:
    """Ask a speculator; fills in `SPECULATION`, (n_tasks,). False if it wants a copy without a positive, finite gain.

    A task with a `standing` gets no copy, and that as its reason; any other gets at most `copies_left`, and none while
    attempts of it end. The only attempt of a task does not end.
    """
    speculate(code, seen, settings, answer)
    is_lawful = True
    for row in range(len(answer)):
        task, one = seen.tasks[row], answer[row]
        most = 1 if one["kill"] else task["copies_left"]
        is_lawful &= one["copies"] <= 0 or 0.0 < one["score"] < inf
        one["end_last"] &= task["running_attempts"] > 1
        if task["running_attempts"] == 1:
            one["keep"] = 0
        if task["standing"] > 0:
            most, one["reason"] = 0, task["standing"]
        if one["keep"] > 0:
            most = 0
        one["copies"] = max(min(one["copies"], most), 0)
    return is_lawful


@kernel
def call_allocator(code: int, seen: Seen, settings: Floats, answer: Records) -> bool:
    """`ask_allocator`, compiled for Python."""
    return ask_allocator(code, seen, settings, answer)


@kernel
def call_speculator(code: int, seen: Seen, settings: Floats, answer: Records) -> bool:
    """`ask_speculator`, compiled for Python."""
    return ask_speculator(code, seen, settings, answer)
