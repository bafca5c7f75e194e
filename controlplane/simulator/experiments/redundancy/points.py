"""What is simulated for "redundancy and relaunch"? Points on its default system, and how their outcomes are read.

The paper's simulations take 30 runs of 100,000 jobs each (section II, "System configuration"), as scale full does.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from math import nan
from typing import Any

import msgspec
import numpy as np

from controlplane.policies.redundancy.theory.relaunch import best_common_factor
from controlplane.policies.redundancy.theory.system import System
from controlplane.simulator.experiments.experiment import Chart, Claim, Results, Scale, Series
from controlplane.simulator.experiments.points.masterworker import Runs
from controlplane.simulator.masterworker.record import Outcome, outcome
from controlplane.simulator.masterworker.scenario import MasterWorkerScenario
from controlplane.simulator.statistics import Estimate, Summary, estimate

SYSTEM = System()
TAIL = SYSTEM.slowdown_tail_index
LOADS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
THRESHOLDS_S = (10.0, 20.0, 35.0, 50.0, 70.0, 100.0, 140.0, 200.0, 400.0, 1000.0)
FACTORS = (1.1, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 8.0, 10.0)
JOBS = {Scale.SMOKE: 10_000, Scale.FULL: 100_000}
RUNS = {Scale.SMOKE: 10, Scale.FULL: 30}
SURE = 3.0
"""Standard errors by which means must differ to be called different."""


def plan(scale: Scale, **fields: Any) -> Runs:
    """The point of a scenario on the paper's default system."""
    return Runs(scenario=MasterWorkerScenario(jobs=JOBS[scale], **fields), runs=RUNS[scale])


def took(results: Results, **fields: Any) -> Outcome:
    """What that point came to."""
    return outcome(msgspec.convert(results(plan(results.scale, **fields)), list[Summary]))


Fields = dict[str, Any]
PolicyAtLoad = Fields | Callable[[float], Fields]

NONE: Fields = {"policy": "none"}
ALL_THREE: Fields = {"policy": "redundant-all", "spare_tasks": 3}
ALL_TWICE: Fields = {"policy": "redundant-all"}
SMALL_THREE: Fields = {"policy": "redundant-small", "spare_tasks": 3}
SMALL: Fields = {"policy": "redundant-small"}
RELAUNCH: Fields = {"policy": "relaunch"}


def small_up_to(threshold_s: float) -> Fields:
    """Redundant-small with this threshold and r = 2."""
    return SMALL | {"threshold_s": threshold_s}


def common_factor(load: float) -> Fields:
    """Straggler-relaunch with the best w for all jobs at this load."""
    return RELAUNCH | {"relaunch_factor": round(best_common_factor(SYSTEM, load), 6)}


def by_load(*policies: PolicyAtLoad, loads: Sequence[float] = LOADS) -> Callable[[Scale], list[Runs]]:
    """Points of policies at every load."""
    return lambda scale: [plan(scale, offered_load=load, **at_load(one, load)) for load in loads for one in policies]


def at_load(policy: PolicyAtLoad, load: float) -> Fields:
    """The policy's fields at a load."""
    return policy(load) if callable(policy) else policy


def over_loads(results: Results, policy: PolicyAtLoad, loads: Sequence[float] = LOADS) -> dict[float, Outcome]:
    """What a policy came to at every load."""
    return {load: took(results, offered_load=load, **at_load(policy, load)) for load in loads}


def line(label: str, x: Sequence[float], outcomes: Iterable[Outcome], name: str = "response_s", **more: Any) -> Series:
    """Simulated means with errors; unstable ones leave gaps."""
    shown = [getattr(one, name) if one.stable else Estimate(mean=nan, error=nan) for one in outcomes]
    return Series(label=label, x=x, y=[one.mean for one in shown], error=[one.error for one in shown], **more)


def load_charts(results: Results, policies: dict[str, PolicyAtLoad]) -> list[Chart]:
    """Slowdowns and response times over the loads."""
    charts = []
    for name, title in (("slowdown", "Mean job slowdown"), ("response_s", "Mean response time, s")):
        series = [line(label, LOADS, over_loads(results, one).values(), name) for label, one in policies.items()]
        charts.append(Chart(title=title, x_label="offered load", y_label=title, series=series))
    return charts


def below(first: Estimate, second: Estimate) -> bool:
    """Whether the first mean is smaller, surely. Seeds are paired: both met the same jobs and the same luck."""
    gain = estimate([b - a for a, b in zip(first.values, second.values, strict=True)])
    return gain.mean > SURE * gain.error


def mean(one: Outcome, name: str = "response_s") -> str:
    """A simulated mean with its standard error, in words."""
    found = getattr(one, name)
    return f"{found.mean:.2f} ({found.error:.2f})" if one.stable else "unstable"


def agrees(statement: str, formula: float, simulated: Estimate) -> Claim:
    """The claim that a formula gives what was simulated."""
    return Claim(
        statement=f"{statement}, is what a simulation gives.",
        held=abs(formula - simulated.mean) <= SURE * simulated.error,
        numbers=f"formula {formula:.2f}, simulated {simulated.mean:.2f} ({simulated.error:.2f})",
    )


def largest_miss(formula: Callable[[float], float], x: Sequence[float], outcomes: Sequence[Outcome]) -> float:
    """How far a formula is off at most, as a share, where the run is stable and a tenth of the slots is free."""
    known = [(one, at) for one, at in zip(outcomes, x, strict=True) if one.stable and one.busy_share.mean < 0.9]
    return max((abs(formula(at) / one.response_s.mean - 1.0) for one, at in known), default=0.0)


def _formula_line(label: str, formula: Callable[[float], float], x: Sequence[float], ceiling: float) -> Series:
    """A formula's line, left out above a ceiling, where the system is close to instability."""
    values = [formula(at) for at in x]
    return Series(label=label, x=x, y=[value if value < ceiling else nan for value in values], dashed=True)


def sweep_charts(
    title: str,
    x_label: str,
    x: Sequence[float],
    swept: Mapping[float, Sequence[Outcome]],
    formula_s: Callable[..., float],
    harmless: float,
    log_x: bool = False,
) -> list[Chart]:
    """Response times over a policy's setting, a chart for each load: simulated, and by (11) with (9) and with (10).

    `formula_s` takes load and setting; lines are cut half above its value where the setting is `harmless`.
    """
    fine = (np.geomspace if log_x else np.linspace)(x[0], x[-1], 120).tolist()
    charts = []
    for load, outcomes in swept.items():
        at_load_s, ceiling_s = partial(formula_s, load), 1.5 * formula_s(load, harmless)
        series = [
            line("simulated", x, outcomes),
            _formula_line("M/G/c", at_load_s, fine, ceiling_s),
            _formula_line("asymptotic", partial(at_load_s, at_large_scale=True), fine, ceiling_s),
        ]
        y_label = "Mean response time, s"
        charts.append(
            Chart(title=f"{title}, load {load}", x_label=x_label, y_label=y_label, series=series, log_x=log_x)
        )
    return charts


def not_tried(statement: str) -> Claim:
    """A claim about the learning agent, which is not part of Grasshopper."""
    return Claim(statement=statement, held=None, numbers="there is no Deep Q-learning agent here")
