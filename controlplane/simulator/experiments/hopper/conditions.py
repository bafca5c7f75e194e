"""Under which conditions is Hopper compared? One cluster, two workloads, two worlds, two baselines, and the loads.

The cluster is the paper's prototype, 200 machines of 16 slots. Every comparison of allocators shows two baselines, SRPT
and LATE with copies that compete at their job's own priority (Prio) or start only when no original waits anywhere
(Last), and two worlds: each copy draws its own duration, or half of the tasks are slow because of their data, whatever
runs them. Where conditions are changed one by one, the share of such tasks is one of them.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from controlplane.simulator.cluster.scenario import ClusterScenario
from controlplane.simulator.cluster.workloads import Facebook, Source, bing_like
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
    """Hopper as printed: slots within a target stay free for copies yet to come."""
    return {"policy": f"hopper+{speculator}", "allocator_settings": {"hold_slots": 1.0, **settings}}


PRIO: Fields = {"policy": "srpt+late"}
COPIES_LAST: Fields = {"speculator_settings": {"copy_priority": 1.0}}
LAST: Fields = {**PRIO, **COPIES_LAST}
HOPPER = hopper("late")
NO_KILLS: Fields = {"speculator_settings": {"end_beaten": 0.0}}
"""No attempt ends before its task does, as under the baselines: with kills for one policy alone, their worth would
count as that of its allocation."""
EAGER: Fields = {**hopper("ras"), **NO_KILLS}
"""Hopper with copies of whatever ends sooner by one while slots are idle."""
PRIO_EAGER: Fields = {"policy": "srpt+ras", **NO_KILLS}
BASELINES = {"Prio": PRIO, "Last": LAST}

OWN: Fields = {"shared_share": 0.0}
HALF_SHARED: Fields = {"shared_share": 0.5}
WORLDS = {"own durations": OWN, "half shared": HALF_SHARED}

SOURCES: dict[str, Source] = {"Facebook": Facebook(), "Bing-like": bing_like()}
FACEBOOK = SOURCES["Facebook"]

LOADS = (0.4, 0.6, 0.7, 0.8, 1.0, 1.2, 1.4)
"""Offered ones."""
MIDDLE_LOADS = (0.6, 0.7, 0.8)
"""Those among which the one is that keeps MIDDLE of the slots busy."""
LOW, MIDDLE, HIGH = 0.3, 0.6, 0.8
"""Utilizations of the paper's statements, which are measured ones."""

PROTOTYPE = (
    f"prototype figure, here in the cluster model: {MACHINES[Scale.FULL]} machines of {SLOTS_PER_MACHINE[Scale.FULL]} "
    f"slots, {JOBS[Scale.FULL]:,} jobs, {RUNS[Scale.FULL]} seeds, estimates with noise {NOISE:g} (smoke: "
    f"{MACHINES[Scale.SMOKE]} of {SLOTS_PER_MACHINE[Scale.SMOKE]}, {JOBS[Scale.SMOKE]} jobs); gains are of mean "
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


def at_loads(source: Source, loads: Sequence[float] = LOADS) -> list[Fields]:
    """The source's jobs at each of these loads."""
    return [{"workload": source, "offered_load": load} for load in loads]


def grid(scale: Scale, variants: Iterable[Fields], policies: Iterable[Fields]) -> list[Point]:
    """Every policy under every variant in both worlds."""
    policies = list(policies)
    return [runs(scale, one, world, policy) for one in variants for world in WORLDS.values() for policy in policies]
