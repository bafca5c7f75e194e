"""Do GRASS's theorem and guidelines hold, and its tail plot? Figures 3 and 4, Theorem 1 and equation (3), by formulas.

Only Figure 3 draws anything: durations in place of the traces', which their owners keep.
"""

from functools import cache

import numpy as np
from scipy.optimize import brentq

from controlplane.policies.grass.theory import proactive
from controlplane.policies.grass.theory.reactive import early_rate, gs_wait, ras_wait, response_time
from controlplane.policies.redundancy.theory.search import least
from controlplane.simulator.experiments.experiment import Chart, Claim, Finding, Results, Scale, Series
from controlplane.simulator.experiments.points import Point
from controlplane.simulator.experiments.points.tails import SHARES, TailSeen
from controlplane.simulator.statistics import estimate

TAIL_INDEX, SLOTS = 1.259, 100
"""The traces' tail index by the paper; one of many numbers of slots, which hardly matters."""
TAIL_INDICES = (1.1, TAIL_INDEX, 1.6, 2.0, 3.0)
WAITS = {"GS": gs_wait, "RAS": ras_wait}
LONGEST_WAIT = 5.0
WAVES = (1, 2, 3, 5)
NEAR, EXACT = 0.01, 1e-9
"""What is as good is within this share; what is equal but for rounding, within that one."""
TAIL_SHARE, DURATIONS, SAMPLES = 0.2, 50_000, {Scale.SMOKE: 10, Scale.FULL: 40}
FLAT_FROM, FLAT_WITHIN = 0.01, 0.05
"""From this share of the durations to TAIL_SHARE the plot is called flat if it is this close to the tail index."""


def _excess(waves: float, tail_index: float) -> float:
    """By how much the rate of any number of attempts, 1 to all slots by hundredths, is above that of Theorem 1's."""
    tried = np.arange(1.0, SLOTS + 0.005, 0.01)
    rates = [proactive.service_rate(waves * SLOTS, attempts, SLOTS, tail_index) for attempts in tried]
    best = proactive.best_attempts(waves * SLOTS, SLOTS, tail_index)
    return max(rates) / proactive.service_rate(waves * SLOTS, best, SLOTS, tail_index) - 1.0


def theorem_1(results: Results) -> Finding:
    """The best number of attempts from the start."""
    left = (0.005, 0.05, 0.3, 0.6, 0.8, 1.0, 3.0)
    excess = max(_excess(waves, tail_index) for waves in left for tail_index in TAIL_INDICES)
    early = {tail_index: proactive.best_attempts(3.0 * SLOTS, SLOTS, tail_index) for tail_index in TAIL_INDICES}
    used = [
        waves * SLOTS * proactive.best_attempts(waves * SLOTS, SLOTS, tail_index)
        for waves in (0.01, 0.1, 0.3, 0.5)
        for tail_index in TAIL_INDICES
    ]
    waves_left = np.geomspace(0.01, 3.0, 60)
    return Finding(
        claims=[
            Claim(
                statement="No number of attempts gives a higher rate (1) than that of (2).",
                held=excess < EXACT,
                numbers=f"{len(left) * len(TAIL_INDICES)} cases, 9,901 numbers: {100 * excess:.2g} % above it at most",
            ),
            Claim(
                statement="Guideline 1: in early waves copies from the start are worth it only for tail indices below "
                "2, and two attempts of a task at most.",
                held=all((attempts > 1.0) == (tail_index < 2.0) for tail_index, attempts in early.items())
                and max(early.values()) <= 2.0,
                numbers=", ".join(f"{attempts:.2f} at {tail_index:g}" for tail_index, attempts in early.items()),
            ),
            Claim(
                statement="Guideline 2: in the last wave copies fill all slots, for every tail index.",
                held=all(abs(slots - SLOTS) < EXACT * SLOTS for slots in used),
                numbers=f"with 1 to 50 tasks left at least {min(used):.0f} of {SLOTS} slots are used",
            ),
        ],
        charts=[
            Chart(
                title="Best number of attempts",
                x_label="waves left",
                y_label="attempts of a task",
                series=[
                    Series(
                        label=f"tail index {tail_index:g}",
                        x=waves_left.tolist(),
                        y=[proactive.best_attempts(waves * SLOTS, SLOTS, tail_index) for waves in waves_left],
                    )
                    for tail_index in (1.1, TAIL_INDEX, 2.0)
                ],
                log_x=True,
                log_y=True,
            )
        ],
    )


def equation_3(results: Results) -> Finding:
    """Early waves with copies of late tasks."""
    rates = {name: [early_rate(wait(one), one) for one in TAIL_INDICES] for name, wait in WAITS.items()}
    heavy = [at for at, tail_index in enumerate(TAIL_INDICES) if tail_index < 2.0]
    light = {tail_index: early_rate(ras_wait(tail_index), tail_index) for tail_index in (2.0, 2.5, 3.0)}
    waits = np.linspace(0.0, LONGEST_WAIT, 51)
    return Finding(
        claims=[
            Claim(
                statement="Both GS and RAS gain in early waves at tail indices below 2, RAS more.",
                held=all(rates["RAS"][at] > rates["GS"][at] > 1.0 for at in heavy),
                numbers="; ".join(
                    f"{name} " + ", ".join(f"{rate:.3f} at {TAIL_INDICES[at]:g}" for at, rate in enumerate(line))
                    for name, line in rates.items()
                ),
            ),
            Claim(
                statement="Guideline 1 of late copies, too: at tail indices of 2 and more they gain nothing.",
                held=all(rate <= 1.0 for rate in light.values()),
                numbers="RAS " + ", ".join(f"{rate:.3f} at {tail_index:g}" for tail_index, rate in light.items()),
            ),
        ],
        charts=[
            Chart(
                title="Work done over work spent in early waves",
                x_label="wait, over the shortest task's time",
                y_label="rate, (3)",
                series=[
                    Series(label=f"tail index {one:g}", x=waits.tolist(), y=[early_rate(wait, one) for wait in waits])
                    for one in (TAIL_INDEX, 1.6, 2.0, 3.0)
                ],
            )
        ],
    )


def _response(waves: float, wait: float) -> float:
    return response_time(waves * SLOTS, wait, SLOTS, TAIL_INDEX)


@cache
def _least_response(waves: float) -> float:
    return _response(waves, least(lambda wait: _response(waves, wait), 0.05, LONGEST_WAIT))


def over_best(waves: float, wait: float) -> float:
    """A job's response time over the least of any wait up to LONGEST_WAIT.

    >>> round(over_best(waves=1, wait=gs_wait(TAIL_INDEX)), 4)
    1.0011
    """
    return _response(waves, wait) / _least_response(waves)


def figure_4(results: Results) -> Finding:
    """Response times over the wait."""
    at = {name: {waves: over_best(waves, wait(TAIL_INDEX)) for waves in WAVES} for name, wait in WAITS.items()}
    gs, ras = at.values()
    numbers = "; ".join(
        f"{name} {', '.join(f'{ratio:.4f} at {waves}' for waves, ratio in line.items())}" for name, line in at.items()
    )
    even = brentq(
        lambda waves: over_best(waves, gs_wait(TAIL_INDEX)) - over_best(waves, ras_wait(TAIL_INDEX)), 1.0, 2.0
    )
    almost = over_best(1.9, gs_wait(TAIL_INDEX))
    waits = np.linspace(0.0, LONGEST_WAIT, 51)
    return Finding(
        claims=[
            Claim(
                statement="Neither is best everywhere: GS is better with one wave, RAS with more than two.",
                held=gs[1] < ras[1] and all(ras[waves] < gs[waves] for waves in (3, 5)),
                numbers=f"over the best, by waves: {numbers}",
            ),
            Claim(
                statement="Guideline 3: from two waves on RAS is near the best (here: within 1 %).",
                held=all(ras[waves] < 1.0 + NEAR for waves in (2, 3, 5)),
                numbers=f"{100 * (max(ras[waves] for waves in (2, 3, 5)) - 1):.2f} % off at most",
            ),
            Claim(
                statement="Guideline 3: below two waves GS is near the best (here: within 1 %).",
                held=almost < 1.0 + NEAR,
                numbers=f"with 1.9 waves it is {100 * (almost - 1):.2f} % off, with one {100 * (gs[1] - 1):.2f} %",
            ),
            Claim(
                statement="Guideline 3: below two waves GS is better than RAS.",
                held=even > 2.0 - NEAR,
                numbers=f"up to {even:.2f} waves",
            ),
        ],
        charts=[
            Chart(
                title=f"Response time, tail index {TAIL_INDEX:g}",
                x_label="wait, over the shortest task's time",
                y_label="over the best wait's",
                series=[
                    *(
                        Series(
                            label=f"waves: {waves}",
                            x=waits.tolist(),
                            y=[over_best(waves, wait) for wait in waits],
                        )
                        for waves in WAVES
                    ),
                    *(
                        Series(
                            label=name,
                            x=[WAITS[name](TAIL_INDEX)] * len(WAVES),
                            y=list(line.values()),
                            error=[0.0] * len(WAVES),
                            dashed=True,
                        )
                        for name, line in at.items()
                    ),
                ],
            )
        ],
    )


def figure_3_points(scale: Scale) -> list[Point]:
    """Samples of durations."""
    return [_tail(scale)]


def _tail(scale: Scale) -> TailSeen:
    return TailSeen(tail_index=TAIL_INDEX, tail_share=TAIL_SHARE, durations=DURATIONS, runs=SAMPLES[scale])


def figure_3(results: Results) -> Finding:
    """The Hill plot, and that of a line's slope."""
    found = results(_tail(results.scale))
    plots = {name: np.array([one[name] for one in found]) for name in ("Hill", "line")}
    means = {name: plot.mean(axis=0) for name, plot in plots.items()}
    squares = {name: np.mean((plot / TAIL_INDEX - 1.0) ** 2, axis=0) for name, plot in plots.items()}
    flat = [at for at, share in enumerate(SHARES) if FLAT_FROM <= share <= TAIL_SHARE]
    beyond = [at for at, share in enumerate(SHARES) if share > TAIL_SHARE]
    away = np.abs(means["Hill"] / TAIL_INDEX - 1.0).tolist()
    worst = max(away[at] for at in flat)

    def is_nearer(rows: list[int]) -> bool:
        hill, line = (float(one[rows].mean()) for one in squares.values())
        return hill < line

    def errors(rows: list[int]) -> str:
        return "; ".join(
            f"{name} {', '.join(f'{100 * one[at] ** 0.5:.1f} % at {100 * SHARES[at]:g}' for at in rows)}"
            for name, one in squares.items()
        )

    return Finding(
        claims=[
            Claim(
                statement="The plot is flat over a large range of scales (here: within 5 % of 1.259 from 1 to 20 % of "
                "the durations).",
                held=worst <= FLAT_WITHIN,
                numbers=f"{100 * worst:.1f} % off at most, on average over {len(found)} samples",
            ),
            Claim(
                statement="It is not over all scales, because only the tail is Pareto; a fit of all misleads.",
                held=away[-1] > FLAT_WITHIN,
                numbers=f"{means['Hill'][-1]:.2f} by all durations",
            ),
            Claim(
                statement="In the tail Hill's estimate is nearer than a line's slope on a log-log plot.",
                held=is_nearer(flat),
                numbers=f"root of the mean square error by per cent of the durations: {errors(flat)}",
            ),
            Claim(
                statement="It is more robust, also if more is taken for the tail than is Pareto.",
                held=is_nearer(beyond),
                numbers=errors(beyond),
            ),
        ],
        charts=[
            Chart(
                title=f"Tail index by the longest durations, {TAIL_INDEX:g}",
                x_label="of the durations, %",
                y_label="tail index",
                series=[
                    Series(
                        label={"Hill": "Hill", "line": "a line on a log-log plot"}[name],
                        x=[100 * share for share in SHARES],
                        y=means[name].tolist(),
                        error=[estimate(column.tolist()).error for column in plot.T],
                    )
                    for name, plot in plots.items()
                ],
                log_x=True,
            )
        ],
    )
