"""Do the figures and equations about relaunching come out? Figures 8 to 10, equations (12) and (13)."""

from collections.abc import Sequence
from functools import partial
from math import inf

from controlplane.policies.redundancy.theory.execution import Execution, every_size, plain
from controlplane.policies.redundancy.theory.queue import busy_share, response_time_s
from controlplane.policies.redundancy.theory.relaunch import (
    latency_optimal_factor,
    many_tasks_factor,
    relaunched,
    straggler_relaunch,
)
from controlplane.simulator.experiments.experiment import Chart, Claim, Finding, Results, Scale, Series
from controlplane.simulator.experiments.points.masterworker import Runs
from controlplane.simulator.experiments.redundancy.points import (
    FACTORS,
    LOADS,
    RELAUNCH,
    SMALL,
    SYSTEM,
    TAIL,
    agrees,
    below,
    common_factor,
    largest_miss,
    load_charts,
    mean,
    over_loads,
    plan,
    sweep_charts,
    took,
)
from controlplane.simulator.masterworker.record import Outcome
from controlplane.simulator.statistics import Estimate

SWEPT_LOADS = (0.5, 0.7, 0.8, 0.9)
SIZES = (1, 2, 5, 10, 20, 24, 30, 50, 100)


def figure_8_points(scale: Scale) -> list[Runs]:
    """Every factor at every load."""
    return [
        plan(scale, offered_load=load, relaunch_factor=factor, **RELAUNCH) for load in SWEPT_LOADS for factor in FACTORS
    ]


def figure_8(results: Results) -> Finding:
    """Response times over the relaunch factor."""
    swept = {
        load: [took(results, offered_load=load, relaunch_factor=factor, **RELAUNCH) for factor in FACTORS]
        for load in SWEPT_LOADS
    }
    best = {load: _least(outcomes) for load, outcomes in swept.items()}
    early, busy = swept[0.9][FACTORS.index(1.5)], busy_share(SYSTEM, 0.9, _at_factor(1.5))
    worst = max(largest_miss(partial(_formula_s, load), FACTORS, found) for load, found in swept.items())
    return Finding(
        claims=[
            Claim(
                statement="E[T] increases as w increases beyond a value of about 4.",
                held=all(
                    3.0 <= FACTORS[best[load]] <= 6.0 and below(found[best[load]].response_s, found[-1].response_s)
                    for load, found in swept.items()
                ),
                numbers="; ".join(
                    f"load {load}: {mean(found[best[load]])} at w = {FACTORS[best[load]]:g}, {mean(found[-1])} at 10"
                    for load, found in swept.items()
                ),
            ),
            Claim(
                statement="At a load of 0.9, w = 1.5 drives the system to instability.",
                held=busy >= 1.0 and not early.stable,
                numbers=f"rho by formula {busy:.3f}, simulated {mean(early)}",
            ),
            Claim(
                statement="The M/G/c approximation is accurate (here: within 10 % while less than 90 % of the slots "
                "are busy).",
                held=worst <= 0.1,
                numbers=f"largest difference {worst:.1%}",
            ),
        ],
        charts=sweep_charts("Straggler-relaunch", "relaunch factor w", FACTORS, swept, _formula_s, harmless=inf),
    )


def _least(outcomes: Sequence[Outcome]) -> int:
    """The row of the smallest mean of those that are stable."""
    stable = [row for row, one in enumerate(outcomes) if one.stable]
    return min(stable, key=lambda row: outcomes[row].response_s.mean)


def _at_factor(factor: float) -> Execution:
    return straggler_relaunch(SYSTEM, [factor] * SYSTEM.max_tasks)


def _formula_s(load: float, factor: float, at_large_scale: bool = False) -> float:
    return response_time_s(SYSTEM, load, _at_factor(factor), at_large_scale)


def figure_9(results: Results) -> Finding:
    """One factor for all jobs, or one for each size."""
    each, common = over_loads(results, RELAUNCH), over_loads(results, common_factor)
    response_s = max(abs(each[load].response_s.mean / common[load].response_s.mean - 1.0) for load in LOADS)
    slowdown = max(abs(each[load].slowdown.mean / common[load].slowdown.mean - 1.0) for load in LOADS)
    return Finding(
        claims=[
            Claim(
                statement="There is almost no difference between one w for all jobs and one for each size (here: "
                "below 1 %).",
                held=max(response_s, slowdown) < 0.01,
                numbers=f"E[T] differs by {response_s:.2%} at most, slowdown by {slowdown:.2%}",
            )
        ],
        charts=load_charts(results, {"w for each size": RELAUNCH, "one w for all": common_factor}),
    )


def figure_10(results: Results) -> Finding:
    """Redundancy against relaunching, each at its best."""
    small, relaunch = over_loads(results, SMALL), over_loads(results, common_factor)
    ratio = {load: small[load].slowdown.mean / relaunch[load].slowdown.mean for load in LOADS}
    return Finding(
        claims=[
            Claim(
                statement="Up to a load of 0.8 redundancy yields significantly lower slowdowns than relaunching.",
                held=all(below(small[load].slowdown, relaunch[load].slowdown) for load in LOADS if load <= 0.8),
                numbers="slowdown with redundancy over that with relaunch: "
                + ", ".join(f"{ratio[load]:.2f} at {load}" for load in LOADS),
            ),
            Claim(
                statement="When the load is very high, relaunching is slightly better.",
                held=below(relaunch[0.9].response_s, small[0.9].response_s)
                and below(relaunch[0.9].slowdown, small[0.9].slowdown),
                numbers=f"E[T] at 0.9 {mean(relaunch[0.9])} relaunched, {mean(small[0.9])} with redundancy; slowdown "
                f"{mean(relaunch[0.9], 'slowdown')} and {mean(small[0.9], 'slowdown')}",
            ),
        ],
        charts=load_charts(results, {"Redundant-small": SMALL, "Straggler-relaunch": common_factor}),
    )


def equation_12(results: Results) -> Finding:
    """The relaunch time in closed form."""
    printed = [relaunched(k, many_tasks_factor(k, TAIL), TAIL).latency for k in SIZES]
    best = [relaunched(k, latency_optimal_factor(k, TAIL), TAIL).latency for k in SIZES]
    kept = [plain(k, TAIL).latency for k in SIZES]
    largest = SIZES.index(SYSTEM.max_tasks)
    sizes = range(1, SYSTEM.max_tasks + 1)
    own = every_size(SYSTEM, [relaunched(k, many_tasks_factor(k, TAIL), TAIL) for k in sizes])
    lines = {"relaunch at (12)": printed, "relaunch at the best time": best, "no relaunch": kept}
    return Finding(
        claims=[
            Claim(
                statement="(12) approximates the time of least latency for a job of very many tasks (here: within "
                "1 % for 100 tasks).",
                held=printed[-1] < 1.01 * best[-1],
                numbers=f"latency of 100 tasks {printed[-1]:.3f} b, at best {best[-1]:.3f} b",
            ),
            Claim(
                statement="It does for the paper's own jobs, of up to 10 tasks.",
                held=printed[largest] < 1.01 * best[largest],
                numbers=f"10 tasks take {printed[largest]:.3f} b, {best[largest]:.3f} b at best, {kept[largest]:.3f} b "
                f"without; E[T] at a load of 0.5 {response_time_s(SYSTEM, 0.5, own):.1f} s, "
                f"{_formula_s(0.5, inf):.1f} s without relaunch",
            ),
        ],
        charts=[
            Chart(
                title="Latency of a job",
                x_label="tasks",
                y_label="E[Latency] / b",
                series=[Series(label=label, x=SIZES, y=y) for label, y in lines.items()],
                log_x=True,
            )
        ],
    )


def equation_13(results: Results) -> Finding:
    """Latency and cost of a relaunched job, against a simulation with w = 2."""
    found = took(results, offered_load=0.5, relaunch_factor=2.0, **RELAUNCH)
    run, late = _at_factor(2.0), 2.0**-TAIL
    printed_cost = _at_factor(inf).cost * (late * (1.0 - 2.0) + 1.0)
    latency = Estimate(mean=found.response_s.mean - found.wait_s.mean, error=found.response_s.error)
    return Finding(
        claims=[
            agrees("E[Latency] as printed", run.latency, latency),
            agrees("E[Cost] as printed", printed_cost, found.cost_s),
            agrees("E[Cost] with the time that relaunched tasks have already spent", run.cost, found.cost_s),
        ]
    )
