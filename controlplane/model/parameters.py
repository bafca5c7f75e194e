"""Which numbers steer the engine? Each has a unit, a range and a sentence; the settings page is made from them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from controlplane.model.facts import Mode


def setting(default: Any, low: float, high: float, about: str) -> Any:
    """A dataclass field that carries its range and its sentence."""
    return field(default=default, metadata={"low": low, "high": high, "about": about})


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """Settings of the live engine and the simulator. `controlplane.settings` fills them from file and environment."""

    mode: Mode = Mode.SHADOW
    allocator: str = "hopper"
    speculator: str = "ras"
    allocator_settings: Mapping[str, float] = field(default_factory=dict)
    speculator_settings: Mapping[str, float] = field(default_factory=dict)
    job_speculators: str = field(
        default="",
        metadata={
            "about": "Speculators that a job's user may name for it by `spark.grasshopper.speculator`, separated by"
            " commas; empty for none."
        },
    )
    copy_budget: str = field(
        default="",
        metadata={"about": "Policy that shares copies among all drivers' jobs, within the limits; empty for none."},
    )
    copy_budget_settings: Mapping[str, float] = field(default_factory=dict)
    max_copies_per_task: int = setting(2, 0, 16, "Extra attempts one task may have running at once.")
    job_copy_share: float = setting(
        0.5, 0.0, 1.0, "Copies of one job that may run at once, as a share of the pool's slots (at least one)."
    )
    pool_copy_share: float = setting(
        0.5, 0.0, 1.0, "Copies that may run at once in one pool, as a share of its slots (at least one)."
    )
    cluster_copy_share: float = setting(
        0.5, 0.0, 1.0, "Copies that may run at once everywhere, as a share of all slots (at least one)."
    )
    losing_share: float = setting(
        0.25, 0.0, 1.0, "Core-seconds spent on losing copies, as a share of all core-seconds of the pool."
    )
    losing_allowance_tasks: float = setting(
        0.5, 0.0, 1e6, "Losing copies allowed before the share is applied: typical tasks of the pool per slot."
    )
    lease_ms: int = setting(3000, 200, 60_000, "How long the host's own speculation stays paused after our last reply.")
    order_ttl_ms: int = setting(2000, 50, 60_000, "How long an order may wait at the host before it expires.")
    grant_ttl_ms: int = setting(3000, 200, 60_000, "How long a slot target or cap holds without being renewed.")
    drain_executors: bool = field(
        default=False,
        metadata={
            "about": "Whether drivers are held to their part of a queue while others of it wait, or a cap is set: they"
            " ask for no more executors, start nothing on those beyond it, and release them as they fall idle."
        },
    )
    slow_host_patience: float = setting(
        1.0, 0.0, 10.0, "How readily an original waits for a healthy host instead of starting on a sick one; 0: never."
    )
    startup_prior_s: float = setting(
        5.0, 0.0, 600.0, "Time to first progress that is assumed until an attempt on such an executor has shown it."
    )
    judge_within_ms: int = setting(
        30_000, 1000, 3_600_000, "A job with an attempt that is too new to judge for longer is left to its host."
    )
    idle_interval_ms: int = setting(1000, 50, 60_000, "A source with nothing running reports at least this often.")
    review_interval_ms: int = setting(200, 20, 10_000, "Running attempts are looked at again at least this often.")
