"""Do the figures about spare tasks come out? Redundant-none, -all and -small, figures 2 to 7."""

from collections.abc import Iterable
from functools import partial
from itertools import pairwise

import msgspec

from controlplane.policies.redundancy.theory.queue import response_time_s
from controlplane.policies.redundancy.theory.redundant_small import best_threshold_s, expanded, redundant_small
from controlplane.simulator.experiments.experiment import Chart, Claim, Finding, Results, Scale, Series
from controlplane.simulator.experiments.points.masterworker import Runs
from controlplane.simulator.experiments.redundancy.points import (
    ALL_THREE,
    ALL_TWICE,
    JOBS,
    LOADS,
    NONE,
    SMALL,
    SMALL_THREE,
    SYSTEM,
    THRESHOLDS_S,
    PolicyAtLoad,
    at_load,
    below,
    largest_miss,
    load_charts,
    mean,
    not_tried,
    over_loads,
    plan,
    small_up_to,
    sweep_charts,
    took,
)
from controlplane.simulator.masterworker.record import Outcome
from controlplane.simulator.masterworker.scenario import MasterWorkerScenario
from controlplane.simulator.statistics import QUANTILES, Estimate, Summary

THREE_SPARE: dict[str, PolicyAtLoad] = {
    "None": NONE,
    "All, three spare tasks": ALL_THREE,
    "Small, three spare, best threshold": SMALL_THREE,
}
TAIL_LOADS = (0.1, 0.5, 0.8)
SWEPT_LOADS = (0.3, 0.5, 0.6, 0.7, 0.8, 0.9)


def figure_2(results: Results) -> Finding:
    """The agent's learning curves."""
    return Finding(claims=[not_tried("Q-learning settles fast at load 0.4 and slowly at 0.8.")])


def figure_3(results: Results) -> Finding:
    """Slowdowns and completion times over the load."""
    none, everyone, small = (over_loads(results, policy) for policy in THREE_SPARE.values())
    return Finding(
        claims=[
            Claim(
                statement="Redundant-all destabilises the system beyond a load of 0.6.",
                held=everyone[0.6].stable and not everyone[0.7].stable,
                numbers=f"E[T] at 0.6 {mean(everyone[0.6])}, at 0.7 {mean(everyone[0.7])}",
            ),
            Claim(
                statement="While the load is low, Redundant-all lowers slowdowns and completion times.",
                held=all(
                    below(everyone[load].slowdown, none[load].slowdown)
                    and below(everyone[load].response_s, none[load].response_s)
                    for load in LOADS
                    if load <= 0.5
                ),
                numbers=f"slowdown at 0.1 {mean(everyone[0.1], 'slowdown')} against {mean(none[0.1], 'slowdown')}",
            ),
            Claim(
                statement="Redundant-small stays stable at high load and still mitigates stragglers.",
                held=all(
                    small[load].stable and below(small[load].slowdown, none[load].slowdown) for load in (0.7, 0.8)
                ),
                numbers=f"slowdown at 0.8 {mean(small[0.8], 'slowdown')} against {mean(none[0.8], 'slowdown')}, with "
                "a threshold by formula, not a learned one",
            ),
            not_tried("At low load the learned Redundant-small is worse than Redundant-all."),
        ],
        charts=load_charts(results, THREE_SPARE),
    )


def figure_4_points(scale: Scale) -> list[Runs]:
    """One run of each policy at a low, a middle and a high load."""
    return [_tail_point(scale, load, one) for load in TAIL_LOADS for one in THREE_SPARE.values()]


def figure_4(results: Results) -> Finding:
    """Tails of the slowdowns."""
    found = {
        load: {
            label: msgspec.convert(results(_tail_point(results.scale, load, one))[0], Summary)
            for label, one in THREE_SPARE.items()
        }
        for load in TAIL_LOADS
    }
    none, everyone, _ = (one.slowdown_quantiles for one in found[0.1].values())
    return Finding(
        claims=[
            Claim(
                statement="At low load Redundant-all has the lightest tail.",
                held=all(a < b for a, b in zip(everyone, none, strict=True)),
                numbers=f"slowdowns at shares {_listed(QUANTILES, 3)} of jobs, load 0.1: {_listed(everyone)} against "
                f"{_listed(none)} without redundancy",
            ),
            not_tried("At low load the learned Redundant-small has a heavier tail than Redundant-all."),
        ],
        charts=[_tail_chart(load, runs) for load, runs in found.items()],
    )


def _tail_point(scale: Scale, load: float, policy: PolicyAtLoad) -> Runs:
    return Runs(scenario=MasterWorkerScenario(jobs=JOBS[scale], offered_load=load, **at_load(policy, load)))


def _tail_chart(load: float, runs: dict[str, Summary]) -> Chart:
    series = []
    for label, found in runs.items():
        seen = [(x, share) for x, share in found.slowdown_tail if found.stable and share > 0]
        series.append(Series(label=label, x=[x for x, _ in seen], y=[share for _, share in seen]))
    title = f"Tail of slowdowns, load {load}"
    return Chart(title=title, x_label="x", y_label="Pr{slowdown > x}", series=series, log_x=True, log_y=True)


def figure_5(results: Results) -> Finding:
    """The learned policies."""
    thresholds = [_best_threshold_s(load) for load in LOADS]
    return Finding(
        claims=[
            not_tried("The agent learns to add fewer tasks to larger jobs and at higher load."),
            Claim(
                statement="The best threshold by formula falls with the load in the same way.",
                held=all(lower >= higher for lower, higher in pairwise(thresholds)),
                numbers=f"d* at loads {_listed(LOADS, 1)}: {_listed(thresholds)}",
            ),
        ]
    )


def figure_6_points(scale: Scale) -> list[Runs]:
    """Every threshold at every load, and the best one."""
    policies = (NONE, *(small_up_to(threshold_s) for threshold_s in THRESHOLDS_S), ALL_TWICE, SMALL)
    return [plan(scale, offered_load=load, **policy) for load in SWEPT_LOADS for policy in policies]


def figure_6(results: Results) -> Finding:
    """Response times over the threshold."""
    swept = {
        load: [took(results, offered_load=load, **small_up_to(threshold_s)) for threshold_s in THRESHOLDS_S]
        for load in SWEPT_LOADS
    }
    none, everyone, chosen = (over_loads(results, one, SWEPT_LOADS) for one in (NONE, ALL_TWICE, SMALL))
    best = {load: _least([none[load], *swept[load], everyone[load]]) for load in SWEPT_LOADS}
    return Finding(
        claims=[*_threshold_claims(none, everyone, best), *_approximation_claims(swept, chosen, best)],
        charts=sweep_charts(
            "Redundant-small, r = 2", "threshold d, s", THRESHOLDS_S, swept, _formula_s, harmless=0.0, log_x=True
        ),
    )


def _threshold_claims(
    none: dict[float, Outcome], everyone: dict[float, Outcome], best: dict[float, Estimate]
) -> list[Claim]:
    """Which thresholds the simulations favour."""
    hurts = {load: not one.stable or below(best[load], one.response_s) for load, one in everyone.items()}
    everywhere = ", ".join(f"{mean(one)} at {load}" for load, one in everyone.items())
    return [
        Claim(
            statement="Up to a load of 0.5 even very large jobs may be expanded without harm.",
            held=not (hurts[0.3] or hurts[0.5]),
            numbers=f"E[T] with all jobs expanded {mean(everyone[0.5])} at 0.5, least {best[0.5].mean:.2f}",
        ),
        Claim(
            statement="At 0.6 there is a threshold beyond which expanding hurts.",
            held=hurts[0.6],
            numbers=f"E[T] with all jobs expanded {mean(everyone[0.6])} at 0.6, least {best[0.6].mean:.2f}",
        ),
        Claim(
            statement="From 0.7 on it may drive the system to instability.",
            held=not any(everyone[load].stable for load in (0.7, 0.8, 0.9)),
            numbers=f"E[T] with all jobs expanded {everywhere}",
        ),
        Claim(
            statement="At 0.9 the best threshold is below 10: expand no job.",
            held=_best_threshold_s(0.9) < SYSTEM.min_service_s and not below(best[0.9], none[0.9].response_s),
            numbers=f"d* = {_best_threshold_s(0.9):g}; E[T] of none {mean(none[0.9])}, least {best[0.9].mean:.2f}",
        ),
    ]


def _approximation_claims(
    swept: dict[float, list[Outcome]], chosen: dict[float, Outcome], best: dict[float, Estimate]
) -> list[Claim]:
    """What the M/G/c approximation is worth."""
    worst = max(largest_miss(partial(_formula_s, load), THRESHOLDS_S, found) for load, found in swept.items())
    lost = max(chosen[load].response_s.mean / best[load].mean - 1.0 for load in swept)
    return [
        Claim(
            statement="The M/G/c values follow the simulated ones fairly closely (here: within 10 % while less than "
            "90 % of the slots are busy).",
            held=worst <= 0.1,
            numbers=f"largest difference {worst:.1%}",
        ),
        Claim(
            statement="The approximation finds an accurate estimate of the best threshold (here: E[T] at its d* is "
            "within 2 % of the least that was simulated).",
            held=lost <= 0.02,
            numbers=f"E[T] at d* is at most {lost:.1%} above the least",
        ),
    ]


def figure_7(results: Results) -> Finding:
    """Redundant-small with its best threshold, beside the learned policies."""
    none, everyone, small = (over_loads(results, policy) for policy in (NONE, ALL_TWICE, SMALL))
    return Finding(
        claims=[
            not_tried("Redundant-small performs as well as the learned policies."),
            Claim(
                statement="With its threshold set by formula it acts as Redundant-all at low load.",
                held=all(small[load].response_s == everyone[load].response_s for load in (0.1, 0.3, 0.5)),
                numbers=f"E[T] at 0.5 {mean(small[0.5])} and {mean(everyone[0.5])}",
            ),
            Claim(
                statement="Close to a load of 1 it acts as Redundant-none.",
                held=small[0.9].response_s == none[0.9].response_s,
                numbers=f"E[T] at 0.9 {mean(small[0.9])} and {mean(none[0.9])}",
            ),
        ],
        charts=load_charts(results, {"Redundant-small, r = 2, best threshold": SMALL, "None": NONE}),
    )


def _formula_s(load: float, threshold_s: float, at_large_scale: bool = False) -> float:
    return response_time_s(SYSTEM, load, redundant_small(SYSTEM, 2.0, threshold_s), at_large_scale)


def _best_threshold_s(load: float) -> float:
    return best_threshold_s(SYSTEM, load, expanded(SYSTEM, 2.0))


def _least(outcomes: Iterable[Outcome]) -> Estimate:
    """The smallest mean response time of those that are stable."""
    return min((one.response_s for one in outcomes if one.stable), key=lambda one: one.mean)


def _listed(values: Iterable[float], digits: int = 2) -> str:
    return ", ".join(f"{value:.{digits}f}" for value in values)
