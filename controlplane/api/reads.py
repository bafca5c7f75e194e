"""What is live? Lists and single items of the published snapshot; none of these requests changes anything.

A snapshot is frozen, so readers use a thread of the web framework and delay no report.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator
from typing import Annotated

import msgspec
from fastapi import APIRouter, Depends, Path, Query, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from controlplane.api import views
from controlplane.api.answers import Cursor, Page, Size, answer, page, shows
from controlplane.api.paths import place, segment
from controlplane.api.problems import not_found
from controlplane.api.samples import SampleView, sample_views
from controlplane.api.views import ApplicationView, GrantView, JobHistory, JobView, PoolSummary, VerdictView
from controlplane.model.snapshot import (
    AttemptState,
    HostState,
    JobState,
    PoolState,
    RequestState,
    Snapshot,
    StageState,
    TaskState,
)
from controlplane.runtime.live import Runtime

router = APIRouter(prefix="/api/v1")


def runtime_of(request: Request) -> Runtime:
    """The app's one runtime."""
    return request.app.state.runtime


async def overview_of(request: Request) -> Snapshot:
    """The published state without tasks and attempts, `runtime.snapshot_age_s` old at most."""
    return await runtime_of(request).overview()


async def snapshot_of(request: Request) -> Snapshot:
    """The published state, `runtime.snapshot_age_s` old at most, and older where it takes long to describe."""
    return await runtime_of(request).snapshot()


Live = Annotated[Snapshot, Depends(overview_of)]
LiveTasks = Annotated[Snapshot, Depends(snapshot_of)]
OneSource = Annotated[str | None, Query(max_length=300, description="Only this source, as kind:id.")]
OneJob = Annotated[str | None, Query(max_length=256, description="Only this job.")]
Number = Annotated[int, Path(ge=0, le=2**53)]
OneStage = Annotated[int | None, Query(ge=0, le=2**53, description="Only this stage.")]


def pools_of(live: Snapshot, source: str | None) -> list[PoolState]:
    """The pools of one source or of all."""
    return [pool for pool in live.pools if source is None or pool.source == source]


def find_pool(live: Snapshot, source: str) -> PoolState:
    """One pool; raises the 404."""
    for pool in live.pools:
        if pool.source == source:
            return pool
    raise not_found(f"no source {source!r} is attached")


def find_job(live: Snapshot, source: str, job: str) -> JobState:
    """One live job; raises the 404."""
    for state in find_pool(live, source).jobs:
        if state.job == job:
            return state
    raise not_found(f"no job {job!r} runs in {source!r}")


def find_task(live: Snapshot, source: str, stage: int, stage_attempt: int, index: int) -> TaskState:
    """One task with live attempts; raises the 404."""
    for task in find_pool(live, source).tasks:
        if (task.stage, task.stage_attempt, task.index) == (stage, stage_attempt, index):
            return task
    raise not_found(f"task {index} of stage {stage}.{stage_attempt} does not run in {source!r}")


def find_attempt(live: Snapshot, source: str, attempt: int) -> AttemptState:
    """One live attempt; raises the 404."""
    for state in find_pool(live, source).attempts:
        if state.attempt == attempt:
            return state
    raise not_found(f"attempt {attempt} does not run in {source!r}")


def _jobs(live: Snapshot, source: str | None, job: str | None) -> Iterator[JobState]:
    for pool in pools_of(live, source):
        yield from (state for state in pool.jobs if job is None or state.job == job)


@router.get("/pools", **shows(Page[PoolSummary]))
def pools(live: Live, cursor: Cursor = None, limit: Size = 100) -> Response:
    """Pools of slots: attached drivers, and leaf queues."""
    return answer(page(map(views.pool_summary, live.pools), lambda pool: place(pool.source), cursor, limit))


@router.get("/pools/{source:id}", **shows(PoolSummary, 404))
def pool(live: Live, source: str) -> Response:
    """One pool."""
    return answer(views.pool_summary(find_pool(live, source)))


@router.get("/applications", **shows(Page[ApplicationView]))
def applications(live: Live, cursor: Cursor = None, limit: Size = 100) -> Response:
    """Attached applications and what their hosts can do."""
    return answer(page(map(views.application_view, live.pools), lambda each: place(each.source), cursor, limit))


@router.get("/applications/{source:id}", **shows(ApplicationView, 404))
async def application(live: Live, source: str) -> Response:
    """One attached application."""
    return answer(views.application_view(find_pool(live, source)))


@router.get("/applications/{source:id}/verdicts", **shows(Page[VerdictView], 404))
async def verdicts(request: Request, live: Live, source: str, cursor: Cursor = None, limit: Size = 100) -> Response:
    """Verdicts on the stages that an attached application has run recently: may they be copied, and why?"""
    find_pool(live, source)
    found = await asyncio.to_thread(Counter, runtime_of(request).history.verdicts(source))
    shown = [VerdictView(verdict=word.label, because=word.because, stages=stages) for word, stages in found.items()]
    return answer(page(shown, lambda each: place(each.verdict, each.because), cursor, limit))


@router.get("/jobs", **shows(Page[JobView]))
def jobs(
    live: Live, source: OneSource = None, job: OneJob = None, cursor: Cursor = None, limit: Size = 100
) -> Response:
    """Live jobs with their sizes, targets and copies."""
    found = map(views.job_view, _jobs(live, source, job))
    return answer(page(found, lambda job: place(job.source, job.job), cursor, limit))


@router.get("/jobs/{source:id}/{job:id}/history", **shows(JobHistory, 404))
async def job_history(request: Request, source: str, job: str) -> Response:
    """One job with all remembered attempts, even after its end; times on the engine's clock."""
    found = runtime_of(request).history.job(source, job)
    if found is None:
        raise not_found(f"job {job!r} of {source!r} is not remembered")
    return answer(views.job_history(found))


@router.get("/jobs/{source:id}/{job:id}", **shows(JobView, 404))
async def job(request: Request, live: Live, source: str, job: str) -> Response:
    """One live job; the problem document of an ended one names its history."""
    try:
        return answer(views.job_view(find_job(live, source, job)))
    except HTTPException:
        if runtime_of(request).history.job(source, job) is None:
            raise
        path = f"/api/v1/jobs/{segment(source)}/{segment(job)}/history"
        raise not_found(f"job {job!r} of {source!r} does not run; what is remembered of it: {path}") from None


@router.get("/stages", **shows(Page[StageState]))
def stages(
    live: Live, source: OneSource = None, job: OneJob = None, cursor: Cursor = None, limit: Size = 100
) -> Response:
    """Live stages, each with the verdict of the write-safety gate."""
    found = (stage for state in _jobs(live, source, job) for stage in state.stages)
    return answer(page(found, lambda each: place(each.source, _digits(each.stage, each.stage_attempt)), cursor, limit))


@router.get("/tasks", **shows(Page[TaskState]))
def tasks(
    live: LiveTasks,
    source: OneSource = None,
    job: OneJob = None,
    stage: OneStage = None,
    cursor: Cursor = None,
    limit: Size = 100,
) -> Response:
    """Tasks that run, each with the reason why it has no further copy."""
    found = (
        task
        for pool in pools_of(live, source)
        for task in pool.tasks
        if job in (None, task.job) and stage in (None, task.stage)
    )
    return answer(page(found, _task_key, cursor, limit))


@router.get("/attempts", **shows(Page[AttemptState]))
def attempts(
    live: LiveTasks,
    source: OneSource = None,
    job: OneJob = None,
    stage: OneStage = None,
    cursor: Cursor = None,
    limit: Size = 100,
) -> Response:
    """Live attempts with their progress and estimates."""
    found = (
        attempt
        for pool in pools_of(live, source)
        for attempt in pool.attempts
        if job in (None, attempt.job) and stage in (None, attempt.stage)
    )
    return answer(page(found, lambda each: place(each.source, _digits(each.attempt)), cursor, limit))


@router.get("/requests", **shows(Page[RequestState]))
def requests(live: Live, source: OneSource = None, cursor: Cursor = None, limit: Size = 100) -> Response:
    """Resource requests that wait for slots."""
    found = (each for pool in pools_of(live, source) for each in pool.requests)
    return answer(page(found, lambda each: place(each.source, _digits(each.request)), cursor, limit))


@router.get("/grants", **shows(Page[GrantView]))
def grants(
    live: Live, source: OneSource = None, job: OneJob = None, cursor: Cursor = None, limit: Size = 100
) -> Response:
    """Container grants: how many slots each job should hold, and whether the grant is in force."""
    found = map(views.grant_view, _jobs(live, source, job))
    return answer(page(found, lambda grant: place(grant.source, grant.job), cursor, limit))


@router.get("/hosts", **shows(Page[HostState]))
def hosts(live: Live, cursor: Cursor = None, limit: Size = 100) -> Response:
    """Machines with their slowness: seconds there per second on a typical one."""
    return answer(page(live.hosts, lambda host: place(host.host), cursor, limit))


@router.get("/samples", **shows(Page[SampleView]))
def samples(live: Live, cursor: Cursor = None, limit: Size = 100) -> Response:
    """Samples by which `grass` switches: mean curves of similar jobs under GS, RAS and `grass` itself."""
    found = enumerate(sample_views(live.samples))
    shown = page(found, lambda numbered: _digits(numbered[0]), cursor, limit)
    return answer(Page(items=[view for _, view in shown.items], cursor=shown.cursor))


@router.get("/state:dump", **shows(Snapshot))
def state_dump(live: LiveTasks) -> Response:
    """Everything live, in one document; encoded by pool, because nothing else runs meanwhile."""
    pools = [msgspec.Raw(msgspec.json.encode(pool)) for pool in live.pools]
    return answer(msgspec.structs.asdict(live) | {"pools": pools})


def _task_key(task: TaskState) -> str:
    return place(task.source, _digits(task.stage, task.stage_attempt, task.index))


def _digits(*numbers: int) -> str:
    """Numbers as text in the same order."""
    return ".".join(f"{number:016}" for number in numbers)
