"""How right is a PoCD? Of simulated jobs with deadlines, whose estimates and decisions are the live engine's.

Jobs of ten tasks on 138 slots have 20 % less than their ideal time to four times as much. Attempts work at an even
pace, so that a pace that is seen foretells an end almost exactly. An error is the mean over jobs of the distance, in
their bin of a tenth, between what was promised and the share kept; the peer is the Brier score of that share, promised
to all.
"""

from controlplane.estimators.calibration import calibrate
from controlplane.model.decisions import Promise
from controlplane.simulator.cluster.bounds import Bounds
from controlplane.simulator.cluster.workloads import Synthetic
from controlplane.simulator.live.scenario import EngineScenario

JOBS, SEEDS = 500, (1, 2, 3, 4)
GOAL_ERROR = 0.05
WITHOUT_COPIES = "fifo+none"
POLICIES = ("fifo+shed-plus", WITHOUT_COPIES)
PROMISES = ("first_pocd", "first_with_copies", "newest_pocd")


def rows() -> list[dict]:
    """Benchmark rows `pocd-calibration <policy> <promise>`; a ratio is of Brier scores, ours over the peer's.

    Without copies a promise with copies is none, and has no row.
    """
    found = {policy: [each for seed in SEEDS for each in scenario(policy).promises(seed)] for policy in POLICIES}
    return [
        _row(policy, which, promises)
        for policy, promises in found.items()
        for which in PROMISES
        if policy != WITHOUT_COPIES or which != "first_with_copies"
    ]


def scenario(policy: str) -> EngineScenario:
    """The jobs of one seed under these policies."""
    return EngineScenario(
        policy=policy,
        workload=Synthetic(least_tasks=10, most_tasks=10, service_s=20.0),
        max_copies=5,
        machines=138,
        slots_per_machine=1,
        launch_s=2.0,
        cycle_s=0.5,
        offered_load=0.4,
        jobs=JOBS,
        bounds=Bounds(slack=(-0.2, 3.0)),
    )


def _row(policy: str, which: str, promises: list[Promise]) -> dict:
    known = [(pocd, each.kept) for each in promises if (pocd := getattr(each, which)) is not None]
    found = calibrate([pocd for pocd, _ in known], [kept for _, kept in known])
    return {
        "name": f"pocd-calibration {policy} {which}",
        "value": round(found.mean_error, 3),
        "goal": GOAL_ERROR,
        "met": found.mean_error <= GOAL_ERROR and found.brier < found.constant_brier,
        "unit": "PoCD",
        "peer": f"Brier {found.brier:.3f}, constant {found.constant_brier:.3f}",
        "ratio": round(found.brier / found.constant_brier, 2),
        "runs": found.jobs,
        "spread": None,
    }
