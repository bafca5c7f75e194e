"""Do Hopper's claims in prose come out? On slowest tasks and copies as such, and on fair sharing."""

from statistics import fmean, median

from controlplane.simulator.cluster.scenario import ClusterScenario
from controlplane.simulator.cluster.summary import ClusterSummary
from controlplane.simulator.cluster.workloads import Synthetic
from controlplane.simulator.experiments.experiment import Claim, Finding, Results, Scale
from controlplane.simulator.experiments.hopper.comparisons import at_middle, found, job_gains, where
from controlplane.simulator.experiments.hopper.conditions import (
    BASELINES,
    CAPS,
    DURATIONS,
    HOPPER,
    MIDDLE_LOADS,
    NO_CAP,
    NO_KILLS,
    PRIO,
    SOURCES,
    WORLDS,
    Fields,
    at_loads,
    each_job,
    middle_points,
    runs,
)
from controlplane.simulator.experiments.hopper.examples import KNEE_RUNS, one_schedule
from controlplane.simulator.experiments.points import Point
from controlplane.simulator.experiments.points.cluster import ResponseTimes, Slowest

NEAR = 0.05
SPECULATORS: dict[str, Fields] = {
    "no copies": {"policy": "fifo+none"},
    "LATE": {"policy": "fifo+late", **NO_CAP},
    **{f"Mantri, {most}": {"policy": "fifo+mantri", **cap} for most, cap in CAPS.items()},
    **{f"RAS, {most}": {"policy": "fifo+ras", **NO_KILLS, **cap} for most, cap in CAPS.items()},
}
"""LATE starts no third attempt."""
SLOWEST_TASKS = (30, 200)
LAWS: dict[str, tuple[float, Fields]] = {
    "all slowdowns Pareto": (1.0, {}),
    "a tenth of them in the tail": (1.0, {"tail_share": 0.1}),
    "a tenth in the tail, tasks of 10 s": (10.0, {"tail_share": 0.1}),
}
"""What a task takes with a slowdown of 1, s, and the law of slowdowns."""
COPYING: dict[str, Fields] = {**BASELINES, "Prio without LATE's cap": {**PRIO, **NO_CAP}}
"""LATE starts no third attempt."""
FAIR: Fields = {"policy": "fair+late"}
FAIR_EXAMPLE: Fields = {"policy": "fair+ras"}
COORDINATED_S = (12.0, 22.0)


def slowest_points(scale: Scale) -> list[Point]:
    """Every speculator on a small and a large job, by every law."""
    return [
        _slowest(scale, law, policy, tasks)
        for law in LAWS
        for policy in SPECULATORS.values()
        for tasks in SLOWEST_TASKS
    ]


def _slowest(scale: Scale, law: str, policy: Fields, tasks: int) -> Slowest:
    """One job with two slots for each of its tasks."""
    service_s, fields = LAWS[law]
    workload = Synthetic(least_tasks=tasks, most_tasks=tasks, service_s=service_s)
    one = ClusterScenario(**policy, **fields, workload=workload, jobs=1, machines=2 * tasks, slots_per_machine=1)
    return Slowest(scenario=one, runs=KNEE_RUNS[scale])


def slowest(results: Results) -> Finding:
    """How slow is a job's slowest task?"""
    claims = []
    for law in LAWS:
        for name, policy in SPECULATORS.items():
            times = [median(results(_slowest(results.scale, law, policy, tasks))) for tasks in SLOWEST_TASKS]
            ratios = " and ".join(f"{one:.2f}" for one in times)
            numbers = f"{law}, {name}, {SLOWEST_TASKS[0]} and {SLOWEST_TASKS[1]} tasks: {ratios} times the median"
            if name == "no copies":
                statement, held = "without copies the slowest task is 7 or 8 times as slow, or more", min(times) >= 7.0
            else:
                statement, held = f"{name} brings that down to 1.08 or 1.1", max(times) <= 1.1
            claims.append(Claim(statement=f"{law}: {statement}.", held=held, numbers=numbers))
    return Finding(claims=claims)


def copies_points(scale: Scale) -> list[Point]:
    """Both workloads and worlds under both baselines, and under Prio without LATE's cap."""
    return [
        runs(scale, one, world, policy)
        for source in SOURCES.values()
        for one in at_loads(source, MIDDLE_LOADS)
        for world in DURATIONS.values()
        for policy in COPYING.values()
    ]


def copies(results: Results) -> Finding:
    """How much of a cluster's work is copies?"""
    claims = []
    for name, source in SOURCES.items():
        for world_name, world in DURATIONS.items():
            at = at_middle(results, source, world)
            title = f"{name}, {world_name}, {where(results, at, world)}"
            claims += [
                _copies(f"{title}, {policy_name}", found(results, at, world, policy))
                for policy_name, policy in COPYING.items()
            ]
    return Finding(claims=claims)


def _copies(title: str, ran: list[ClusterSummary]) -> Claim:
    """Section 2.1's statement of one baseline's runs."""
    of_tasks = fmean(one.copies_per_task / (1.0 + one.copies_per_task) for one in ran)
    of_slots = fmean(one.copy_share / one.busy_share for one in ran)
    return Claim(
        statement=f"{title}: copies are 25 % of all tasks and 21 % of the resources (here: within 5 points).",
        held=abs(of_tasks - 0.25) <= NEAR and abs(of_slots - 0.21) <= NEAR,
        numbers=f"{title}: {of_tasks:.0%} of the attempts, {of_slots:.0%} of the slot time",
    )


def fair_example_points(scale: Scale) -> list[Point]:
    """Table 1's jobs."""
    return [_fair_example()]


def _fair_example() -> ResponseTimes:
    return one_schedule(FAIR_EXAMPLE)


def fair_example(results: Results) -> Finding:
    """Has fair sharing the weaknesses of SRPT?"""
    (ends,) = results(_fair_example())
    return Finding(
        claims=[
            Claim(
                statement="Best effort under fair sharing is as inefficient: both jobs end later than coordinated.",
                held=all(ours > theirs for ours, theirs in zip(ends, COORDINATED_S, strict=True)),
                numbers=f"A ends at {ends[0]:g} and B at {ends[1]:g}, coordinated at 12 and 22",
            ),
            Claim(
                statement="A budget under fair sharing leaves as many slots idle.",
                held=None,
                numbers="no policy here shares all but a budget fairly",
            ),
        ]
    )


def over_fair_points(scale: Scale) -> list[Point]:
    """Hopper and both baselines against fair sharing, job by job."""
    return middle_points(scale) + [
        each_job(scale, one, world, policy)
        for source in SOURCES.values()
        for one in at_loads(source, MIDDLE_LOADS)
        for world in WORLDS.values()
        for policy in (FAIR, HOPPER, *BASELINES.values())
    ]


def over_fair(results: Results) -> Finding:
    """Who loses if fair sharing is given up?"""
    claims = []
    for name, source in SOURCES.items():
        for world_name, world in WORLDS.items():
            at = at_middle(results, source, world)
            one = job_gains(results, HOPPER, FAIR, at, world)
            others = {label: job_gains(results, base, FAIR, at, world) for label, base in BASELINES.items()}
            claims += [
                Claim(
                    statement=f"{name}, {world_name}: nearly all jobs end earlier than under fair sharing (here: nine "
                    "of ten do).",
                    held=one.quantiles[0] > 0,
                    numbers=f"{name}, {world_name}, {where(results, at, world)}: the median job is "
                    f"{one.quantiles[2]:+.1%} shorter, the mean {one.mean:+.1%}"
                    + "".join(f"; {label} {base.mean:+.1%}" for label, base in others.items()),
                ),
                Claim(
                    statement=f"{name}, {world_name}: nearly none ends later (here: no more than a tenth).",
                    held=one.slowed_share <= 0.1,
                    numbers=f"{one.slowed_share:.1%} end later, by {one.slowed_by:.0%} on average"
                    + "".join(f"; under {label} {base.slowed_share:.1%}" for label, base in others.items()),
                ),
            ]
    return Finding(claims=claims)
