"""Where is a function of one positive number least?"""

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize_scalar

GRID = 48
PRECISION = 1e-10


def least(function: Callable[[float], float], low: float, high: float) -> float:
    """The argument in [low, high], 0 < low, where `function` is least: a logarithmic grid, refined around its best.

    The grid keeps a second, shallower valley from catching the search; infinite values are allowed.

    >>> round(least(lambda x: (x - 3.0) ** 2, low=1.0, high=100.0), 6)
    3.0
    """
    grid = np.geomspace(low, high, GRID)
    values = [function(float(argument)) for argument in grid]
    best = int(np.argmin(values))
    around = np.log(grid[max(best - 1, 0)]), np.log(grid[min(best + 1, GRID - 1)])
    found = minimize_scalar(
        lambda logarithm: function(float(np.exp(logarithm))),
        bounds=around,
        method="bounded",
        options={"xatol": PRECISION},
    )
    return float(np.exp(found.x)) if found.fun < values[best] else float(grid[best])
