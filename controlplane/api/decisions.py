"""What was decided, on which inputs and with which outcome? Why was this attempt copied, or not?"""

from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Path, Query, Request
from msgspec.structs import replace
from starlette.exceptions import HTTPException
from starlette.responses import Response

from controlplane.api.answers import Page, Size, answer, shows
from controlplane.api.problems import not_found
from controlplane.api.reads import LiveTasks, Number, OneSource, pools_of, runtime_of
from controlplane.api.views import DecisionView, WhyView, decision_view
from controlplane.api.why import why_view
from controlplane.hosts import driver_sources
from controlplane.model.cluster import TaskKey
from controlplane.model.decisions import DecisionRecord, Result
from controlplane.model.reasons import Action, Reason
from controlplane.model.snapshot import AttemptState, PoolState, Snapshot
from controlplane.runtime.history import AttemptRecord
from controlplane.runtime.live import Runtime
from controlplane.store.recent import DecisionFilter

router = APIRouter(prefix="/api/v1")

Wanted = Annotated[int | None, Query(ge=0, le=2**53)]
OneRun = Annotated[int | None, Query(ge=0, le=2**53, description="Only this run of the source, by its epoch.")]
_NEWEST = "This run of the source, by its epoch; by default the one in which it runs, else the newest with a decision."
RunOfTask = Annotated[int | None, Query(ge=0, le=2**53, description=_NEWEST)]
if TYPE_CHECKING:
    ActionName = str
    ReasonName = str
else:
    ActionName = Literal[tuple(action.label for action in Action)]
    ReasonName = Literal[tuple(reason.label for reason in Reason)]

OutcomeName = Literal["pending", "applied", "refused", "expired", "moot", "won", "lost"]

_SHOWN_WITH_WHY = 20


@router.get("/decisions", **shows(Page[DecisionView]))
async def decisions(
    request: Request,
    source: OneSource = None,
    epoch: OneRun = None,
    job: Annotated[str | None, Query(max_length=256)] = None,
    stage: Wanted = None,
    stage_attempt: Wanted = None,
    index: Wanted = None,
    attempt: Wanted = None,
    action: Annotated[ActionName | None, Query()] = None,
    reason: Annotated[ReasonName | None, Query()] = None,
    outcome: Annotated[OutcomeName | None, Query(description="The news of its order; pending: none yet.")] = None,
    cursor: Annotated[int | None, Query(ge=0, le=2**62, description="The `cursor` of the page before.")] = None,
    limit: Size = 100,
) -> Response:
    """Decisions, newest first; the older ones come from the store."""
    which = DecisionFilter(
        source=source,
        epoch=epoch,
        job=job,
        stage=stage,
        stage_attempt=stage_attempt,
        index=index,
        attempt=attempt,
        action=Action[action.upper()] if action else None,
        reason=Reason[reason.upper()] if reason else None,
        outcome=Result(outcome) if outcome else None,
    )
    found = await runtime_of(request).store.decisions(which, before=cursor, limit=limit)
    return answer(
        Page(
            items=[decision_view(decision) for decision in found.decisions],
            cursor=None if found.cursor is None else str(found.cursor),
            complete=found.complete,
        )
    )


@router.get("/decisions/{decision}", **shows(DecisionView, 404))
async def decision(request: Request, decision: Annotated[int, Path(ge=0, le=2**62)]) -> Response:
    """One decision with its inputs, alternatives and outcome."""
    found = await runtime_of(request).store.decision(decision)
    if found is None:
        raise not_found(f"decision {decision} is not known")
    return answer(decision_view(found))


@router.get("/tasks/{source:id}/{stage}/{stage_attempt}/{index}/why", **shows(WhyView, 404))
async def why_task(
    request: Request,
    live: LiveTasks,
    source: str,
    stage: Number,
    stage_attempt: Number,
    index: Number,
    epoch: RunOfTask = None,
) -> Response:
    """Why this task was copied, or why it was not."""
    return answer(await _why(runtime_of(request), live, source, (stage, stage_attempt, index), epoch))


@router.get("/attempts/{source:id}/{attempt}/why", **shows(WhyView, 404))
async def why_attempt(
    request: Request, live: LiveTasks, source: str, attempt: Number, epoch: RunOfTask = None
) -> Response:
    """Why this attempt's task was copied, or why it was not; also for attempts that ended recently."""
    runtime = runtime_of(request)
    found = await _task_of(runtime, live, source, attempt, epoch)
    if found is None:
        what = f"attempt {attempt} of {source!r} is not remembered{_in_epoch(epoch)}"
        raise await _not_known(runtime, live, source, what)
    task, run = found
    return answer(await _why(runtime, live, source, task, run))


async def _task_of(
    runtime: Runtime, live: Snapshot, source: str, attempt: int, epoch: int | None
) -> tuple[TaskKey, int] | None:
    """The task of an attempt, and its run: from what runs, what is remembered, or what was decided about it."""
    if pool := _pool_of(live, source, epoch):
        for state in pool.attempts:
            if state.attempt == attempt:
                return _key(state), pool.epoch
    if ended := runtime.history.find(source, attempt, epoch):
        job, record = ended
        return _key(record), job.epoch
    which = DecisionFilter(source=source, epoch=epoch, attempt=attempt)
    for decision in (await runtime.store.decisions(which, limit=1)).decisions:
        return _key(decision.record), decision.record.epoch
    return None


def _key(found: AttemptState | AttemptRecord | DecisionRecord) -> TaskKey:
    return found.stage, found.stage_attempt, found.index


async def _why(runtime: Runtime, live: Snapshot, source: str, key: TaskKey, epoch: int | None) -> WhyView:
    """The answer for the run that is named, else that in which the task runs, else the newest with a decision on it."""
    stage, stage_attempt, index = key
    which = DecisionFilter(source=source, epoch=epoch, stage=stage, stage_attempt=stage_attempt, index=index)
    pool = _pool_of(live, source, epoch)
    task = next((t for t in pool.tasks if (t.stage, t.stage_attempt, t.index) == key), None) if pool else None
    run = pool.epoch if pool and task else await runtime.store.newest_epoch(which)
    if run is None:
        kept = "it does not run, and reasons that are not recorded (on schedule, mode off) are shown only while it does"
        nothing = f"nothing is on record about task {index} of stage {stage}.{stage_attempt}{_in_epoch(epoch)}: {kept}"
        raise await _not_known(runtime, live, source, nothing)
    which = replace(which, epoch=run)
    newest = await runtime.store.decisions(which, limit=_SHOWN_WITH_WHY)
    launches = await runtime.store.decisions(replace(which, action=Action.LAUNCH_COPY), limit=_SHOWN_WITH_WHY)
    found = {decision.record.id: decision for decision in newest.decisions + launches.decisions}
    return why_view(
        task,
        [decision_view(found[number]) for number in sorted(found, reverse=True)],
        source=source,
        epoch=run,
        stage=stage,
        stage_attempt=stage_attempt,
        index=index,
        complete=newest.complete and launches.complete,
    )


def _pool_of(live: Snapshot, source: str, epoch: int | None) -> PoolState | None:
    """The pool of a source, if it is attached, in that run if one is named."""
    return next((pool for pool in pools_of(live, source) if epoch in (None, pool.epoch)), None)


def _in_epoch(epoch: int | None) -> str:
    return "" if epoch is None else f" in epoch {epoch}"


async def _not_known(runtime: Runtime, live: Snapshot, source: str, what: str) -> HTTPException:
    """The 404 about something of a source, or about the source if that is not known either.

    Only drivers have tasks, so an id alone is taken for a driver's.
    """
    if await _has_been(runtime, live, source):
        return not_found(what)
    meant = [name for name in driver_sources(source) if await _has_been(runtime, live, name)]
    hint = f"; did you mean {meant[0]!r}?" if meant else ""
    return not_found(f"no source {source!r} is attached or on record{hint}")


async def _has_been(runtime: Runtime, live: Snapshot, source: str) -> bool:
    """Whether a source is attached, remembered, or has decisions on record."""
    if any(pool.source == source for pool in live.pools) or any(runtime.history.jobs(source)):
        return True
    return bool((await runtime.store.decisions(DecisionFilter(source=source), limit=1)).decisions)
