"""What do people see of the samples by which a policy switches? One entry for each bucket and policy that has any."""

from collections.abc import Mapping

from msgspec import Struct

from controlplane.estimators.samples import BUSY, FAIR, FULL, LARGE, MEDIUM, POINTS, POOR, size_level, unpacked
from controlplane.model.snapshot import JobState
from controlplane.policies.registry import TABLE

SIZES = (f"below {MEDIUM} tasks", f"{MEDIUM} to {LARGE - 1} tasks", f"{LARGE} tasks or more")
UTILIZATIONS = (f"below {100 * BUSY:.0f} %", f"{100 * BUSY:.0f} to {100 * FULL:.0f} %", f"{100 * FULL:.0f} % or more")
ACCURACIES = (f"up to {FAIR:g}", f"up to {POOR:g}", f"above {POOR:g}")
POLICIES = next((row.name, *row.tries) for row in TABLE if row.explores)


class SampleView(Struct, frozen=True, kw_only=True):
    """The mean curve of similar jobs that ran wholly under one policy."""

    policy: str
    """The one of two that explorers tried wholly, or for all other jobs the one that goes by these samples."""
    has_deadline: bool
    """Whether they had a deadline."""
    size: str
    """How many tasks they had."""
    utilization: str
    """How much of their pool's slots was in use."""
    estimate_error: str
    """Mean absolute log error of their pool's estimates."""
    samples: float
    """How many jobs count, newer ones more."""
    curve: list[float | None]
    """With a deadline, waves done after 0.5, 1, 1.5 ... task times, else task times taken by as many waves."""


def sample_views(samples: Mapping[str, list[float]]) -> list[SampleView]:
    """The samples of a snapshot, by bucket, and in it in the order of POLICIES.

    >>> (view,) = sample_views({"1": [2.0, *[0.0] * (POINTS - 1), 3.0, *[0.0] * (POINTS - 1)]})
    >>> view.policy, view.size, view.samples, view.curve[:2]
    ('gs', 'below 50 tasks', 2.0, [1.5, None])
    """
    found = []
    for row in sorted(map(int, samples)):
        weights, sums = samples[str(row)][:POINTS], samples[str(row)][POINTS:]
        has_deadline, size, utilization, accuracy, policy = unpacked(row)
        found.append(
            SampleView(
                policy=POLICIES[policy],
                has_deadline=bool(has_deadline),
                size=SIZES[size],
                utilization=UTILIZATIONS[utilization],
                estimate_error=ACCURACIES[accuracy],
                samples=max(weights),
                curve=[total / weight if weight else None for weight, total in zip(weights, sums, strict=True)],
            )
        )
    return found


def samples_like(job: JobState, samples: Mapping[str, list[float]]) -> list[SampleView]:
    """Those of jobs of its size, with a deadline or without as it is; none if its speculator goes by none."""
    if not job.policy.endswith(f"+{POLICIES[0]}"):
        return []
    tasks = sum(stage.n_tasks for stage in job.stages if not stage.closing)
    alike = job.deadline_s is not None, SIZES[size_level(tasks)]
    return [one for one in sample_views(samples) if (one.has_deadline, one.size) == alike]
