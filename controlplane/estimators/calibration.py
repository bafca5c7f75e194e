"""How right were probabilities that something would happen? By bins of what was promised, and by Brier's score."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from controlplane.model.columns import Flags, Floats

BINS = 10
"""Bins of equal width, from 0 to 1; the last one includes 1."""


class PromiseBin(Struct, frozen=True, kw_only=True):
    """Jobs that were promised about as much."""

    low: float
    """Least probability in the bin."""
    high: float
    """Probability from which on the next bin counts."""
    jobs: int
    """Ended jobs in the bin."""
    mean_pocd: float
    """Mean of the probabilities that were promised."""
    kept_share: float
    """Share of the jobs that kept their deadline."""


class Calibration(Struct, frozen=True, kw_only=True):
    """Promised probabilities beside what came of them."""

    jobs: int
    """Ended jobs that had been promised a probability."""
    kept_share: float | None
    """Share of them that kept their deadline; null without jobs, as are the next three."""
    mean_error: float | None
    """Mean over the jobs of the distance, in their bin, between the mean promise and the share kept."""
    brier: float | None
    """Brier score: the mean squared distance of a promise from 1 where it was kept and from 0 where not; 0 is best."""
    constant_brier: float | None
    """The Brier score of the share kept, had that been promised to all."""
    bins: list[PromiseBin]
    """The bins that have jobs, lowest first."""


def calibrate(promised: Sequence[float], kept: Sequence[bool]) -> Calibration:
    """The calibration of these probabilities, 0 to 1, one a job, by whether each came true.

    Source: Brier (1950); the mean error is the expected calibration error of Naeini et al. (AAAI'15).

    >>> found = calibrate([0.9, 0.95, 0.2, 0.25], [True, True, False, True])
    >>> [(each.low, each.jobs, round(each.mean_pocd, 3), each.kept_share) for each in found.bins]
    [(0.2, 2, 0.225, 0.5), (0.9, 2, 0.925, 1.0)]
    >>> found.kept_share, round(found.mean_error, 3), round(found.brier, 3), found.constant_brier
    (0.75, 0.175, 0.154, 0.1875)
    >>> calibrate([], []).brier is None
    True
    """
    pocd, is_kept = np.array(promised, dtype=np.float64), np.array(kept, dtype=np.bool_)
    if not len(pocd):
        return Calibration(jobs=0, kept_share=None, mean_error=None, brier=None, constant_brier=None, bins=[])
    number = np.minimum((pocd * BINS).astype(np.int64), BINS - 1)
    bins = [_bin(each, pocd[number == each], is_kept[number == each]) for each in np.unique(number).tolist()]
    share = float(is_kept.mean())
    return Calibration(
        jobs=len(pocd),
        kept_share=share,
        mean_error=sum(each.jobs * abs(each.mean_pocd - each.kept_share) for each in bins) / len(pocd),
        brier=float(np.mean((pocd - is_kept) ** 2)),
        constant_brier=share * (1.0 - share),
        bins=bins,
    )


def _bin(number: int, pocd: Floats, is_kept: Flags) -> PromiseBin:
    return PromiseBin(
        low=number / BINS,
        high=(number + 1) / BINS,
        jobs=len(pocd),
        mean_pocd=float(pocd.mean()),
        kept_share=float(is_kept.mean()),
    )
