"""Whose are the gains? Policies under equal caps and equal kills, and conditions changed one by one."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from controlplane.simulator.cluster.workloads import Facebook, Synthetic
from controlplane.simulator.experiments.experiment import Claim, Finding, Results, Scale
from controlplane.simulator.experiments.hopper.comparisons import busy, clear, gain_chart, gains, percent
from controlplane.simulator.experiments.hopper.conditions import (
    BASELINES,
    CAPS,
    DURATIONS,
    EAGER,
    FACEBOOK,
    HOPPER,
    LAST,
    NO_CAP,
    PRIO,
    PRIO_EAGER,
    Fields,
    hopper,
    runs,
)
from controlplane.simulator.experiments.points import Point

CONTESTANTS: dict[str, Fields] = {
    "SRPT+LATE": PRIO,
    "SRPT+LATE without its cap": {**PRIO, **NO_CAP},
    "SRPT+RAS": PRIO_EAGER,
    "Hopper+LATE": HOPPER,
    "Hopper+LATE without its cap": {**HOPPER, **NO_CAP},
    "Hopper+RAS": EAGER,
}
"""In either half the same speculators."""
ALONE = dict(zip(tuple(CONTESTANTS)[3:], tuple(CONTESTANTS)[:3], strict=True))
"""Whose gain over whom is that of Hopper's slots alone."""
KILLS = {"": 0.0, ", beaten ones end": 1.0}
CASES = {f"{most}{kills}": (cap, {"end_beaten": ends}) for kills, ends in KILLS.items() for most, cap in CAPS.items()}
"""What all contestants may do."""
PLACES: dict[str, Fields] = {
    "Synthetic on 400 slots": {"workload": Synthetic(), "machines": 100, "slots_per_machine": 4},
    "Facebook": FACEBOOK,
}
LOADS = (0.6, 0.9)


def _playing(policy: Fields, case: str) -> Fields:
    """A contestant in one of CASES."""
    cap, kills = CASES[case]
    return {**policy, **cap, "speculator_settings": {**policy.get("speculator_settings", {}), **kills}}


def _cells() -> dict[str, Fields]:
    """Every workload at every load in both worlds."""
    return {
        f"{place_name}, offered {load:g}, {name}": {**place, **world, "offered_load": load}
        for place_name, place in PLACES.items()
        for load in LOADS
        for name, world in DURATIONS.items()
    }


def equal_caps_points(scale: Scale) -> list[Point]:
    """Every contestant in every case."""
    return [
        runs(scale, cell, _playing(policy, case))
        for cell in _cells().values()
        for case in CASES
        for policy in CONTESTANTS.values()
    ]


def equal_caps(results: Results) -> Finding:
    """What are Hopper's slots worth, the third attempt, and ending beaten attempts?"""
    claims, charts = [], []
    base = _playing(PRIO, next(iter(CASES)))
    for title, cell in _cells().items():
        lines = {
            name: [gains(results, _playing(policy, case), base, cell) for case in CASES]
            for name, policy in CONTESTANTS.items()
        }
        slots = {
            f"{ours}, {case}": gains(
                results, _playing(CONTESTANTS[ours], case), _playing(CONTESTANTS[theirs], case), cell
            )
            for ours, theirs in ALONE.items()
            for case in CASES
        }
        charts.append(gain_chart(title, f"1 to 4: {'; '.join(CASES)}", range(1, len(CASES) + 1), lines))
        by_case = "; ".join(
            f"{case}: " + ", ".join(f"{name} {percent(line[at])}" for name, line in lines.items())
            for at, case in enumerate(CASES)
        )
        claims.append(
            Claim(
                statement=f"{title}: Hopper gains over SRPT with the same speculator, attempts and kills.",
                held=all(map(clear, slots.values())),
                numbers=f"{title}, {busy(results, cell, base):.0%} busy, Hopper over SRPT: "
                + ", ".join(f"{name} {percent(one)}" for name, one in slots.items())
                + f"; all over SRPT+LATE with 2 attempts: {by_case}",
            )
        )
    return Finding(claims=claims, charts=charts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What is changed for all contestants, and which settings of those that have them."""

    fields: Fields = field(default_factory=dict)
    hopper: Mapping[str, float] = field(default_factory=dict)
    late: Mapping[str, float] = field(default_factory=dict)
    every_speculator: Mapping[str, float] = field(default_factory=dict)

    def on(self, policy: Fields) -> Fields:
        """A policy under it."""
        allocator, _, speculator = policy["policy"].partition("+")
        ours = hopper(speculator, **self.hopper) if allocator == "hopper" else {}
        settings = {
            **policy.get("speculator_settings", {}),
            **self.every_speculator,
            **(self.late if speculator == "late" else {}),
        }
        return {**FACEBOOK, "offered_load": 0.8, **self.fields, **policy, **ours, "speculator_settings": settings}


FREE_MOVES: Fields = {"workload": Facebook(most_transfer_ratio=0.0)}
"""Output moves in no time; a transfer ratio of 0 counts as 1."""
CONDITIONS = {
    **{f"{share:.0%} of the tasks shared": Change(fields={"shared_share": share}) for share in (0.0, 0.25, 0.5)},
    **{f"estimation noise {noise:g}": Change(fields={"noise": noise}) for noise in (0.0, 0.6)},
    "3 attempts": Change(fields=CAPS["3 attempts"]),
    "beaten attempts end": Change(every_speculator={"end_beaten": 1.0}),
    "LATE without its cap": Change(late={"copy_share": 1.0}),
    "a tenth of the slowdowns in the tail": Change(fields={"tail_share": 0.1}),
    "phases cut at 1,500 tasks": Change(fields={"workload": Facebook(most_tasks=1500)}),
    "transfer ratios count as 1": Change(fields=FREE_MOVES),
    "transfer ratios relative to a typical one, jobs in order of their work": Change(
        fields={"relative_transfer": True}, hopper={"order_by_work": 1.0}
    ),
    "no promise of fairness": Change(hopper={"fairness_epsilon": 1.0}),
    "transfer ratios count as 1, no promise of fairness": Change(fields=FREE_MOVES, hopper={"fairness_epsilon": 1.0}),
    "slots are lent until a copy is wanted": Change(hopper={"hold_slots": 0.0}),
    "a tenth of the machines three times as slow": Change(fields={"slow_machine_share": 0.1}),
    "0.2 s to clean up after a kill": Change(fields={"kill_s": 0.2}),
    "400 slots": Change(fields={"machines": 100, "slots_per_machine": 4}),
}
"""Each by itself; the first one is the usual state."""


def conditions_points(scale: Scale) -> list[Point]:
    """Each condition by itself."""
    return [runs(scale, change.on(policy)) for change in CONDITIONS.values() for policy in (PRIO, LAST, HOPPER, EAGER)]


def conditions(results: Results) -> Finding:
    """What do the gains depend on?"""
    notes = []
    for name, change in CONDITIONS.items():
        each = (
            f"{label} over {base_name} {percent(gains(results, change.on(ours), change.on(base)))}"
            for label, ours in (("Hopper+LATE", HOPPER), ("Hopper+RAS", EAGER))
            for base_name, base in BASELINES.items()
        )
        notes.append(f"{name}, {busy(results, change.on(PRIO)):.0%} busy: {'; '.join(each)}")
    return Finding(notes=notes)
