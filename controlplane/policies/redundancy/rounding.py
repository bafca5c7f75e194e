"""Which pools and stages count as one? Few enough that each search is made once and kept."""

from controlplane.policies.seen import Load

LOAD_STEPS = 20
"""Steps of an offered load of 1."""
TAIL_STEPS = 10
"""Steps of a tail index of 1. It is one step at least: heavier tails, as of a cluster that hangs, have no moments."""
LIGHTEST_TAIL = 100.0
"""Tail index from which on durations count as equal, infinity included."""
COUNT_BITS = 6
"""Leading binary digits of a number of tasks or slots that count. It is exact below 64 and off by a 64th at most above,
which lengthens a stage by less than a thousandth; a pool's slots change with each executor that comes or goes."""


def rounded(number: int) -> int:
    """The number of tasks or slots that stands for it.

    >>> [rounded(number) for number in (63, 65, 67, 1_000_000)]
    [63, 64, 68, 999424]
    """
    unit = 2 ** max(number.bit_length() - COUNT_BITS, 0)
    return round(number / unit) * unit


def rounded_load(load: Load) -> Load:
    """The load that stands for it.

    >>> rounded_load(Load(slots=1001, offered_load=0.37, tail_index=0.01))
    Load(slots=1008, offered_load=0.35, tail_index=0.1)
    >>> rounded_load(Load(slots=4, offered_load=0.5, tail_index=float("inf"))).tail_index
    100.0
    """
    return Load(
        slots=rounded(max(load.slots, 0)),
        offered_load=round(load.offered_load * LOAD_STEPS) / LOAD_STEPS,
        tail_index=max(round(min(load.tail_index, LIGHTEST_TAIL) * TAIL_STEPS), 1) / TAIL_STEPS,
    )
