"""Where is a function of one positive number least?"""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from scipy.optimize import minimize_scalar

GRID = 48
"""Points from a search's first edge to its last; a few from one edge to the next in any case."""
FEW = 5
PRECISION = 1e-10


def least(function: Callable[[float], float], *edges: float) -> float:
    """The argument between the first edge and the last where `function` is least: on a logarithmic grid, then refined.

    Edges are positive and ascend; the function may have a kink at each. The grid keeps a second, shallower valley from
    catching the search; infinite values are allowed.

    >>> round(least(lambda x: (x - 3.0) ** 2, 1.0, 100.0), 6), least(lambda x: abs(x - 7.0), 1.0, 7.0, 100.0)
    (3.0, 7.0)
    """
    density = GRID / np.log(edges[-1] / edges[0])
    points = [max(FEW, round(density * np.log(high / low))) for low, high in pairwise(edges)]
    grid = np.unique(np.concatenate([np.geomspace(*ends, n) for ends, n in zip(pairwise(edges), points, strict=True)]))
    values = [function(float(argument)) for argument in grid]
    best = int(np.argmin(values))
    around = np.log(grid[max(best - 1, 0)]), np.log(grid[min(best + 1, len(grid) - 1)])
    with np.errstate(invalid="ignore"):
        found = minimize_scalar(
            lambda logarithm: function(float(np.exp(logarithm))),
            bounds=around,
            method="bounded",
            options={"xatol": PRECISION},
        )
    return float(np.exp(found.x)) if found.fun < values[best] else float(grid[best])
