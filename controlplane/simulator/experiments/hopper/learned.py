"""Are Hopper's estimators as right as the paper says? The live engine's own, fed in order with what jobs show.

The tail index learns from Facebook's jobs with drawn durations. Tasks of a job that start at once end in order of their
durations; if they run in many short waves, any may be the last. The transfer ratio learns from the bytes of Facebook's
trace. It names no recurring jobs: those that read the same number of bytes are taken for runs of one.
"""

from statistics import fmean, median

import numpy as np

from controlplane.engine.learning import TAIL_WINDOW
from controlplane.simulator.cluster.workloads import Facebook
from controlplane.simulator.experiments.experiment import Chart, Claim, Finding, Results, Scale, Series
from controlplane.simulator.experiments.hopper.conditions import JOBS, RUNS
from controlplane.simulator.experiments.points import Point
from controlplane.simulator.experiments.points.learning import SHARES, TRUE_TAIL_INDEX, TailLearned, TransferForetold
from controlplane.simulator.statistics import estimate

ORDERS = {"in waves": False, "at once": True}
WINDOWS = {"as the engine keeps them": TAIL_WINDOW, "all kept": 1 << 20}
CLAIMED_SHARE, CLAIMED_ERROR = 0.06, 0.05
CLAIMED_ACCURACY = 0.92


def _tail(scale: Scale, at_once: bool, window: int) -> TailLearned:
    return TailLearned(source=Facebook(), jobs=JOBS[scale], at_once=at_once, window=window, runs=RUNS[scale])


def tail_index_points(scale: Scale) -> list[Point]:
    """Both orders, with the latest durations and with all."""
    return [_tail(scale, at_once, window) for at_once in ORDERS.values() for window in WINDOWS.values()]


def tail_index(results: Results) -> Finding:
    """How soon is the tail index known?"""
    claims, series = [], []
    for order, at_once in ORDERS.items():
        for name, window in WINDOWS.items():
            errors = np.array(results(_tail(results.scale, at_once, window)))
            curve = [estimate(column.tolist()) for column in np.abs(errors).T]
            first, bias = SHARES.index(CLAIMED_SHARE), errors[:, -1].mean()
            at, end = curve[first], curve[-1]
            worst = max(curve[first:], key=lambda one: one.mean)
            claims += [
                Claim(
                    statement=f"Tasks {order}, durations {name}: the error is 5 % or less after 6 % of the jobs.",
                    held=at.mean <= CLAIMED_ERROR,
                    numbers=f"{order}, {name}: {at.mean:.1%} ({at.error:.1%}) after 6 % of the jobs",
                ),
                Claim(
                    statement=f"Tasks {order}, durations {name}: and it stays so.",
                    held=worst.mean <= CLAIMED_ERROR,
                    numbers=f"then {worst.mean:.1%} ({worst.error:.1%}) at most, and {end.mean:.1%} ({end.error:.1%}) "
                    f"at the end, where the mean is {bias:+.1%} off",
                ),
            ]
            series.append(
                Series(
                    label=f"{order}, {name}",
                    x=[100 * share for share in SHARES],
                    y=[100 * one.mean for one in curve],
                    error=[100 * one.error for one in curve],
                )
            )
    title = f"Error of the tail index, {TRUE_TAIL_INDEX}"
    return Finding(
        claims=claims,
        charts=[
            Chart(title=title, x_label="jobs that have ended, %", y_label="mean error, %", series=series, log_x=True)
        ],
    )


def transfer_points(scale: Scale) -> list[Point]:
    """One trace, whatever the scale."""
    return [TransferForetold(source=Facebook())]


def transfer(results: Results) -> Finding:
    """How well is intermediate data foretold?"""
    (accuracy,) = results(TransferForetold(source=Facebook()))
    return Finding(
        claims=[
            Claim(
                statement=f"{label}: the transfer ratio is estimated with an accuracy of 92 % on average (here: 90 %).",
                held=fmean(values) >= CLAIMED_ACCURACY - 0.02,
                numbers=f"{label}: {fmean(values):.0%} over {len(values)} jobs, median {median(values):.0%}",
            )
            for label, values in (
                ("Jobs that read as many bytes as one before", accuracy["recurring"]),
                ("All that shuffle", accuracy["recurring"] + accuracy["new"]),
            )
        ]
    )
