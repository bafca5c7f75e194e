"""What are copies worth? What shadow mode's would have saved and cost, what ours did, and what the hosts' own did.

REST, the command line and the page all show what `report` returns, and its sentences label every sum of savings.
"""

import re
from collections.abc import Mapping
from math import isfinite, nan
from typing import Annotated, TypeVar

from fastapi import APIRouter, Query, Request
from msgspec import Struct, field
from pydantic import AfterValidator
from pydantic_core import PydanticCustomError
from starlette.responses import Response

from controlplane.api.answers import answer, shows
from controlplane.api.formats import counted, number, seconds
from controlplane.api.reads import runtime_of
from controlplane.model.decisions import DecisionOutcome, DecisionRecord, Result
from controlplane.model.reasons import Action
from controlplane.runtime.live import Runtime
from controlplane.store.recent import DecisionFilter, RecordedDecision
from controlplane.store.rows import StockTally
from controlplane.store.store import Store

Sums = TypeVar("Sums", bound=Struct)
router = APIRouter(prefix="/api/v1")

MOST_DECISIONS = 100_000
"""Most decisions of a report; it reads the newest."""
ESTIMATES = {
    "t_rem": "Time to an attempt's end",
    "t_new": "Duration of a fresh attempt",
    "transfer_ratio": "Transfer for the next stage, over work",
}
"""The words for each estimate."""
_PER_READ = 1000
_RACED = (Result.WON, Result.LOST)
_COUNTED_AS = {
    Result.PENDING: "without_outcome",
    Result.APPLIED: "without_outcome",
    Result.REFUSED: "not_launched",
    Result.EXPIRED: "not_launched",
    Result.MOOT: "not_launched",
    Result.WON: "won",
    Result.LOST: "lost",
}
"""The field of `OrderedCopies` in which an order counts, by its newest news."""
_UNITS_S = {"m": 60, "h": 3600, "d": 86_400}
_DURATION = re.compile(r"^[1-9][0-9]{0,4}[mhd]$")


def _check_duration(text: str) -> str:
    if not _DURATION.fullmatch(text):
        raise PydanticCustomError("duration", "minutes, hours or days, as in 90m, 24h or 7d")
    return text


Since = Annotated[
    str,
    AfterValidator(_check_duration),
    Query(description="How far back: `90m`, `24h`, `7d`.", json_schema_extra={"pattern": _DURATION.pattern}),
]


class ShadowCopies(Struct, kw_only=True):
    """Copies that were decided on but not ordered. Their value is an estimate."""

    copies: int = 0
    """Tasks that would have had one, however often that was decided."""
    without_outcome: int = 0
    """The tasks among them that have not ended: nothing is counted for them."""
    estimated_saved_s: float = 0.0
    """Estimate: seconds by which their tasks would have ended earlier, summed over tasks."""
    estimated_cost_core_s: float = 0.0
    """Estimate: core-seconds that they would have run for, whether they had won or lost."""


class OrderedCopies(Struct, kw_only=True):
    """Copies that were ordered; each is counted in one of the four results."""

    copies: int = 0
    """Copies ordered."""
    without_outcome: int = 0
    """Copies that run, or whose order has no news yet."""
    not_launched: int = 0
    """Copies that the host refused or could not launch in time."""
    won: int = 0
    """Copies that ended before the attempt they were to beat."""
    lost: int = 0
    """Copies that were beaten."""
    estimated_saved_s: float = 0.0
    """Estimate: seconds by which tasks ended earlier, summed over tasks, from what beaten attempts still needed."""
    losing_core_s: float = 0.0
    """Core-seconds of losing copies; measured."""


class ApplicationReport(Struct, kw_only=True):
    """The worth of copies to one application, or to all."""

    source: str = ""
    """The driver, as kind and id; empty for all."""
    name: str = ""
    """Name given by its user; empty if it is no longer attached."""
    shadow: ShadowCopies = field(default_factory=ShadowCopies)
    """Copies that were not ordered, because the mode allowed none."""
    control: OrderedCopies = field(default_factory=OrderedCopies)
    """Copies that were ordered."""
    stock: StockTally = StockTally()
    """The host's own speculation meanwhile, without orders of ours."""


class EstimateError(Struct, frozen=True, kw_only=True):
    """The accuracy of one kind of estimate."""

    estimate: str
    """What was estimated."""
    samples: int
    """How many were compared with the outcome."""
    ratio: float | None
    """Estimate over outcome: above 1 is too much; null if nothing is known yet."""
    spread: float | None
    """The factor around it within which two thirds of them lie; null if nothing is known, and for sums."""
    about: str
    """The ratio in words; empty if nothing is known yet."""


class Report(Struct, frozen=True, kw_only=True):
    """The worth of copies since a given time."""

    since_unix_ms: int
    """Start of the period by the wall clock: milliseconds since 1970."""
    summary: list[str]
    """The totals in words."""
    total: ApplicationReport
    """Report over all applications."""
    applications: list[ApplicationReport]
    """One entry for each application that had a copy, by its source."""
    errors: list[EstimateError]
    """Accuracy of earlier estimates: t_rem and t_new over the latest attempts, savings over this report's copies."""
    complete: bool
    """False while the store cannot be read, or if there are more decisions than a report reads."""


class _Tally:
    """Sums decisions by application, with the predictions for the ordered ones."""

    def __init__(self) -> None:
        self.applications: dict[str, ApplicationReport] = {}
        self._decided: set[tuple[str, int, int, int, int]] = set()
        """Tasks that would have had a copy."""
        self._judged: set[tuple[str, int, int, int, int]] = set()
        """Tasks among them that have ended."""
        self.compared = 0
        self.foretold_s = 0.0
        self.seen_s = 0.0

    def of(self, source: str) -> ApplicationReport:
        """The sums of one application."""
        return self.applications.setdefault(source, ApplicationReport(source=source))

    def add(self, decision: RecordedDecision) -> None:
        """Counts a decision to launch a copy, and its outcome."""
        mine, newest = self.of(decision.record.source), decision.outcomes[-1] if decision.outcomes else None
        if not decision.record.order:
            self._add_shadow(mine.shadow, decision.record, newest)
            return
        _count_ordered(mine.control, newest)
        inputs = decision.record.inputs
        t_rem_s, t_new_s = inputs.get("t_rem_s"), inputs.get("t_new_s")
        foretold_s = nan if t_rem_s is None or t_new_s is None else t_rem_s - t_new_s
        if newest and newest.result in _RACED and isfinite(foretold_s):
            self.compared += 1
            self.foretold_s += max(0.0, foretold_s)
            self.seen_s += newest.saved_s

    def _add_shadow(self, copies: ShadowCopies, record: DecisionRecord, outcome: DecisionOutcome | None) -> None:
        """Decisions about one task are one copy; only the first of them gets an outcome."""
        task = (record.source, record.epoch, record.stage, record.stage_attempt, record.index)
        if task not in self._decided:
            self._decided.add(task)
            copies.copies += 1
            copies.without_outcome += 1
        if outcome is not None and task not in self._judged:
            self._judged.add(task)
            copies.without_outcome -= 1
            copies.estimated_saved_s += outcome.saved_s
            copies.estimated_cost_core_s += outcome.cost_core_s


@router.get("/report", **shows(Report))
async def report_of(request: Request, since: Since = "24h") -> Response:
    """The worth of copies: shadow mode's by estimate, ours and the hosts' own by their outcomes."""
    return answer(await report(runtime_of(request), since))


async def report(runtime: Runtime, since: str) -> Report:
    """The worth of copies from `since` ago, a duration as in `Since`, until now."""
    store, tally = runtime.store, _Tally()
    since_ms = store.wall_ms() - duration_s(since) * 1000
    stock = await store.stock_copies(since_ms)
    complete = await _read_launches(store, since_ms, tally) and stock is not None
    for source, copies in (stock or {}).items():
        tally.of(source).stock = copies
    snapshot = await runtime.overview()
    names = {pool.source: pool.name for pool in snapshot.pools}
    for source, mine in tally.applications.items():
        mine.name = names.get(source) or next((job.application for job in runtime.history.jobs(source)), "")
    applications = [tally.applications[source] for source in sorted(tally.applications)]
    total = _sum(applications)
    return Report(
        since_unix_ms=since_ms,
        summary=[_shadow_sentence(total.shadow), _ordered_sentence(total.control), _stock_sentence(total.stock)],
        total=total,
        applications=applications,
        errors=[
            *(_seen_error(snapshot.accuracy, kind) for kind in ("t_rem", "t_new")),
            _foretold_error(tally),
            _shadow_error(total),
        ],
        complete=complete,
    )


def duration_s(text: str) -> int:
    """Seconds of a duration in minutes, hours or days.

    >>> duration_s("90m"), duration_s("24h"), duration_s("7d")
    (5400, 86400, 604800)
    """
    return int(text[:-1]) * _UNITS_S[text[-1]]


async def _read_launches(store: Store, since_ms: int, tally: _Tally) -> bool:
    """Sums all decisions to launch a copy since then, newest first; False if some could not be read."""
    which, cursor, complete = DecisionFilter(action=Action.LAUNCH_COPY), None, True
    for _ in range(MOST_DECISIONS // _PER_READ):
        page = await store.decisions(which, before=cursor, limit=_PER_READ)
        complete &= page.complete
        recent = [decision for decision in page.decisions if decision.at_unix_ms >= since_ms]
        for decision in recent:
            tally.add(decision)
        cursor = page.cursor
        if cursor is None or len(recent) < len(page.decisions):
            return complete
    return False


def _count_ordered(copies: OrderedCopies, outcome: DecisionOutcome | None) -> None:
    copies.copies += 1
    result = outcome.result if outcome else Result.PENDING
    name = _COUNTED_AS[result]
    setattr(copies, name, getattr(copies, name) + 1)
    if outcome and result in _RACED:
        copies.estimated_saved_s += outcome.saved_s
        copies.losing_core_s += outcome.cost_core_s


def _sum(applications: list[ApplicationReport]) -> ApplicationReport:
    """All of them together."""
    return ApplicationReport(
        shadow=_sum_fields(ShadowCopies, [each.shadow for each in applications]),
        control=_sum_fields(OrderedCopies, [each.control for each in applications]),
        stock=_sum_fields(StockTally, [each.stock for each in applications]),
    )


def _sum_fields(kind: type[Sums], parts: list[Sums]) -> Sums:
    return kind(**{name: sum(getattr(part, name) for part in parts) for name in kind.__struct_fields__})


def _shadow_sentence(copies: ShadowCopies) -> str:
    if not copies.copies:
        return "Shadow mode has not decided on any copy."
    judged = copies.copies - copies.without_outcome
    launched = f"Shadow mode would have launched {counted(copies.copies, 'copy')}"
    if not judged:
        return f"{launched}; none of the tasks has ended yet, so their value is not known."
    who, rest = "it" if copies.copies == 1 else "they", ""
    if copies.without_outcome:
        who, rest = f"the {judged} whose tasks have ended", f"; {copies.without_outcome} more cannot be judged yet"
    return (
        f"{launched}. By estimate, {who} would have saved {seconds(copies.estimated_saved_s)} of task time "
        f"and cost {number(copies.estimated_cost_core_s)} core-seconds{rest}."
    )


def _ordered_sentence(copies: OrderedCopies) -> str:
    if not copies.copies:
        return "No copy has been ordered."
    return (
        f"Control mode has ordered {counted(copies.copies, 'copy')}: {copies.won} won, {copies.lost} lost, "
        f"{copies.not_launched} not launched, {copies.without_outcome} without an outcome yet. "
        f"Task time saved: {seconds(copies.estimated_saved_s)} (estimate); "
        f"the losers took {number(copies.losing_core_s)} core-seconds."
    )


def _stock_sentence(copies: StockTally) -> str:
    if not copies.won + copies.lost:
        return "The hosts' own speculation has ended no copy."
    return (
        f"The hosts' own speculation has ended {counted(copies.won + copies.lost, 'copy')}: {copies.won} won, "
        f"{copies.lost} lost, the losers took {number(copies.losing_core_s)} core-seconds; what was saved is not known."
    )


def _seen_error(accuracy: Mapping[str, float], kind: str) -> EstimateError:
    """The accuracy of an estimate that is always compared with the outcome."""
    ratio = accuracy.get(f"{kind}_median_ratio")
    return EstimateError(
        estimate=ESTIMATES[kind],
        samples=int(accuracy.get(f"{kind}_samples", 0)),
        ratio=ratio,
        spread=accuracy.get(f"{kind}_spread"),
        about="" if ratio is None else f"Half of the estimates were more than {number(ratio)} times what came out.",
    )


def _foretold_error(tally: _Tally) -> EstimateError:
    """Savings of ordered copies: the decision's estimate over the win's, which is 0 if the copy lost."""
    ratio = tally.foretold_s / tally.seen_s if tally.seen_s else None
    times = f"When they were ordered, copies were expected to save {number(ratio)} times the time that they have saved"
    return EstimateError(
        estimate="Time saved by ordered copies",
        samples=tally.compared,
        ratio=ratio,
        spread=None,
        about="" if ratio is None else f"{times}; those that lost have saved none.",
    )


def _shadow_error(total: ApplicationReport) -> EstimateError:
    """A copy's saving as shadow mode estimates it, compared with what ordered ones have saved, over all jobs."""
    judged, raced = total.shadow.copies - total.shadow.without_outcome, total.control.won + total.control.lost
    per_copy_s = total.control.estimated_saved_s / raced if raced else 0.0
    ratio = total.shadow.estimated_saved_s / judged / per_copy_s if judged and per_copy_s else None
    about = (
        ""
        if ratio is None
        else f"By estimate a copy in shadow saves {number(ratio)} times what an ordered one has saved."
    )
    return EstimateError(
        estimate="Time saved by a copy in shadow", samples=min(judged, raced), ratio=ratio, spread=None, about=about
    )
