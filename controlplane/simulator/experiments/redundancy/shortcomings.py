"""Do the results outlive what section VI finds missing? Contention, rough estimates, and cancelling that takes time."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf

from controlplane.policies.redundancy.theory.contention import contended
from controlplane.policies.redundancy.theory.execution import Execution
from controlplane.policies.redundancy.theory.queue import busy_share, response_time_s
from controlplane.policies.redundancy.theory.redundant_small import redundant_small
from controlplane.policies.redundancy.theory.system import System
from controlplane.simulator.experiments.experiment import Chart, Claim, Finding, Results, Scale
from controlplane.simulator.experiments.points.masterworker import Runs
from controlplane.simulator.experiments.redundancy.assumptions import chart, gain, listed, relaunch, small
from controlplane.simulator.experiments.redundancy.points import (
    ALL_TWICE,
    NONE,
    SYSTEM,
    Fields,
    below,
    line,
    mean,
    plan,
    took,
)
from controlplane.simulator.masterworker.record import Outcome

FULL_TAIL_INDEX = 2.25
"""Of slowdowns, when all slots are busy; 3 when none is."""
CONTENDED_LOADS = (0.1, 0.2, 0.3, 0.4, 0.5)
NOISES = (0.0, 0.3, 0.6, 1.0)
CANCEL_S = (0.0, 1.0, 2.0, 5.0, 10.0)
CHANGED_LOAD = 0.7
"""At which estimates are noisy, and cancelling takes time."""


def _all_twice(system: System) -> Execution:
    return redundant_small(system, 2.0, inf)


def _none(system: System) -> Execution:
    return redundant_small(system, 2.0, 0.0)


CONTENDED = {"none": (NONE, _none), "all": (ALL_TWICE, _all_twice)}


def _contended(name: str, load: float) -> Fields:
    """A policy at the load of the arrivals, where tails are as heavy as the slots are full."""
    policy, execution = CONTENDED[name]
    system, offered = contended(SYSTEM, load, FULL_TAIL_INDEX, execution)
    settled = replace(system, slowdown_tail_index=round(system.slowdown_tail_index, 6))
    return policy | {"system": settled, "offered_load": round(offered, 6)}


def contention_points(scale: Scale) -> list[Runs]:
    """None and all twice, with slowdowns that grow with the load and without."""
    steady = [plan(scale, offered_load=load, **policy) for load in CONTENDED_LOADS for policy, _ in CONTENDED.values()]
    return steady + [plan(scale, **_contended(name, load)) for load in CONTENDED_LOADS for name in CONTENDED]


def contention(results: Results) -> Finding:
    """Slowdowns that grow with the load."""
    steady = {
        name: {load: took(results, offered_load=load, **policy) for load in CONTENDED_LOADS}
        for name, (policy, _) in CONTENDED.items()
    }
    grown = {name: {load: took(results, **_contended(name, load)) for load in CONTENDED_LOADS} for name in CONTENDED}
    return Finding(
        claims=[_solved_claim(grown), *_optimism_claims(steady, grown)],
        charts=[
            chart(
                f"Slowdowns with tail index 3, and falling to {FULL_TAIL_INDEX} as slots fill",
                "offered load, as of an idle cluster",
                [
                    line(f"{name}, {label}", CONTENDED_LOADS, ran[name].values())
                    for label, ran in (("steady", steady), ("growing", grown))
                    for name in CONTENDED
                ],
            )
        ],
    )


def _solved_claim(grown: dict[str, dict[float, Outcome]]) -> Claim:
    """The load and E[T] that the recurrence is solved for, against the simulated ones."""
    off_busy = off_s = 0.0
    for name, outcomes in grown.items():
        execution = CONTENDED[name][1]
        for load, one in outcomes.items():
            system, offered = contended(SYSTEM, load, FULL_TAIL_INDEX, execution)
            if one.stable and one.busy_share.mean < 0.9:
                off_busy = max(off_busy, abs(busy_share(system, offered, execution(system)) - one.busy_share.mean))
                formula_s = response_time_s(system, offered, execution(system))
                off_s = max(off_s, abs(formula_s / one.response_s.mean - 1.0))
    return Claim(
        statement="With a tail index that falls with the load, (2) and (11) can be solved numerically (here: the load "
        "within 2 points and E[T] within 10 % of a simulation with that tail index).",
        held=off_busy <= 0.02 and off_s <= 0.1,
        numbers=f"busy share off by {off_busy:.1%} at most, E[T] by {off_s:.1%}",
    )


def _optimism_claims(steady: dict[str, dict[float, Outcome]], grown: dict[str, dict[float, Outcome]]) -> list[Claim]:
    """Whether redundancy looks better where the load leaves slowdowns alone."""
    gains = {
        label: [gain(ran["none"][load], ran["all"][load]) for load in CONTENDED_LOADS]
        for label, ran in (("steady", steady), ("growing", grown))
    }
    limits = [_largest_stable_load(full) for full in (SYSTEM.slowdown_tail_index, FULL_TAIL_INDEX)]
    return [
        Claim(
            statement="Redundancy's effect on response times is overestimated where slowdowns do not grow (here: it "
            "shortens E[T] by less at each load up to 0.5).",
            held=all(b < a for a, b in zip(gains["steady"], gains["growing"], strict=True)),
            numbers=f"E[T] shorter at loads {listed(CONTENDED_LOADS, 1)} by "
            + "; ".join(f"{', '.join(f'{one:.1%}' for one in found)} ({label})" for label, found in gains.items()),
        ),
        Claim(
            statement="Growing slowdowns let redundancy destabilise the system sooner.",
            held=limits[1] < limits[0],
            numbers=f"all jobs expanded are stable by (2) up to {limits[1]:.2f}, with steady slowdowns {limits[0]:.2f}",
        ),
    ]


def _largest_stable_load(full_tail_index: float) -> float:
    """Up to which all jobs may be expanded, by bisection to a thousandth."""
    low, high = 0.0, 1.0
    while high - low > 0.001:
        load = (low + high) / 2
        system, offered = contended(SYSTEM, load, full_tail_index, _all_twice)
        is_stable = busy_share(system, offered, _all_twice(system)) < 1.0
        low, high = (load, high) if is_stable else (low, load)
    return low


def estimates_points(scale: Scale) -> list[Runs]:
    """Both policies, knowing service times ever less."""
    return _changed_points(scale, "service_noise", NOISES)


def estimates(results: Results) -> Finding:
    """Service times that are known roughly."""
    ran = _changed(results, "service_noise", NOISES)
    return Finding(
        claims=[
            Claim(
                statement=f"{name}: service times that are known roughly disrupt it significantly (here: E[T] at least "
                "5 % longer when estimates are off by a factor of e, a standard deviation).",
                held=below(outcomes[0].response_s, outcomes[-1].response_s)
                and outcomes[-1].response_s.mean >= 1.05 * outcomes[0].response_s.mean,
                numbers=f"{name}, noise {listed(NOISES, 1)}: E[T] {', '.join(mean(one) for one in outcomes)}",
            )
            for name, outcomes in ran.items()
        ],
        charts=[_changed_chart("Service times known roughly", "noise of the estimates", NOISES, ran)],
    )


def cancelling_points(scale: Scale) -> list[Runs]:
    """Both policies, cancelling ever more slowly."""
    return _changed_points(scale, "cancel_s", CANCEL_S)


def cancelling(results: Results) -> Finding:
    """Tasks that hold their slots for a while after they were cancelled."""
    ran = _changed(results, "cancel_s", CANCEL_S)
    return Finding(
        claims=[
            Claim(
                statement=f"{name}: results with cancelling that takes no time are optimistic (here: E[T] is longer "
                "when it takes a tenth of the least service time).",
                held=below(outcomes[0].response_s, outcomes[1].response_s),
                numbers=f"{name}, {listed(CANCEL_S, 0)} s to cancel: E[T] {', '.join(mean(one) for one in outcomes)}",
            )
            for name, outcomes in ran.items()
        ],
        charts=[_changed_chart("Cancelling takes time", "seconds to cancel", CANCEL_S, ran)],
    )


CHANGED = {"Redundant-small": small, "Straggler-relaunch": relaunch}


def _changed_points(scale: Scale, field: str, values: Sequence[float]) -> list[Runs]:
    return [
        plan(scale, offered_load=CHANGED_LOAD, **policy(SYSTEM, CHANGED_LOAD), **{field: value})
        for policy in CHANGED.values()
        for value in values
    ]


def _changed(results: Results, field: str, values: Sequence[float]) -> dict[str, list[Outcome]]:
    """What both policies came to as one field of the scenario grows."""
    return {
        name: [
            took(results, offered_load=CHANGED_LOAD, **policy(SYSTEM, CHANGED_LOAD), **{field: value})
            for value in values
        ]
        for name, policy in CHANGED.items()
    }


def _changed_chart(title: str, x_label: str, x: Sequence[float], ran: dict[str, list[Outcome]]) -> Chart:
    return chart(f"{title}, load {CHANGED_LOAD}", x_label, [line(name, x, outcomes) for name, outcomes in ran.items()])
