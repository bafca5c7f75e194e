"""Who changes which columns of a table? Each writer's columns are an array of records of their own."""

from enum import StrEnum
from typing import NewType

import numpy as np


class Writer(StrEnum):
    """The one part of the control plane that changes a column, by the name of the array that the column lies in.

    `tests/engine/test_writers.py` lists its files.
    """

    HOST = "reported"
    """`apply`: what hosts have reported, and what follows from it at once."""
    ESTIMATOR = "estimated"
    """The estimators, and `Learning`, which feeds them: estimates."""
    ENGINE = "decided"
    """The steps of a cycle: what was decided, ordered or noted, kept from cycle to cycle."""
    CYCLE = "scratch"
    """The steps of a cycle: inputs computed for kernels, for pools that are due or jobs that changed."""


# One row of such an array, for the signatures of kernels and rules; mypy refuses another writer's array.
Reported = NewType("Reported", np.void)
Estimated = NewType("Estimated", np.void)
Decided = NewType("Decided", np.void)
Scratch = NewType("Scratch", np.void)
