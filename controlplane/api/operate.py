"""What may an operator change? Mode, settings, policies, targets, single copies and kills; each with a reason."""

import hashlib
from collections.abc import Callable
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Body, Header, Query, Request
from msgspec import Struct
from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from starlette.exceptions import HTTPException
from starlette.responses import Response

from controlplane.api.answers import Page, Size, answer, shows
from controlplane.api.reads import Number, find_attempt, find_job, find_pool, find_task, runtime_of
from controlplane.api.views import DecisionView, decision_view
from controlplane.model.decisions import CopyWish, Decision, KillWish, TargetSet
from controlplane.model.errors import BadSetting
from controlplane.model.facts import Mode
from controlplane.model.parameters import EngineSettings
from controlplane.model.snapshot import Snapshot
from controlplane.policies.registry import parse_policy
from controlplane.runtime.choices import Choice
from controlplane.runtime.live import Runtime
from controlplane.settings import Whole, change_engine, in_force
from controlplane.store.store import AuditEntry

router = APIRouter(prefix="/api/v1")

LONGEST_REASON = 1000
"""Characters of a reason in the audit log."""

IfMatch = Annotated[str | None, Header(description="Refuse the change if the ETag is no longer this.")]
_WORDS = StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_REASON)
Why = Annotated[str, _WORDS, Field(description="Kept in the audit log.")]
ReasonGiven = Annotated[str, _WORDS, Query(description="Kept in the audit log.")]


class _Wish(BaseModel):
    """Base of all request bodies."""

    model_config = ConfigDict(extra="forbid")

    reason: Why


class ModeWish(_Wish):
    """A mode, everywhere or for one source."""

    mode: Mode
    source: Annotated[str, Field(max_length=300)] = ""


class TargetWish(_Wish):
    """Slots one job should hold, and perhaps the most it may; used by the allocator `fixed`."""

    target: Annotated[Whole, Field(ge=0, le=10**9)]
    cap: Annotated[Whole | None, Field(ge=0, le=10**9)] = None


class PolicyWish(_Wish):
    """An allocator and a speculator, as in `hopper+ras`."""

    policy: Annotated[str, Field(max_length=100)]


class CopyBody(_Wish):
    """How a task should be copied."""

    copies: Annotated[Whole, Field(ge=1, le=16)] = 1
    host: Annotated[str, Field(max_length=256)] = ""
    before_waiting: bool = True


class SettingsWish(_Wish):
    """Engine settings to change; those left out stay, and null resets a change made at run time."""

    engine: dict[str, Any]


class ModeState(Struct, frozen=True, kw_only=True):
    """The mode everywhere, the effective one of each source, and what operators have chosen, oldest first."""

    mode: Mode
    """The mode for everybody."""
    sources: dict[str, Mode]
    """The mode of each source: the lower of its user's and the server's."""
    choices: list[Choice]
    """What operators have chosen, oldest first."""
    recorded: bool
    """False while the store cannot record the choice: it is in force, and is written when the store recovers."""


class SettingsState(Struct, frozen=True, kw_only=True):
    """Settings that can be changed at run time."""

    engine: dict[str, Any]
    """Every engine setting that is in force, by name; docs/settings.md lists them."""
    recorded: bool = True
    """False while the store cannot record a change: it is in force, and is written when the store recovers."""


class WishAnswer(Struct, frozen=True, kw_only=True):
    """The cycle that saw the request, and its decisions for the source."""

    cycle: int
    decisions: list[DecisionView]
    recorded: bool
    """False while the store cannot record who asked for it, and why."""


@router.get("/mode", **shows(ModeState))
async def mode(request: Request) -> Response:
    """How much Grasshopper may do."""
    state = await _mode_state(runtime_of(request))
    return answer(state, headers={"etag": etag(state.mode)})


@router.put("/mode", **shows(ModeState, 404, 412))
async def set_mode(request: Request, wish: ModeWish, if_match: IfMatch = None) -> Response:
    """Sets the mode everywhere or for one source, until it is set again. `off` kills the copies that run."""
    runtime = runtime_of(request)
    _check_etag(if_match, etag(runtime.mode))
    if wish.source:
        await _find_chosen(request, wish.source)
    await runtime.set_mode(wish.mode, source=wish.source, reason=wish.reason, role=request.scope["role"])
    state = await _mode_state(runtime)
    return answer(state, headers={"etag": etag(state.mode)})


@router.get("/settings", **shows(SettingsState))
async def settings(request: Request) -> Response:
    """The engine's settings in force."""
    state = _settings_state(runtime_of(request).scheduler.settings)
    return answer(state, headers={"etag": etag(state)})


@router.patch("/settings", **shows(SettingsState, 412))
async def change_settings(
    request: Request,
    wish: SettingsWish,
    if_match: IfMatch = None,
    dry_run: Annotated[bool, Query(description="Only say what would be in force.")] = False,
) -> Response:
    """Changes engine settings from the next cycle on: all of them or, if one is not allowed, none."""
    runtime = runtime_of(request)
    current = runtime.scheduler.settings
    _check_etag(if_match, etag(_settings_state(current)))
    if "mode" in wish.engine:
        raise BadSetting("engine.mode", wish.engine["mode"], "PUT /api/v1/mode for it")
    taken_back = {name for name, value in wish.engine.items() if value is None and hasattr(current, name)}
    others = {name: value for name, value in runtime.store.settings.items() if name not in taken_back}
    without = in_force(request.app.state.loaded, others, runtime.choices.mode)
    changed = change_engine(current, wish.engine | {name: getattr(without, name) for name in taken_back})
    if not dry_run:
        runtime.configure(changed)
        saved = {name: None if name in taken_back else getattr(changed, name) for name in wish.engine}
        runtime.store.save_settings(saved)
        _audit(request, "settings", wish.reason, **wish.engine)
    state = _settings_state(changed)
    shown = state if dry_run else msgspec.structs.replace(state, recorded=await runtime.store.recorded())
    return answer(shown, headers={"etag": etag(state)})


@router.put("/pools/{source:id}/policy", **shows(WishAnswer, 404))
async def set_policy(request: Request, source: str, wish: PolicyWish) -> Response:
    """Gives one pool a policy of its own."""
    await _find_chosen(request, source)
    parse_policy(wish.policy)
    return await _set_policy(request, source, wish.policy, wish.reason)


@router.delete("/pools/{source:id}/policy", **shows(WishAnswer, 404))
async def drop_policy(request: Request, source: str, reason: ReasonGiven) -> Response:
    """Returns one pool to the common policy."""
    await _find_chosen(request, source)
    return await _set_policy(request, source, "", reason)


@router.put("/jobs/{source:id}/{job:id}/target", **shows(WishAnswer, 404))
async def set_target(request: Request, source: str, job: str, wish: TargetWish) -> Response:
    """Gives a job a fixed slot target, and perhaps a cap; in force under the allocator `fixed`."""
    await _find(request, lambda live: find_job(live, source, job))
    if wish.cap is not None and wish.target > wish.cap:
        raise BadSetting("target", wish.target, f"at most the cap ({wish.cap})")
    stimulus = TargetSet(source=source, job=job, target=wish.target, cap=wish.cap)
    return await _post(request, stimulus, "target", wish.reason)


@router.delete("/jobs/{source:id}/{job:id}/target", **shows(WishAnswer, 404))
async def drop_target(request: Request, source: str, job: str, reason: ReasonGiven) -> Response:
    """Removes a fixed target."""
    await _find(request, lambda live: find_job(live, source, job))
    return await _post(request, TargetSet(source=source, job=job, target=None), "target", reason)


@router.post("/attempts/{source:id}/{attempt}:kill", **shows(WishAnswer, 404, status=202))
async def kill(request: Request, source: str, attempt: Number, wish: Annotated[_Wish, Body()]) -> Response:
    """Asks for the end of one attempt. A task's last live attempt stays: the decision then says so."""
    await _find(request, lambda live: find_attempt(live, source, attempt))
    stimulus = KillWish(source=source, attempt=attempt, reason=wish.reason)
    return await _post(request, stimulus, "kill", wish.reason)


@router.post("/tasks/{source:id}/{stage}/{stage_attempt}/{index}:copy", **shows(WishAnswer, 404, status=202))
async def copy(
    request: Request, source: str, stage: Number, stage_attempt: Number, index: Number, wish: CopyBody
) -> Response:
    """Asks for copies of one task, past the policy but not past the write-safety gate or the budgets."""
    await _find(request, lambda live: find_task(live, source, stage, stage_attempt, index))
    stimulus = CopyWish(
        source=source,
        stage=stage,
        stage_attempt=stage_attempt,
        index=index,
        copies=wish.copies,
        host=wish.host,
        before_waiting=wish.before_waiting,
    )
    return await _post(request, stimulus, "copy", wish.reason)


@router.get("/audit", **shows(Page[AuditEntry]))
async def audit(request: Request, limit: Size = 100) -> Response:
    """Who changed what, and why; newest first."""
    return answer(Page(items=runtime_of(request).store.audit_log(limit)))


def etag(state: Any) -> str:
    """A short fingerprint of a state."""
    return f'"{hashlib.sha256(msgspec.json.encode(state)).hexdigest()[:16]}"'


async def _find_chosen(request: Request, source: str) -> None:
    """Answers 404 for a source that is not attached, unless an operator has chosen something for it."""
    if source not in {choice.source for choice in runtime_of(request).choices}:
        await _find(request, lambda live: find_pool(live, source))


async def _find(request: Request, look: Callable[[Snapshot], Any]) -> None:
    """Raises the 404 if it is in neither the published nor a fresh state: it may have just begun."""
    runtime = runtime_of(request)
    try:
        look(await runtime.snapshot())
    except HTTPException:
        look(await runtime.snapshot(max_age_s=0.0))


def _check_etag(wanted: str | None, current: str) -> None:
    if wanted is not None and wanted not in ("*", current):
        raise HTTPException(412, f"the ETag is {current}, not {wanted}")


async def _mode_state(runtime: Runtime) -> ModeState:
    return ModeState(
        mode=runtime.mode,
        sources=runtime.scheduler.modes(),
        choices=[choice for choice in runtime.choices if choice.what == "mode"],
        recorded=await runtime.store.recorded(),
    )


def _settings_state(engine: EngineSettings) -> SettingsState:
    return SettingsState(engine=msgspec.to_builtins(engine))


def _audit(request: Request, action: str, reason: str, **details: Any) -> None:
    runtime_of(request).store.audit(role=request.scope["role"], action=action, reason=reason, details=details)


async def _set_policy(request: Request, source: str, policy: str, reason: str) -> Response:
    role = request.scope["role"]
    decision = await runtime_of(request).set_policy(policy, source=source, reason=reason, role=role)
    return await _decided(request, decision, source)


async def _post(request: Request, stimulus: TargetSet | KillWish | CopyWish, action: str, reason: str) -> Response:
    """The answer to a request, which is audited with all of its fields."""
    _audit(request, action, **msgspec.structs.asdict(stimulus) | {"reason": reason})
    decision = await runtime_of(request).post(stimulus)
    status = 202 if isinstance(stimulus, KillWish | CopyWish) else 200
    return await _decided(request, decision, stimulus.source, status)


async def _decided(request: Request, decision: Decision, source: str, status: int = 200) -> Response:
    """A cycle's decisions for the source of a request."""
    store = runtime_of(request).store
    of_source = [record.id for record in decision.records if record.source == source]
    decisions = [decision_view(found) for each in of_source if (found := await store.decision(each))]
    return answer(WishAnswer(cycle=decision.cycle, decisions=decisions, recorded=await store.recorded()), status)
