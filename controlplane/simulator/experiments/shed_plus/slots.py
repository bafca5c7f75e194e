"""How busy are the slots, and how long do jobs take? Shed+'s Figures 7, 8 and 9."""

import numpy as np

from controlplane.model.columns import Floats
from controlplane.simulator.cluster.summary import COUNTED
from controlplane.simulator.experiments.experiment import Chart, Claim, Finding, Results, Scale, Series
from controlplane.simulator.experiments.points import Point
from controlplane.simulator.experiments.shed_plus.figures import (
    DOLLY,
    HADOOP,
    LOADS,
    OURS,
    SHED,
    is_ahead,
    lines,
    listed,
)
from controlplane.simulator.experiments.shed_plus.world import POLICIES, Fields, each_job, measured, runs
from controlplane.simulator.statistics import Estimate

FULL = 0.9
"""A cluster is full from this share of busy slots on."""
PRINTED_S = 350.0
WITHIN_PRINTED = {OURS: 1.0, SHED: 0.6, HADOOP: 0.4, DOLLY: 0.4}
"""Shares of the jobs, the fastest policy first."""
LONGEST_S = {DOLLY: 600.0, HADOOP: 550.0}
NEAR = 0.1
"""How far a number may be from the printed one, as a share."""
TIMES_S = range(150, 1001, 50)


def figure_7_points(scale: Scale) -> list[Point]:
    """Shed and Shed+ at every load."""
    return [runs(scale, _load(load), POLICIES[name]) for load in LOADS for name in (OURS, SHED)]


def _load(load: float) -> Fields:
    return {"offered_load": load}


def figure_7(results: Results) -> Finding:
    """How many attempts run at once, and for how many jobs?"""

    def over_loads(field: str) -> list[dict[str, Estimate]]:
        return [
            {name: measured(results, field, _load(load), POLICIES[name]) for name in (OURS, SHED)} for load in LOADS
        ]

    busy = over_loads("busy_share")
    jobs = [one[OURS].mean / one[SHED].mean for one in over_loads("response_s")]
    return Finding(
        claims=[
            Claim(
                statement="Shed always fills the cluster (here: 90 % of the slots).",
                held=all(one[SHED].mean >= FULL for one in busy),
                numbers="busy at "
                + "; ".join(f"load {load:g}: {listed(one)} %" for load, one in zip(LOADS, busy, strict=True)),
            ),
            Claim(
                statement="Shed+ fills it when needed (here: 90 % at the highest load).",
                held=busy[-1][OURS].mean >= FULL,
                numbers=f"{100 * busy[-1][OURS].mean:.1f} % at {LOADS[-1]:g}",
            ),
            Claim(
                statement="Fewer jobs are in the system under Shed+ than under Shed.",
                held=max(jobs) < 1.0,
                numbers="times as many, by Little's law and mean response times: "
                + ", ".join(f"{one:.2f} at {load:g}" for load, one in zip(LOADS, jobs, strict=True)),
            ),
        ],
        charts=[lines("Originals and copies", "offered load", LOADS, busy, y_label="busy slots, %")],
    )


def figure_8_points(scale: Scale) -> list[Point]:
    """Ten tasks at 40 % load."""
    return [runs(scale, policy) for policy in POLICIES.values()]


def figure_8(results: Results) -> Finding:
    """How busy are the slots?"""
    found = {name: measured(results, "busy_share", policy) for name, policy in POLICIES.items()}
    copies = {name: measured(results, "copy_share", policy) for name, policy in POLICIES.items()}
    return Finding(
        claims=[
            Claim(
                statement="Shed keeps more slots busy than Dolly and Hadoop, and Shed+ more than Shed.",
                held=is_ahead(found, OURS, SHED) and is_ahead(found, SHED, DOLLY) and is_ahead(found, SHED, HADOOP),
                numbers=f"busy: {listed(found)} %; held by copies: {listed(copies)} %",
            )
        ]
    )


def figure_9_points(scale: Scale) -> list[Point]:
    """The same, and each of its jobs."""
    return [*figure_8_points(scale), *(each_job(scale, POLICIES[name]) for name in WITHIN_PRINTED)]


def figure_9(results: Results) -> Finding:
    """How long do jobs take?"""
    means = {name: measured(results, "response_s", policy) for name, policy in POLICIES.items()}
    fastest_first = sorted(WITHIN_PRINTED, key=lambda name: means[name].mean)
    times_s = {name: _counted_s(results, name) for name in WITHIN_PRINTED}
    within = {name: share_within(each, PRINTED_S) for name, each in times_s.items()}
    longest_s = {name: float(np.quantile(times_s[name], 0.99)) for name in LONGEST_S}
    return Finding(
        claims=[
            Claim(
                statement="Shed+ is the fastest, then Shed, Hadoop and Dolly.",
                held=fastest_first == list(WITHIN_PRINTED),
                numbers=", ".join(f"{name} {one.mean:.0f} ({one.error:.0f}) s" for name, one in means.items()),
            ),
            Claim(
                statement=f"Within {PRINTED_S:.0f} s nearly all jobs end under Shed+, 60 % under Shed, and 40 % under "
                "Hadoop and Dolly (here: within 10 points).",
                held=all(abs(within[name] - printed) <= NEAR for name, printed in WITHIN_PRINTED.items()),
                numbers=", ".join(f"{name} {100 * one:.0f} %" for name, one in within.items()),
            ),
            Claim(
                statement="The longest job takes 600 s under Dolly, 550 under Hadoop (here: one in 100, within 10 %).",
                held=all(abs(longest_s[name] / printed - 1.0) <= NEAR for name, printed in LONGEST_S.items()),
                numbers=", ".join(f"{name} {one:.0f} s" for name, one in longest_s.items()),
            ),
        ],
        charts=[
            Chart(
                title="Jobs that have ended",
                x_label="s after their submission",
                y_label="jobs, %",
                series=[
                    Series(label=name, x=TIMES_S, y=[100 * share_within(each, at_s) for at_s in TIMES_S])
                    for name, each in times_s.items()
                ],
            )
        ],
    )


def share_within(times_s: Floats, at_s: float) -> float:
    """The share of jobs that take no longer.

    >>> share_within(np.array([100.0, 200.0, 300.0, 400.0]), 300.0)
    0.75
    """
    return float(np.mean(times_s <= at_s))


def _counted_s(results: Results, name: str) -> Floats:
    """The times of all counted jobs of all runs."""
    each = np.array(results(each_job(results.scale, POLICIES[name])))
    first, last = (round(share * each.shape[1]) for share in COUNTED)
    return each[:, first:last].ravel()
