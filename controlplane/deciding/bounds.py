"""How many tasks does an error bound leave to do? The live engine and `decide` ask here."""

import math

from controlplane.compiled import rule
from controlplane.policies.whole_slots import forgiven


@rule
def needed_tasks(tasks: int, done: int, error_bound: float) -> int:
    """Tasks of a stage that have yet to end, if the share `error_bound` of all of them may stay undone.

    Source: GRASS (NSDI'14), Pseudocode 2, line 5, which takes the share of the unfinished tasks instead, so that the
    number of tasks left out grows as tasks end.

    >>> [needed_tasks(10, done, error_bound=0.5) for done in (0, 5, 9)]
    [5, 0, 0]
    >>> needed_tasks(6, 0, error_bound=0.4), needed_tasks(10, 3, error_bound=0.0), needed_tasks(10, 0, error_bound=0.1)
    (4, 7, 9)
    """
    wanted = (1.0 - error_bound) * tasks
    return max(math.ceil(wanted - forgiven(wanted)) - done, 0)
