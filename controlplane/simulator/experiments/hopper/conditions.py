"""Under which conditions is Hopper compared? Two workloads, two worlds with two caps, two baselines, and the loads.

Facebook's jobs run on the cluster of the paper's prototype, 200 machines of 16 slots; the Bing-like ones on an eighth
of it, where slots are short when a burst comes. Every comparison of allocators shows two baselines, SRPT and LATE with
copies that compete at their job's own priority (Prio) or start only when no original waits anywhere (Last), and two
worlds: each copy draws its own duration, or half of the tasks are slow because of their data, whatever runs them.

All contestants may have the same number of live attempts of a task, two or three, and none ends a beaten attempt
before its task ends, where nothing else is said. LATE starts no third attempt, and binds itself to copies on a tenth of
the slots, which binds no other speculator.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from controlplane.simulator.cluster.scenario import ClusterScenario
from controlplane.simulator.cluster.workloads import Facebook, bing_like
from controlplane.simulator.experiments.experiment import Scale
from controlplane.simulator.experiments.points import Point
from controlplane.simulator.experiments.points.cluster import ClusterRuns, ResponseTimes

Fields = Mapping[str, Any]

MACHINES = {Scale.SMOKE: 100, Scale.FULL: 200}
SLOTS_PER_MACHINE = {Scale.SMOKE: 4, Scale.FULL: 16}
JOBS = {Scale.SMOKE: 300, Scale.FULL: 6000}
"""At full scale a little more than Facebook's trace of 2009 has: seeds differ in where they begin, and in luck."""
RUNS = {Scale.SMOKE: 2, Scale.FULL: 5}
NOISE = 0.3


def hopper(speculator: str, **settings: float) -> Fields:
    """Hopper as the paper has it: slots stay free for copies yet to come, and the smaller virtual size goes first."""
    printed = {"hold_slots": 1.0, "order_by_work": 0.0}
    return {"policy": f"hopper+{speculator}", "allocator_settings": {**printed, **settings}}


PRIO: Fields = {"policy": "srpt+late"}
COPIES_LAST: Fields = {"speculator_settings": {"copy_priority": 1.0}}
LAST: Fields = {**PRIO, **COPIES_LAST}
HOPPER = hopper("late")
NO_KILLS: Fields = {"speculator_settings": {"end_beaten": 0.0}}
"""As under the baselines: with kills for one policy alone, their worth would count as that of its allocation."""
NO_CAP: Fields = {"speculator_settings": {"copy_share": 1.0}}
"""LATE's copies on as many slots as there are."""
EAGER: Fields = {**hopper("ras"), **NO_KILLS}
"""Hopper with copies of whatever ends sooner by one while slots are idle."""
PRIO_EAGER: Fields = {"policy": "srpt+ras", **NO_KILLS}
BASELINES = {"Prio": PRIO, "Last": LAST}

OWN: Fields = {"shared_share": 0.0}
HALF_SHARED: Fields = {"shared_share": 0.5}
DURATIONS = {"own durations": OWN, "half shared": HALF_SHARED}
CAPS: dict[str, Fields] = {"2 attempts": {"max_copies": 1}, "3 attempts": {"max_copies": 2}}
"""The most live attempts of a task, the same for all contestants."""
WORLDS = {f"{name}, {most}": {**one, **cap} for name, one in DURATIONS.items() for most, cap in CAPS.items()}

FACEBOOK: Fields = {"workload": Facebook()}
BING_LIKE: Fields = {"workload": bing_like(), "machines": 25, "slots_per_machine": 16}
SOURCES = {"Facebook": FACEBOOK, "Bing-like": BING_LIKE}

LOADS = (0.4, 0.6, 0.7, 0.8, 1.0, 1.2, 1.4)
"""Offered ones."""
MIDDLE_LOADS = (0.6, 0.7, 0.8)
"""Those among which the one is that keeps MIDDLE of the slots busy."""
LOW, MIDDLE, HIGH = 0.3, 0.6, 0.8
"""Utilizations of the paper's statements, which are measured ones."""

PROTOTYPE = (
    f"prototype figure, here in the cluster model: {MACHINES[Scale.FULL]} machines of {SLOTS_PER_MACHINE[Scale.FULL]} "
    f"slots, for Bing-like jobs {BING_LIKE['machines']}, {JOBS[Scale.FULL]:,} jobs, {RUNS[Scale.FULL]} seeds, "
    f"estimates with noise {NOISE:g} (smoke: {MACHINES[Scale.SMOKE]} of {SLOTS_PER_MACHINE[Scale.SMOKE]}, "
    f"{JOBS[Scale.SMOKE]} jobs); two worlds, at most 2 or 3 live attempts of a task for all; gains are of mean "
    "response times"
)
AT_THE_MIDDLE = (
    f"at the offered load of {', '.join(f'{one:g}' for one in MIDDLE_LOADS)} whose measured busy share under Prio is "
    f"nearest to {MIDDLE:.0%}"
)
"""Words for where most figures are judged."""


def scenario(scale: Scale, *fields: Fields) -> ClusterScenario:
    """The scenario of these fields, later ones first; the common conditions unless they say otherwise."""
    merged: dict[str, Any] = {
        "jobs": JOBS[scale],
        "machines": MACHINES[scale],
        "slots_per_machine": SLOTS_PER_MACHINE[scale],
        "noise": NOISE,
        "relative_transfer": False,
    }
    for one in fields:
        merged |= one
    return ClusterScenario(**merged)


def runs(scale: Scale, *fields: Fields) -> ClusterRuns:
    """Its point."""
    return ClusterRuns(scenario=scenario(scale, *fields), runs=RUNS[scale])


def each_job(scale: Scale, *fields: Fields) -> ResponseTimes:
    """The point that tells its jobs one by one."""
    return ResponseTimes(scenario=scenario(scale, *fields), runs=RUNS[scale])


def at_loads(source: Fields, loads: Sequence[float] = LOADS) -> list[Fields]:
    """The source's jobs on its cluster at each of these loads."""
    return [{**source, "offered_load": load} for load in loads]


def grid(scale: Scale, variants: Iterable[Fields], policies: Iterable[Fields]) -> list[Point]:
    """Every policy under every variant in both worlds, with both caps."""
    policies = list(policies)
    return [runs(scale, one, world, policy) for one in variants for world in WORLDS.values() for policy in policies]


def middle_points(scale: Scale) -> list[Point]:
    """What tells which of MIDDLE_LOADS keeps about MIDDLE of the slots busy, for both workloads."""
    return [one for source in SOURCES.values() for one in grid(scale, at_loads(source, MIDDLE_LOADS), [PRIO])]
