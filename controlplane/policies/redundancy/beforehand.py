"""What do speculators that act on expectations need to know beforehand? Limits and ages, by load and tail index."""

from collections.abc import Mapping

from controlplane.policies.policy import Policy
from controlplane.policies.redundancy.of_pool import best_factor, small_demand_s
from controlplane.policies.redundancy.relaunching import relaunch
from controlplane.policies.redundancy.starting import redundant_small

LOAD_STEPS = 20
TAIL_STEPS = 10
"""Loads and tail indices are told apart by 1 / so much, which bounds how many searches there ever are.

A tail index is one step at least: of the heaviest tails, as of a cluster that hangs, no moment exists either way.
"""
COUNT_BITS = 6
"""A stage's number of tasks counts with its first so many binary digits, for the same end: exact below 64, above it off
by a 64th at most, which lengthens a stage by less than a thousandth. So does a pool's number of slots, which is another
one with every executor that comes or goes."""


def limit_s(policy: Policy, given: Mapping[str, float], *, slots: int, offered_load: float, tail_index: float) -> float:
    """Demand up to which jobs of a pool start with copies; 0 under speculators that do not ask."""
    if policy.kernel is not redundant_small:
        return 0.0
    return small_demand_s(
        policy.complete(given),
        slots=_rounded(max(slots, 0)),
        offered_load=round(offered_load * LOAD_STEPS) / LOAD_STEPS,
        slowdown_tail_index=_stepped(tail_index),
    )


def factor(policy: Policy, stage_tasks: int, tail_index: float) -> float:
    """The best age to relaunch a stage's tasks at, over what they are expected to take; infinite likewise."""
    if policy.kernel is not relaunch:
        return float("inf")
    return best_factor(_rounded(stage_tasks), _stepped(tail_index))


def _rounded(number: int) -> int:
    """The number of tasks or slots that stands for it.

    >>> [_rounded(number) for number in (63, 65, 67, 1_000_000)]
    [63, 64, 68, 999424]
    """
    unit = 2 ** max(number.bit_length() - COUNT_BITS, 0)
    return round(number / unit) * unit


def _stepped(tail_index: float) -> float:
    return max(round(tail_index * TAIL_STEPS), 1) / TAIL_STEPS
