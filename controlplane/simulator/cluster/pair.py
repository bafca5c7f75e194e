"""Which policies decide on the simulated cluster, and what surrounds them?"""

from typing import NamedTuple

from controlplane.deciding.budgets import Limits
from controlplane.model.columns import Floats, Ints


class PolicyPair(NamedTuple):
    """A pair of policies, and what surrounds them."""

    allocator: int
    allocator_settings: Floats
    allocator_weights: Floats
    speculator: int
    speculator_settings: Floats
    speculator_weights: Floats
    copy_budget: int
    """-1 for none."""
    copy_budget_settings: Floats
    copy_budget_weights: Floats
    budgets: bool
    """Whether copies are held to `limits`."""
    limits: Limits
    before_waiting: bool
    """Whether a job's copies go before its own waiting originals."""
    shares_spare: bool
    """Whether its copies go beyond their jobs' targets while slots are idle."""
    wanted_only: bool
    """Whether a job counts slots for the copies it wants now; else for all that its running tasks may have, as the
    engine does."""
    max_copies: int
    tail_index: float
    """What the allocator takes the tail index of durations for."""
    typical_transfer: float
    """Transfer ratio that counts as 1, others relative to it; 0 where they count as they are."""
    orders_waiting: bool
    """Whether the speculator orders waiting originals."""
    orders_bounded: bool
    """Whether only those of jobs with a deadline or an error bound."""
    at_start: bool
    """Whether the speculator copies attempts whose rate cannot be read yet."""
    prepared: Floats
    """What the speculator has prepared for the tasks of each phase, shape (n_phases,)."""
    explores: Ints
    """The policy that each job tries wholly, shape (n_jobs,); empty where the speculator goes by no samples."""
    foresees_jobs: bool
    """Whether the allocator knows what the originals of open phases will take."""
    foresees_attempts: bool
    """Whether the speculator knows what attempts will take, the next one of a task included."""
    locality_percent: float
    """Share of the jobs, the smallest, that may be served first for a task local to a free slot."""
    cycle_s: float
    """Time between reviews of all that runs; 0 for one at every event, and when a rate becomes readable."""
