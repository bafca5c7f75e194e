"""Why did a decision come out as it did? One table of codes: recorded, shown on the page, counted in the metrics."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from math import isnan, nan
from typing import Any


class Action(IntEnum):
    """The decision about an attempt, a task or a job."""

    NONE = 0
    LAUNCH_COPY = 1
    KILL_ATTEMPT = 2
    GRANT = 3
    REFUSE_COPY = 4
    RUN_NEXT = 5
    STOP_JOB = 6
    AVOID_HOST = 7
    JOIN = 8
    CAP_EXECUTORS = 9

    @property
    def label(self) -> str:
        """The name used in REST, metrics and pages."""
        return self.name.lower()


class Reason(IntEnum):
    """Reason codes; the numbers are stored, so none is ever reused for something else."""

    NONE = 0
    # why a copy was launched
    SAVES_SLOT_TIME = 1
    LONGEST_TO_END = 2
    ENDS_SOONER = 3
    RUNS_TOO_LONG = 4
    LIKELY_SAVES = 5
    STARTS_WITH_COPIES = 6
    RELAUNCHED = 7
    ENDS_SOONER_ANEW = 8
    WORTH_ITS_PRICE = 9
    # why not, from the task
    ON_SCHEDULE = 10
    TOO_NEW = 11
    SKEW_NOT_STRAGGLER = 12
    CHEAPER_TO_WAIT = 13
    ALREADY_COPIED = 14
    UNKNOWN_DEMAND = 15
    NOT_LONG_ENOUGH = 16
    TOO_FEW_FINISHED = 17
    NOT_SMALL = 18
    ALREADY_RELAUNCHED = 19
    # why not, from the job or the stage
    UNSAFE_OUTPUT = 20
    UNKNOWN_OUTPUT = 21
    OPTED_OUT = 22
    BARRIER = 23
    PIPELINED = 24
    STREAMING = 25
    NO_SPECULATOR = 26
    MOST_ATTEMPTS = 27
    PRICE_TOO_HIGH = 28
    SAVES_TOO_LITTLE = 29
    # why not, from the cluster
    NO_BUDGET_JOB = 30
    NO_BUDGET_POOL = 31
    NO_BUDGET_CLUSTER = 32
    NO_BUDGET_WASTE = 33
    NO_SLOT_IN_TARGET = 34
    NO_OTHER_HOST = 35
    HOST_CANNOT = 36
    MODE = 37
    LAST_ATTEMPT = 38
    ORDER_PENDING = 39
    ORIGINALS_WAIT = 40
    LEFT_ALONE = 41
    NOT_TRIED = 42
    TASK_OVER = 43
    NO_ROOM_IN_QUEUE = 44
    SPECULATOR_CAP = 45
    GAINLESS_COPY = 46
    POLICY_FAILED = 47
    # kills
    KILL_SWITCH = 50
    OPERATOR = 51
    REPLACED = 52
    BEATEN = 53
    NOT_KEPT = 54
    LATE = 55
    # grants
    ALLOCATOR = 60
    TARGETS_BEYOND_SLOTS = 61
    # hosts
    SICK_HOST = 70
    HOST_RECOVERED = 71
    HEALTHY_SLOTS_HELD = 72
    # applications of leaf queues, and drivers
    NO_DRIVER = 80
    JOINED = 81
    OTHER_USER = 82
    UNLISTED = 83
    LISTED_TWICE = 84
    ABOVE_ITS_PART = 85
    EXECUTORS_GIVEN_BACK = 86
    EXECUTORS_FIXED = 87
    # waiting originals
    ORIGINALS_ORDERED = 90
    # why not, from the job's bound
    BEYOND_DEADLINE = 100
    NOT_NEEDED = 101
    SHORTER_WAITS = 102
    NO_DEADLINE = 103
    IN_TIME = 104
    HOPELESS = 105
    NO_SPARE_SLOT = 106
    BEFORE_FIRST_CHECK = 107
    COPY_TOO_LATE = 108
    LOOKED_AT_LATER = 109
    ENOUGH_CLONES = 112
    # why a copy was launched, from the job's bound
    RAISES_POCD = 110
    CLONED = 111
    SWITCHED_TO_GS = 113
    # why a job's PoCD is not known
    TASKS_WAIT = 120
    TASKS_OPTIONAL = 121
    PACE_UNKNOWN = 122
    LATER_STAGES = 123
    # why a job does not have the speculator that its user names
    SPECULATOR_NOT_ALLOWED = 130
    SPECULATOR_UNKNOWN = 131

    @property
    def label(self) -> str:
        """The name used in REST, metrics and pages."""
        return self.name.lower()


WHY_COPIED = frozenset(
    {
        Reason.SAVES_SLOT_TIME,
        Reason.LONGEST_TO_END,
        Reason.ENDS_SOONER,
        Reason.RUNS_TOO_LONG,
        Reason.LIKELY_SAVES,
        Reason.STARTS_WITH_COPIES,
        Reason.RELAUNCHED,
        Reason.ENDS_SOONER_ANEW,
        Reason.WORTH_ITS_PRICE,
        Reason.RAISES_POCD,
        Reason.CLONED,
        Reason.SWITCHED_TO_GS,
        Reason.OPERATOR,
    }
)
"""The codes that speak for a copy."""

WHY_NOT = (
    frozenset(
        reason
        for reason in Reason
        if Reason.ON_SCHEDULE <= reason < Reason.KILL_SWITCH or Reason.BEYOND_DEADLINE <= reason < Reason.TASKS_WAIT
    )
    - WHY_COPIED
)
"""The codes that speak against a copy."""

PRICED = frozenset(
    {
        Reason.WORTH_ITS_PRICE,
        Reason.PRICE_TOO_HIGH,
        Reason.SAVES_TOO_LITTLE,
        Reason.RAISES_POCD,
        Reason.CLONED,
        Reason.SWITCHED_TO_GS,
    }
)
"""The codes whose sentences tell what copies gain and their price: job-seconds, a chance and attempts, or waves."""

STRANGERS = frozenset({Reason.OTHER_USER, Reason.UNLISTED})
"""The codes by which a driver gets no orders."""

LAWS = frozenset({Reason.GAINLESS_COPY, Reason.POLICY_FAILED, Reason.TARGETS_BEYOND_SLOTS})
"""Answers that no policy may give. While it gives one, its pool gets no orders."""


@dataclass(frozen=True, slots=True)
class ReasonText:
    """The text that a reader sees for a code: one sentence with the inputs by name, and its severity (0-3)."""

    sentence: str
    severity: int


TEXTS: dict[Reason, ReasonText] = {
    Reason.NONE: ReasonText("Nothing has been decided yet.", 0),
    Reason.SAVES_SLOT_TIME: ReasonText(
        "A copy saves {saving_s:.1f} slot-seconds: with {running_attempts:.0f} running it needs {t_rem_s:.1f} s more,"
        " a fresh attempt needs {t_new_s:.1f} s.",
        3,
    ),
    Reason.LONGEST_TO_END: ReasonText(
        "Its progress rate is among the slowest of its stage, and it will end last, in {t_rem_s:.1f} s.",
        3,
    ),
    Reason.ENDS_SOONER: ReasonText(
        "A copy ends in {t_new_s:.1f} s, while it needs {t_rem_s:.1f} s, and no original that goes first waits.",
        3,
    ),
    Reason.RUNS_TOO_LONG: ReasonText(
        "It has run {elapsed_s:.1f} s, too long compared with finished tasks of its stage or a set limit.", 3
    ),
    Reason.LIKELY_SAVES: ReasonText(
        "Judging by its finished siblings, a copy likely saves slot time: it needs {t_rem_s:.1f} s more.", 3
    ),
    Reason.STARTS_WITH_COPIES: ReasonText(
        "Its job asks for {demand_s:.1f} slot-seconds; tasks of such a job start with copies.", 3
    ),
    Reason.RELAUNCHED: ReasonText(
        "It has run {elapsed_s:.1f} s where {expected_s:.1f} s were expected: it starts again, and this attempt ends.",
        3,
    ),
    Reason.ENDS_SOONER_ANEW: ReasonText(
        "All slots are busy, and it needs {t_rem_s:.1f} s more, far longer than a fresh attempt: it starts again,"
        " and this attempt ends.",
        3,
    ),
    Reason.WORTH_ITS_PRICE: ReasonText(
        "A copy saves {gain:.1f} job-seconds{cost}: it needs {t_rem_s:.1f} s more, a fresh attempt {t_new_s:.1f} s.",
        3,
    ),
    Reason.ON_SCHEDULE: ReasonText("It ends in {t_rem_s:.1f} s, no later than a fresh copy would.", 0),
    Reason.TOO_NEW: ReasonText(
        "It has not run, or its rate has not been seen, long enough to be judged: {elapsed_s:.1f} s.", 0
    ),
    Reason.SKEW_NOT_STRAGGLER: ReasonText(
        "It has {relative_size:.1f} times its siblings' work and is as fast: a copy would need {t_new_s:.1f} s.", 1
    ),
    Reason.CHEAPER_TO_WAIT: ReasonText(
        "It needs {t_rem_s:.1f} s more; a copy would take {t_new_s:.1f} s on one more slot, which costs more slot time"
        " in total than waiting.",
        1,
    ),
    Reason.ALREADY_COPIED: ReasonText("It has {running_attempts:.0f} attempts running, the most allowed.", 1),
    Reason.UNKNOWN_DEMAND: ReasonText("The remaining work is not known, so no copy can be justified.", 1),
    Reason.NOT_LONG_ENOUGH: ReasonText("It has run {elapsed_s:.1f} s, which is not long for its stage yet.", 0),
    Reason.TOO_FEW_FINISHED: ReasonText("Too few tasks of its stage have finished to say how long is too long.", 0),
    Reason.NOT_SMALL: ReasonText(
        "Its job asks for {demand_s:.1f} slot-seconds, too much for copies at the start under the present load.", 1
    ),
    Reason.ALREADY_RELAUNCHED: ReasonText("It has been restarted once, and is not restarted again.", 1),
    Reason.MOST_ATTEMPTS: ReasonText("It has been started as often as a task may be, ended attempts included.", 1),
    Reason.PRICE_TOO_HIGH: ReasonText(
        "A copy would save {gain:.1f} job-seconds{cost}: it needs {t_rem_s:.1f} s more, a fresh attempt {t_new_s:.1f}"
        " s.",
        1,
    ),
    Reason.SAVES_TOO_LITTLE: ReasonText(
        "A copy would save {gain:.1f} job-seconds{cost}, too little to be sure of: it needs {t_rem_s:.1f} s more, a"
        " fresh attempt {t_new_s:.1f} s.",
        1,
    ),
    Reason.UNSAFE_OUTPUT: ReasonText("A second attempt of this stage could write its output twice.", 2),
    Reason.UNKNOWN_OUTPUT: ReasonText("Nothing is known about what a second attempt of this stage would write.", 2),
    Reason.OPTED_OUT: ReasonText("The user switched copies off for this job.", 2),
    Reason.BARRIER: ReasonText("A barrier stage runs all its tasks together; none may run twice.", 2),
    Reason.PIPELINED: ReasonText("A pipelined stage streams to its children; none of its tasks may run twice.", 2),
    Reason.STREAMING: ReasonText("A streaming query's tasks are never copied.", 2),
    Reason.NO_SPECULATOR: ReasonText("The pool's speculator is `none`.", 0),
    Reason.NO_BUDGET_JOB: ReasonText("The job runs as many copies as it may.", 2),
    Reason.NO_BUDGET_POOL: ReasonText("The pool runs as many copies as it may.", 2),
    Reason.NO_BUDGET_CLUSTER: ReasonText("The cluster runs as many copies as it may.", 2),
    Reason.NO_BUDGET_WASTE: ReasonText("Losing copies have used up their share of core-seconds.", 2),
    Reason.SPECULATOR_CAP: ReasonText("The pool runs as many copies as its speculator allows at once.", 2),
    Reason.NO_SLOT_IN_TARGET: ReasonText("The job already holds its target of {target:.0f} slots.", 2),
    Reason.NO_OTHER_HOST: ReasonText("No other healthy host has room for a copy.", 2),
    Reason.HOST_CANNOT: ReasonText("This host system cannot launch such a copy, or the settings allow none.", 2),
    Reason.MODE: ReasonText("The mode is not `control`, so nothing is ordered.", 1),
    Reason.LAST_ATTEMPT: ReasonText("It is the last live attempt of an unfinished task.", 2),
    Reason.ORDER_PENDING: ReasonText("A copy has been ordered but has not started yet.", 1),
    Reason.ORIGINALS_WAIT: ReasonText("Originals wait for slots, and copies come last here.", 2),
    Reason.LEFT_ALONE: ReasonText("Its last order was refused or expired, so it is left alone for a moment.", 0),
    Reason.NOT_TRIED: ReasonText("Too many copies were tried in this cycle; it is looked at again in the next.", 0),
    Reason.TASK_OVER: ReasonText("The task has ended, or none of its attempts runs.", 1),
    Reason.NO_ROOM_IN_QUEUE: ReasonText("A copy needs one more executor, and the queue has no room for one.", 2),
    Reason.KILL_SWITCH: ReasonText("Copies were switched off.", 3),
    Reason.OPERATOR: ReasonText("An operator asked for it.", 3),
    Reason.REPLACED: ReasonText("A new attempt has taken its place.", 3),
    Reason.BEATEN: ReasonText(
        "It needs {worst_rem_s:.1f} s more, another attempt of its task only {t_rem_s:.1f} s.", 3
    ),
    Reason.NOT_KEPT: ReasonText(
        "The policy has looked at its task again and keeps another attempt of it; the best needs {t_rem_s:.1f} s more.",
        3,
    ),
    Reason.LATE: ReasonText(
        "Its deadline passed {late_s:.1f} s ago, and its user wants it to end then.",
        3,
    ),
    Reason.ALLOCATOR: ReasonText(
        "Its virtual size is {virtual_size:.1f}; its target is {target:.0f} of the pool's {slots:.0f} slots.", 1
    ),
    Reason.SICK_HOST: ReasonText(
        "Work takes {slowness:.1f} times as long there; originals stay off it while fewer than {waves:.0f} times"
        " their job's target are waiting.",
        2,
    ),
    Reason.HOST_RECOVERED: ReasonText(
        "The host is no longer avoided: it is not slower than others beyond what chance explains.", 2
    ),
    Reason.HEALTHY_SLOTS_HELD: ReasonText(
        "The host is no longer avoided: work takes {slowness:.1f} times as long there, but too few slots come free"
        " elsewhere for the waiting tasks.",
        2,
    ),
    Reason.NO_DRIVER: ReasonText("No driver reports for it, so its size is what it runs and asks for.", 0),
    Reason.JOINED: ReasonText(
        "Its driver's jobs have {remaining_tasks:.0f} tasks to go, {container_slots:.3g} at a time in one container.", 1
    ),
    Reason.OTHER_USER: ReasonText(
        "The ResourceManager lists this application for a user other than the driver's, so the driver gets no orders.",
        3,
    ),
    Reason.UNLISTED: ReasonText("The ResourceManager lists no such application, so its driver gets no orders.", 3),
    Reason.LISTED_TWICE: ReasonText("Two queues list this application's id, so its driver counts in neither.", 2),
    Reason.ABOVE_ITS_PART: ReasonText(
        "It holds {held:.0f} executors, its part is {executors:.0f}, and the rest is kept for others of its queue:"
        " its driver releases executors as they fall idle.",
        2,
    ),
    Reason.EXECUTORS_GIVEN_BACK: ReasonText(
        "Its driver may hold as many executors as it likes again: no other application waits, or parts no longer"
        " apply.",
        1,
    ),
    Reason.EXECUTORS_FIXED: ReasonText(
        "It holds {held:.0f} executors, its part is {executors:.0f}; its driver keeps them all, because they are"
        " allocated statically or its shim cannot release them.",
        2,
    ),
    Reason.GAINLESS_COPY: ReasonText(
        "The policy wants a copy that gains nothing, which is not allowed: its pool gets no orders until it stops.", 3
    ),
    Reason.POLICY_FAILED: ReasonText(
        "The policy raised an error, which the server's log shows: its pool gets no orders until it works again.", 3
    ),
    Reason.TARGETS_BEYOND_SLOTS: ReasonText(
        "The policy's targets are negative or exceed the pool's slots, which is not allowed: its pool gets no orders"
        " until they are right.",
        3,
    ),
    Reason.ORIGINALS_ORDERED: ReasonText(
        "The policy orders {named:.0f} of the stage's {waiting:.0f} waiting tasks; the host orders the rest.",
        1,
    ),
    Reason.BEYOND_DEADLINE: ReasonText(
        "A copy would take {t_new_s:.1f} s, and so end after its job's deadline; it needs {t_rem_s:.1f} s.", 2
    ),
    Reason.NOT_NEEDED: ReasonText("Other tasks meet its job's error bound sooner.", 1),
    Reason.NO_DEADLINE: ReasonText(
        "Its job has no deadline, or its stage reads no input; this policy copies for deadlines only.", 0
    ),
    Reason.IN_TIME: ReasonText("It needs {t_rem_s:.1f} s more, and so ends before its job's deadline.", 0),
    Reason.HOPELESS: ReasonText("The job ends after its deadline, whatever copies it gets.", 2),
    Reason.NO_SPARE_SLOT: ReasonText(
        "It needs {t_rem_s:.1f} s more, and may miss its job's deadline; no slot is spare for a copy of it.", 2
    ),
    Reason.COPY_TOO_LATE: ReasonText(
        "It needs {t_rem_s:.1f} s more, and a copy would not end before its job's deadline either.", 2
    ),
    Reason.LOOKED_AT_LATER: ReasonText("It has a copy, and is looked at again later.", 0),
    Reason.ENOUGH_CLONES: ReasonText("It has as many attempts as its job's deadline asks for.", 0),
    Reason.BEFORE_FIRST_CHECK: ReasonText("Its stage has not come far enough for its tasks to be judged.", 0),
    Reason.RAISES_POCD: ReasonText(
        "It needs {t_rem_s:.1f} s more, and may miss its job's deadline; the probability that it is in time rises by"
        " {gain:.2f} with {price:.0f} more attempts at once.",
        3,
    ),
    Reason.CLONED: ReasonText(
        "With one attempt of each task its job would be late with a probability of {gain:.2f}; so each starts with"
        " {price:.0f}.",
        3,
    ),
    Reason.SWITCHED_TO_GS: ReasonText(
        "A copy ends in {t_new_s:.1f} s, while it needs {t_rem_s:.1f} s. With as much left, jobs like its own came to "
        "{gain:.2f} under GS, and to {price:.2f} with RAS first: waves by the deadline, or task times to the end.",
        3,
    ),
    Reason.TASKS_WAIT: ReasonText("Tasks of the job wait for slots; its PoCD is known once all of them run.", 0),
    Reason.TASKS_OPTIONAL: ReasonText(
        "Some of the job's tasks may stay undone, by its error bound; a PoCD is of jobs that need all.", 0
    ),
    Reason.PACE_UNKNOWN: ReasonText(
        "It is not known yet how long a running task, or a copy of it, takes; or no task runs.", 0
    ),
    Reason.LATER_STAGES: ReasonText(
        "The job has running or later stages that read no input: how long they take is not known.", 0
    ),
    Reason.SPECULATOR_NOT_ALLOWED: ReasonText(
        "The operator lets no job name this speculator (`engine.job_speculators`), so the pool's decides.", 2
    ),
    Reason.SPECULATOR_UNKNOWN: ReasonText(
        "The control plane has no speculator of this name, so the pool's decides.", 2
    ),
    Reason.SHORTER_WAITS: ReasonText(
        "An original that waits would end before the deadline, and takes no longer than a copy: {t_new_s:.1f} s.", 1
    ),
}


GUESSED = " Its progress is not known: that time is guessed from its age and from what such tasks take."
"""Follows a sentence with a time left if the input `progress` is not known."""
COPIED = "A copy of it already runs; this is about a further one. "
"""Precedes a sentence against a copy of a task that has one."""


class _Gaps(dict[str, Any]):
    """Renders inputs that a record does not carry as `nan`, so an old record still reads."""

    def __missing__(self, key: str) -> float:
        return nan


def priced(reason: int, gain: float, price: float) -> dict[str, float]:
    """Further inputs of a decision with this code: its gain and its price, if its sentence tells them.

    >>> priced(Reason.WORTH_ITS_PRICE, gain=3.1, price=0.4), priced(Reason.ON_SCHEDULE, gain=3.1, price=0.4)
    ({'gain': 3.1, 'price': 0.4}, {})
    """
    return {"gain": float(gain), "price": float(price)} if reason in PRICED else {}


def _cost(price: float) -> str:
    """A copy's price in words, in job-seconds of those that wait; a negative one is slot time that the copy frees.

    >>> _cost(0.4), _cost(0.01), _cost(0.0)
    (' at a price of 0.4', ' at a price below 0.1', ' at no price')
    >>> _cost(-0.3)
    ', and 0.3 more by the slots that it frees'
    """
    if price <= -0.05:
        return f", and {-price:.1f} more by the slots that it frees"
    if price <= 0.0:
        return " at no price"
    return " at a price below 0.1" if price < 0.05 else f" at a price of {price:.1f}"


def sentence(reason: Reason, inputs: Mapping[str, float | None]) -> str:
    """The text for a code and its inputs; it also says whether a copy runs, and whether a time left is only guessed.

    >>> sentence(Reason.TOO_NEW, {"elapsed_s": 0.4})
    'It has not run, or its rate has not been seen, long enough to be judged: 0.4 s.'
    >>> sentence(Reason.NO_OTHER_HOST, {"running_attempts": 2.0})
    'A copy of it already runs; this is about a further one. No other healthy host has room for a copy.'
    """
    text = TEXTS[reason].sentence
    numbers = _Gaps((name, nan if value is None else value) for name, value in inputs.items())
    numbers["cost"] = _cost(numbers["price"])
    is_guess = "{t_rem_s:" in text and isnan(numbers.get("progress", 0.0))
    is_against = reason in WHY_NOT and "{running_attempts:" not in text
    is_copied = is_against and numbers.get("running_attempts", 0.0) > 1
    return is_copied * COPIED + text.format_map(numbers) + is_guess * GUESSED
