"""How many containers did an application hold and ask for, and when? A list of changes that stays short."""

from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct

MOST_HOLDINGS = 500


class Holding(Struct, frozen=True, kw_only=True):
    """A queue's report of an application from `at_s` on, on the engine's clock. Its master counts in neither."""

    at_s: float
    """Seconds on the engine's clock."""
    running: int
    """Containers that it held."""
    pending: int
    """Further containers that it asked for."""


def note_change(holdings: list[Holding], at_s: float, running: int, pending: int) -> None:
    """Add a change; if there are too many, every second one goes, but never the first.

    >>> holdings = []
    >>> for at_s, running in ((1.0, 2), (2.0, 2), (3.0, 5)):
    ...     note_change(holdings, at_s, running, pending=0)
    >>> [(each.at_s, each.running) for each in holdings]
    [(1.0, 2), (3.0, 5)]
    """
    if not holdings or (holdings[-1].running, holdings[-1].pending) != (running, pending):
        holdings.append(Holding(at_s=at_s, running=running, pending=pending))
    if len(holdings) > MOST_HOLDINGS:
        del holdings[1::2]


def container_seconds(holdings: Sequence[Holding], end_s: float) -> float:
    """Containers times seconds until `end_s`.

    >>> container_seconds([Holding(at_s=1.0, running=2, pending=0), Holding(at_s=3.0, running=5, pending=0)], 4.0)
    9.0
    """
    after = [*holdings, Holding(at_s=end_s, running=0, pending=0)]
    return sum(holding.running * (then.at_s - holding.at_s) for holding, then in pairwise(after))
