"""Which policies are there, what do they need of a host, what can be set? The one table of their names."""

from collections.abc import Iterable
from dataclasses import replace

from controlplane.model.errors import BadSetting
from controlplane.policies import dispatch
from controlplane.policies.copy_priority import JOB, LAST
from controlplane.policies.policy import Keeps, Kind, Policy, Setting, table

_ORDERING = frozenset({"order_pending"})
_COPYING = frozenset({"max_copies"})
_ATTEMPTS_AT_START = Setting(
    name="attempts_at_start",
    default=2.0,
    low=1.0,
    high=16.0,
    about="Attempts that a task starts with, its original among them.",
)
_COPY_PRIORITY = Setting(
    name="copy_priority",
    default=JOB,
    low=JOB,
    high=LAST,
    about="0: a copy competes at its job's priority; 1: it starts only when no original waits in the pool.",
    switch=True,
)

TABLE = table(
    Policy(
        name="fifo",
        kind=Kind.ALLOCATOR,
        code=dispatch.FIFO,
        about="First come, first served.",
        needs=_ORDERING,
        keeps=frozenset({Keeps.WORK_CONSERVING}),
    ),
    Policy(
        name="fair",
        kind=Kind.ALLOCATOR,
        code=dispatch.FAIR,
        about="Slots in proportion to the jobs' weights.",
        needs=_ORDERING,
        keeps=frozenset({Keeps.WORK_CONSERVING, Keeps.FAIR_FLOOR}),
    ),
    Policy(
        name="srpt",
        kind=Kind.ALLOCATOR,
        code=dispatch.SRPT,
        about="The job with the least work left first.",
        needs=_ORDERING,
        keeps=frozenset({Keeps.WORK_CONSERVING}),
    ),
    Policy(
        name="fixed",
        kind=Kind.ALLOCATOR,
        code=dispatch.FIXED,
        about="Targets and caps set over REST; jobs without one share the rest fairly.",
        needs=_ORDERING,
    ),
    Policy(
        name="budgeted",
        kind=Kind.ALLOCATOR,
        code=dispatch.BUDGETED,
        about="The least work left first, and a fixed share of the slots for copies alone.",
        source="Hopper (SIGCOMM'15), section 3.1",
        needs=_ORDERING,
        settings=(
            Setting(
                name="reserved_share",
                default=0.1,
                low=0.0,
                high=1.0,
                about="Share of the pool's slots that originals may not use (at least one, never the last).",
            ),
        ),
    ),
    Policy(
        name="hopper",
        kind=Kind.ALLOCATOR,
        code=dispatch.HOPPER,
        about="Slots by virtual size, which counts the copies a job will want; smallest first when short.",
        source="Hopper (SIGCOMM'15), section 4",
        needs=_ORDERING,
        settings=(
            Setting(
                name="fairness_epsilon",
                default=0.1,
                low=0.0,
                high=1.0,
                about="Part of its fair share that a job may lose to smaller ones; 1 promises nothing.",
            ),
            Setting(
                name="multiplier_cap",
                default=2.0,
                low=1.0,
                high=16.0,
                about="The most slots counted per task, however heavy the tail of durations is.",
            ),
            Setting(
                name="round_up",
                default=1.0,
                low=0.0,
                high=1.0,
                about="1 rounds virtual sizes up, so that a last task has a slot for its copy; 0 down, as printed.",
                switch=True,
            ),
            Setting(
                name="hold_slots",
                default=0.0,
                low=0.0,
                high=1.0,
                about="1 keeps slots within a target free for copies yet to come, as printed; 0 lends them out.",
                switch=True,
            ),
        ),
        keeps=frozenset({Keeps.WORK_CONSERVING, Keeps.FAIR_FLOOR}),
    ),
    Policy(
        name="none",
        kind=Kind.SPECULATOR,
        code=dispatch.NONE,
        about="No copies.",
    ),
    Policy(
        name="late",
        kind=Kind.SPECULATOR,
        code=dispatch.LATE,
        about="Tasks slower than most of their stage, the one that ends last first.",
        source="LATE (OSDI'08), section 4",
        needs=_COPYING,
        settings=(
            Setting(
                name="copy_share",
                default=0.1,
                low=0.0,
                high=1.0,
                about="Copies that may run at once, as a share of the pool's slots (at least one).",
            ),
            Setting(
                name="slow_task_share",
                default=0.25,
                low=0.0,
                high=1.0,
                about="Share of a stage's running tasks that count as slow, by progress rate.",
            ),
            _COPY_PRIORITY,
        ),
    ),
    Policy(
        name="mantri",
        kind=Kind.SPECULATOR,
        code=dispatch.MANTRI,
        about="Tasks whose copy likely saves slot time by what finished siblings took, the longest to run first.",
        source="Mantri (OSDI'10), section 5.1",
        needs=_COPYING,
        settings=(
            Setting(
                name="confidence",
                default=0.25,
                low=0.0,
                high=1.0,
                about="A copy must save slot time with more than this probability.",
            ),
            Setting(
                name="max_attempts",
                default=3.0,
                low=1.0,
                high=16.0,
                about="The most attempts of one task at once, and for a task that starts anew the most ever.",
            ),
            _COPY_PRIORITY,
            Setting(
                name="kill_margin_s",
                default=60.0,
                low=0.0,
                high=1e9,
                about="Seconds that an attempt ends after another, or in a full pool after a fresh one, to be killed.",
            ),
        ),
        by_finished=True,
    ),
    Policy(
        name="stock-spark",
        kind=Kind.SPECULATOR,
        code=dispatch.STOCK_SPARK,
        about="Tasks that have run much longer than the median of their stage, as Spark 4 finds them by itself.",
        source="Spark 4, TaskSetManager.checkSpeculatableTasks",
        needs=_COPYING,
        settings=(
            Setting(
                name="quantile",
                default=0.9,
                low=0.0,
                high=1.0,
                about="Share of a stage's tasks that must have finished before any is copied.",
            ),
            Setting(
                name="multiplier",
                default=3.0,
                low=1.0,
                high=100.0,
                about="A task is slow once it has run this many times the median duration.",
            ),
            Setting(
                name="min_runtime_s",
                default=0.1,
                low=0.0,
                high=1e9,
                about="A task is left alone for at least this long.",
            ),
            Setting(
                name="duration_threshold_s",
                default=0.0,
                low=0.0,
                high=1e9,
                about="While few have finished of a stage that fits one executor, a task is slow after this long.",
            ),
            Setting(
                name="efficiency",
                default=1.0,
                low=0.0,
                high=1.0,
                about="1 excuses slow tasks that keep pace with their siblings; 0 does not ask.",
                switch=True,
            ),
            Setting(
                name="process_rate_multiplier",
                default=0.75,
                low=0.0,
                high=1.0,
                about="A task keeps pace from this share of its siblings' rate on.",
            ),
            Setting(
                name="long_run_factor",
                default=2.0,
                low=1.0,
                high=100.0,
                about="After this many thresholds no pace excuses a task.",
            ),
            _COPY_PRIORITY,
        ),
        by_finished=True,
    ),
    Policy(
        name="ras",
        kind=Kind.SPECULATOR,
        code=dispatch.RAS,
        about="Tasks whose copy costs less slot time than waiting, the highest saving first.",
        source="GRASS (NSDI'14), section 3.1",
        needs=_COPYING,
        settings=(
            Setting(
                name="greedy_when_idle",
                default=1.0,
                low=0.0,
                high=1.0,
                about="1 copies whatever ends sooner by it on a slot that no original waits for; 0 never does.",
                switch=True,
            ),
            Setting(
                name="sooner_by_s",
                default=0.5,
                low=0.0,
                high=1e6,
                about="On a free slot, a copy must end sooner by more than this, in seconds.",
            ),
            Setting(
                name="sooner_times",
                default=1.3,
                low=1.0,
                high=100.0,
                about="On a free slot, what runs must need more than this many times as long as the copy.",
            ),
            _COPY_PRIORITY,
        ),
        before_waiting=True,
    ),
    Policy(
        name="redundant-all",
        kind=Kind.SPECULATOR,
        code=dispatch.REDUNDANT_ALL,
        about="Every task starts with copies.",
        source="Redundancy and relaunch, section III",
        needs=_COPYING,
        settings=(_ATTEMPTS_AT_START,),
        at_start=True,
    ),
    Policy(
        name="redundant-small",
        kind=Kind.SPECULATOR,
        code=dispatch.REDUNDANT_SMALL,
        about="Tasks of jobs with little demand start with copies; how little follows from the load.",
        source="Redundancy and relaunch, section IV",
        needs=_COPYING,
        settings=(
            _ATTEMPTS_AT_START,
            Setting(
                name="max_tasks",
                default=10.0,
                low=1.0,
                high=100.0,
                about="The most tasks that a job of the usual kind has; larger ones are small only where all are.",
            ),
            Setting(
                name="min_service_s",
                default=10.0,
                low=1e-3,
                high=1e9,
                about="What a task of such a job takes at least.",
            ),
            Setting(
                name="service_tail_index",
                default=3.0,
                low=0.1,
                high=100.0,
                about="Tail index of what such tasks take, stragglers aside.",
            ),
        ),
        at_start=True,
    ),
    Policy(
        name="relaunch",
        kind=Kind.SPECULATOR,
        code=dispatch.RELAUNCH,
        about="Tasks older than so many times what was expected of them are killed and started anew, once.",
        source="Redundancy and relaunch, section V",
        needs=_COPYING | {"kill_copy"},
        settings=(
            Setting(
                name="relaunch_factor",
                default=0.0,
                low=0.0,
                high=100.0,
                about="The age at which they are, over what was expected; 0: the best for the stage's number of tasks.",
            ),
        ),
        before_waiting=True,
    ),
)

_CLAIRVOYANT = {
    "srpt": "The job with the least work left first, by what its tasks will really take.",
    "ras": "Copies that will save slot time, by what attempts will really take.",
}
FORESEEING: tuple[Policy, ...] = tuple(
    replace(row, name="clairvoyant", about=_CLAIRVOYANT[row.name]) for row in TABLE if row.name in _CLAIRVOYANT
)
"""Rules of the table for those who know the future, which only a simulator does: what others are to be measured by."""


def allocator(name: str) -> Policy:
    """The allocator of this name. Raises BadSetting, naming those there are."""
    return _row(Kind.ALLOCATOR, name, TABLE)


def speculator(name: str) -> Policy:
    """The speculator of this name. Raises BadSetting, naming those there are."""
    return _row(Kind.SPECULATOR, name, TABLE)


def parse_policy(text: str, rows: Iterable[Policy] = TABLE) -> tuple[Policy, Policy]:
    """The pair behind "allocator+speculator". Raises BadSetting, naming those that there are among the rows.

    >>> [row.name for row in parse_policy("hopper+ras")]
    ['hopper', 'ras']
    """
    left, plus, right = text.partition("+")
    if not plus:
        allocators, speculators = (", ".join(names(kind, rows)) for kind in (Kind.ALLOCATOR, Kind.SPECULATOR))
        want = f'an allocator ({allocators}) and a speculator ({speculators}), as in "hopper+ras"'
        raise BadSetting("policy", got=text, want=want)
    return _row(Kind.ALLOCATOR, left.strip(), rows), _row(Kind.SPECULATOR, right.strip(), rows)


def names(kind: Kind, rows: Iterable[Policy] = TABLE) -> list[str]:
    """The names of one kind, in the order of the rows."""
    return [row.name for row in rows if row.kind is kind]


def _row(kind: Kind, name: str, rows: Iterable[Policy]) -> Policy:
    found = next((row for row in rows if (row.kind, row.name) == (kind, name)), None)
    if found is None:
        raise BadSetting(f"engine.{kind}", got=name, want=" or ".join(names(kind, rows)))
    return found
