"""Which addresses does the decision page have, and what does each show? Links and forms; scripts only add comfort."""

import asyncio
import contextlib
import hashlib
import heapq
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlencode

from fastapi import APIRouter, Depends, Query, Request
from fastapi import Path as PathParameter
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from msgspec.structs import replace

from controlplane.api.formats import FILTERS, job_path, quantity
from controlplane.api.operate import LONGEST_REASON
from controlplane.api.page import comparison, jobs, overview
from controlplane.api.page import promises as promised
from controlplane.api.page.allocation import AllocationChart, allocation_chart, held_by
from controlplane.api.page.decisions import CHOICES, ShownDecision, Why, why
from controlplane.api.page.reading import Reader
from controlplane.api.page.timeline import WINDOW_ROWS, Timeline, layout, most_interesting, task_of
from controlplane.api.promises import promises
from controlplane.api.report import Since, report
from controlplane.api.samples import samples_like
from controlplane.hosts import driver_sources, is_queue
from controlplane.model.decisions import Result
from controlplane.model.facts import Mode
from controlplane.model.reasons import Action, Reason
from controlplane.model.snapshot import NamedSpeculator, TaskState
from controlplane.runtime.history import JobRecord
from controlplane.store.recent import DecisionFilter

ROWS = 100
"""Tasks drawn at first; a link shows up to `WINDOW_ROWS`."""
PER_PAGE = 50
PER_TASK = 20
GRANTS_DRAWN = 400
DECISIONS = 10
HISTORY_JOBS = 20
HOSTS = 500
CHANGES = 200
REFRESH_S = 5
REPORTS = ("1h", "24h", "7d", "30d")

_ASSETS = {
    path.name: path.read_bytes()
    for path in files("controlplane.api.page").joinpath("static").iterdir()
    if not path.name.startswith(".")
}
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self';"
    " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}

_templates = Environment(
    loader=PackageLoader("controlplane.api.page"),
    autoescape=select_autoescape(default=True),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_templates.filters |= FILTERS | {
    "quantity_of": lambda value, name: quantity(name, value),
    "silent_s": jobs.silent_s,
    "verdict": jobs.verdict,
    "containers": jobs.containers,
}
_templates.globals |= {
    "job_path": job_path,
    "assets_version": hashlib.sha256(b"".join(_ASSETS[name] for name in sorted(_ASSETS))).hexdigest()[:12],
}
_compiled = {name: _templates.get_template(name) for name in _templates.list_templates()}
"""Compiled before the server starts, so that the first reader delays no decision."""

router = APIRouter(include_in_schema=False)


def reader(request: Request) -> Reader:
    """The page's view of the running control plane."""
    return Reader(request.app.state.runtime)


Read = Annotated[Reader, Depends(reader)]
Epoch = Annotated[int | None, Query(ge=0, le=2**53)]


@router.get("/")
async def overview_page(request: Request, read: Read) -> Response:
    """Mode, effect, pools with their jobs, ended jobs, hosts, newest decisions."""
    return await _overview(request, read)


@router.get("/jobs/{source:id}/{job:id}")
async def job_page(
    request: Request,
    read: Read,
    source: str,
    job: str,
    attempt: int | None = None,
    rows: int = ROWS,
    epoch: Epoch = None,
) -> Response:
    """One job in one run of its source: its attempts on a time axis, and why each was copied or not."""
    snapshot = await read.snapshot()
    run = await _run_shown(read, source, job, epoch)
    about = DecisionFilter(source=source, job=job, epoch=run)
    pool = next((pool for pool in snapshot.pools if pool.source == source and run in (None, pool.epoch)), None)
    live = next((one for one in pool.jobs if one.job == job), None) if pool else None
    record = read.job(source, job, run)
    decisions, _ = await read.decisions(about, limit=DECISIONS)
    if live is None and record is None and not decisions:
        return await _missing(
            request, read, f"No job {job} of {source}", "It was never seen or is no longer remembered."
        )
    tasks = [task for task in pool.tasks if task.job == job] if pool else []
    sick = {host.host for host in snapshot.hosts if host.sick} | (record.sick_hosts if record else set())
    shown = min(max(rows, 1), WINDOW_ROWS)
    silent_s = jobs.silent_s(pool) if pool else 0.0
    known_s = snapshot.now_s - silent_s if silent_s else read.now_s
    granted = replace(about, action=Action.GRANT)
    grants, _ = await read.decisions(granted, limit=GRANTS_DRAWN) if record else ([], None)
    ended = None if live else await read.promise(source, job, run)
    timeline = await asyncio.to_thread(
        layout,
        list(record.attempts.values()) if record else [],
        begin_s=record.submitted_s if record else known_s,
        now_s=known_s,
        t_rem_s={one.attempt: one.t_rem_s or 0.0 for one in pool.attempts} if pool else {},
        sick_hosts=sick,
        max_rows=shown,
    )
    chosen = most_interesting(timeline) if attempt is None else attempt
    return await _page(
        request,
        read,
        "job.html",
        refresh_s=REFRESH_S if live else 0,
        view=jobs.job_page(live, record, source=source, name=job, known_s=known_s, silent_s=silent_s, ended=ended),
        job=live,
        named=live.named_speculator if live else _named(read, record),
        record=record,
        is_application=record is not None and record.queued is not None,
        last_grant=grants[0] if grants else None,
        driver_jobs=[one for one in read.jobs() if one.source in driver_sources(job)][:HISTORY_JOBS],
        timeline=timeline,
        chosen=chosen,
        why=await _why(read, record, chosen, tasks, sick, known_s),
        refusals=jobs.refusals(tasks),
        copied=promised.chosen(live.pocd) if live and live.pocd else [],
        samples=samples_like(live, snapshot.samples) if live else [],
        rows_query=f"rows={shown}&" if shown != ROWS else "",
        more_rows=WINDOW_ROWS if shown < WINDOW_ROWS else 0,
        allocation=_allocation(record, grants, timeline, known_s),
        decisions=decisions,
        decisions_path=f"/decisions?{urlencode(about.wanted())}",
    )


def _named(read: Reader, record: JobRecord | None) -> NamedSpeculator | None:
    """The speculator that the user of an ended job has named; None if it is not known, or was none."""
    return read.named_speculator(record.speculator) if record and record.speculator else None


async def _run_shown(read: Reader, source: str, job: str, epoch: int | None) -> int | None:
    """The epoch that a job's page shows: the one asked for, else the newest in which the job is known.

    None for a leaf queue, whose applications outlive its ResourceManager: all decisions about one belong together.
    """
    if is_queue(source):
        return None
    if epoch:
        return epoch
    if record := read.job(source, job):
        return record.epoch
    return await read.newest_epoch(DecisionFilter(source=source, job=job))


async def _why(
    read: Reader, job: JobRecord | None, attempt: int | None, tasks: list[TaskState], sick: set[str], now_s: float
) -> Why | None:
    """The explanation of the chosen attempt, None if none is chosen or known."""
    if job is None or attempt is None or attempt not in job.attempts:
        return None
    chosen = job.attempts[attempt]
    which = DecisionFilter(
        source=job.source,
        epoch=job.epoch,
        stage=chosen.stage,
        stage_attempt=chosen.stage_attempt,
        index=chosen.index,
    )
    newest, _ = await read.decisions(which, limit=PER_TASK)
    launches, _ = await read.decisions(replace(which, action=Action.LAUNCH_COPY), limit=PER_TASK)
    found = {decision.record.id: decision for decision in newest + launches}
    decisions = [found[number] for number in sorted(found, reverse=True)]
    raced = sum(task_of(other) == task_of(chosen) for other in job.attempts.values()) > 1
    return why(chosen, decisions, tasks, now_s=now_s, sick=chosen.host in sick, raced=raced)


def _allocation(
    record: JobRecord | None, grants: list[ShownDecision], timeline: Timeline, now_s: float
) -> AllocationChart | None:
    """The chart of slots, or of an application's containers; None before the first grant, attempt or container."""
    if record is None or not grants or not (timeline.rows or record.queued):
        return None
    end_s = now_s if record.ended_s is None else record.ended_s
    begin_s, span_s = timeline.begin_s, timeline.span_s
    if record.queued:
        begin_s, span_s = record.submitted_s, max(end_s - record.submitted_s, 0.1)
        held = [(each.at_s, float(each.running)) for each in record.containers]
    else:
        held = held_by(record.attempts.values(), begin_s, end_s)
    return allocation_chart(held, [grant.record for grant in grants], begin_s=begin_s, span_s=span_s, now_s=end_s)


@router.get("/decisions")
async def decisions_page(
    request: Request,
    read: Read,
    source: str = "",
    epoch: Epoch = None,
    job: str = "",
    action: str = "",
    reason: str = "",
    outcome: str = "",
    before: Annotated[int | None, Query(ge=0, le=2**62)] = None,
) -> Response:
    """Recorded decisions, newest first, by filters; an unknown action, reason or outcome matches nothing."""
    given = {
        "source": source,
        "epoch": str(epoch or ""),
        "job": job,
        "action": action,
        "reason": reason,
        "outcome": outcome,
    }
    chosen = {name: value for name, value in given.items() if value}
    decisions: list[ShownDecision] = []
    older = None
    with contextlib.suppress(KeyError, ValueError):
        which = DecisionFilter(
            source=source or None,
            epoch=epoch or None,
            job=job or None,
            action=Action[action.upper()] if action else None,
            reason=Reason[reason.upper()] if reason else None,
            outcome=Result(outcome) if outcome else None,
        )
        decisions, older = await read.decisions(which, before=before, limit=PER_PAGE)
    return await _page(
        request,
        read,
        "decisions.html",
        live=before is None,
        filters=given,
        filtered=bool(chosen),
        choices=CHOICES,
        decisions=decisions,
        older=f"/decisions?{urlencode(chosen | {'before': older})}" if older else "",
    )


@router.get("/decisions/{decision}")
async def decision_page(
    request: Request, read: Read, decision: Annotated[int, PathParameter(ge=0, le=2**62)]
) -> Response:
    """One decision; the address stays good for as long as the decision is kept."""
    shown = await read.decision(decision)
    if shown is None:
        return await _missing(request, read, f"No decision {decision}", "It was never made or is no longer kept.")
    return await _page(request, read, "decision.html", decision=shown)


@router.get("/audit")
async def audit_page(request: Request, read: Read) -> Response:
    """Who changed what, and why."""
    return await _page(request, read, "audit.html", refresh_s=REFRESH_S, changes=read.changes(CHANGES))


@router.get("/report")
async def report_page(request: Request, read: Read, since: Since = "24h") -> Response:
    """The report: what copies saved and cost, and the error of earlier estimates."""
    found = await report(request.app.state.runtime, since)
    return await _page(request, read, "report.html", report=found, since=since, choices=REPORTS)


@router.get("/promises")
async def promises_page(request: Request, read: Read, since: Since = "7d") -> Response:
    """Promised probabilities of deadlines beside the shares kept."""
    found = await promises(request.app.state.runtime, since)
    return await _page(
        request,
        read,
        "promises.html",
        found=found,
        headline=promised.headline(found.jobs, found.kept),
        plots=[
            promised.plot("As first known", "Without further attempts: what no copy was to change.", found.first),
            promised.plot(
                "As first known, with copies",
                "With as many attempts as tasks may have: for policies that copy tasks as they become stragglers.",
                found.first_with_copies,
            ),
            promised.plot("Just before", "The newest before the deadline, with the copies of then.", found.newest),
        ],
        since=since,
        choices=REPORTS,
    )


@router.get("/demo")
async def demo_page(request: Request, read: Read) -> Response:
    """How the contestants of `grasshopper demo` compared."""
    rows = comparison.read(_demo_report(request))
    has_picture = _table1_picture(request).is_file()
    if rows is None and not has_picture:
        return await _missing(request, read, "No comparison yet", "Run grasshopper demo, then look here again.")
    return await _page(
        request, read, "demo.html", view=comparison.comparison(rows) if rows else None, has_picture=has_picture
    )


@router.get("/demo/table1.svg")
async def table1_picture(request: Request, read: Read) -> Response:
    """The schedules of `grasshopper demo --table1`."""
    if not _table1_picture(request).is_file():
        return await _missing(request, read, "No picture yet", "Run grasshopper demo --table1, then look here again.")
    headers = _HEADERS | {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}
    return FileResponse(_table1_picture(request), media_type="image/svg+xml", headers=headers)


@router.get("/static/{name}")
async def static_file(name: str) -> Response:
    """An asset, from the wheel; its address carries a version, so it may be kept."""
    content = _ASSETS.get(name)
    if content is None:
        return Response(status_code=404)
    return Response(
        content,
        media_type=_TYPES[Path(name).suffix],
        headers={"Cache-Control": "max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"},
    )


@router.post("/mode")
async def set_mode(request: Request, read: Read) -> Response:
    """Changes the mode for everybody, from the form on the first page."""
    form = dict(parse_qsl((await request.body()).decode("utf-8", "replace")))
    reason = form.get("reason", "").strip()
    if form.get("mode") not in {mode.value for mode in Mode} or not 0 < len(reason) <= LONGEST_REASON:
        text = "Refused: choose a mode and say why; the reason is kept in the audit log."
        return await _overview(request, read, notice=overview.Notice(good=False, text=text), status_code=422)
    role = request.scope["role"]
    await request.app.state.runtime.set_mode(Mode(form["mode"]), reason=reason, role=role)
    return RedirectResponse("/", status_code=303)


async def _overview(
    request: Request, read: Reader, notice: overview.Notice | None = None, status_code: int = 200
) -> Response:
    snapshot = await read.overview()
    decisions, _ = await read.decisions(DecisionFilter(action=Action.LAUNCH_COPY), limit=DECISIONS)
    if not decisions:
        decisions, _ = await read.decisions(DecisionFilter(), limit=DECISIONS)
    ended = [job for job in read.jobs() if job.ended_s is not None]
    hosts = await read.hosts()
    return await _page(
        request,
        read,
        "overview.html",
        status_code=status_code,
        refresh_s=REFRESH_S,
        longest_reason=LONGEST_REASON,
        snapshot=snapshot,
        view=overview.overview(
            snapshot,
            read.effect(),
            hosts,
            copy_share=read.cluster_copy_share,
            dropped_events=read.dropped_events,
            jobs_before=bool(ended),
        ),
        past_jobs=[jobs.past_job(job) for job in ended[:HISTORY_JOBS]],
        hosts=heapq.nlargest(HOSTS, hosts, key=lambda known: known.state.slowness),
        hosts_left_out=max(0, len(hosts) - HOSTS),
        decisions=decisions,
        modes=overview.MODES,
        notice=notice,
        store_failure=read.store_failure,
        store_unread=read.store_unread,
    )


async def _missing(request: Request, read: Reader, title: str, detail: str) -> Response:
    return await _page(request, read, "problem.html", status_code=404, title=title, detail=detail)


async def _page(
    request: Request,
    read: Reader,
    template: str,
    *,
    status_code: int = 200,
    refresh_s: int = 0,
    live: bool = False,
    **context: Any,
) -> Response:
    """A page, rendered on a thread. With scripts it stays fresh if it is `live`; without, it is loaded again every
    `refresh_s`, if at all.
    """
    navigation = [
        ("/", "Overview"),
        ("/decisions", "Decisions"),
        ("/report", "Report"),
        ("/promises", "Promises"),
        ("/api/v1/openapi.json", "API"),
    ]
    if _demo_report(request).is_file() or _table1_picture(request).is_file():
        navigation.insert(4, ("/demo", "Comparison"))
    html = await asyncio.to_thread(
        _compiled[template].render,
        mode=read.mode.value,
        here=request.url.path,
        navigation=navigation,
        base_url=str(request.base_url).rstrip("/"),
        refresh_s=refresh_s,
        live=live or refresh_s > 0,
        **context,
    )
    return HTMLResponse(html, status_code, headers=_HEADERS)


def _demo_report(request: Request) -> Path:
    return request.app.state.demo_report


def _table1_picture(request: Request) -> Path:
    return _demo_report(request).with_name("demo-table1.svg")
