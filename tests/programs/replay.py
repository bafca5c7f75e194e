"""Which tasks would have been copied, had today's engine heard a recording? Under its own clock, in seconds.

A recording is made without orders of ours, so what it tells does not depend on what the replayed engine decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from controlplane.engine.scheduler import Scheduler
from controlplane.model.decisions import Decision, DecisionRecord, Report
from controlplane.model.facts import Mode
from controlplane.model.parameters import EngineSettings
from controlplane.model.reasons import Action, Reason
from controlplane.runtime.sources import key_of
from tests.programs.case import Case, Copy, judged, task_key
from tests.programs.recording import Exchange, read


class Wanted(Struct, frozen=True, kw_only=True):
    """The first copy that the engine wants of a task, from which numbers and for which reason."""

    copy: Copy
    reason: str
    host: str
    inputs: dict[str, float | None]


def replay(path: Path, policy: str = "hopper+ras", **settings: object) -> tuple[Case, list[Wanted]]:
    """The case of a recording, and what a fresh engine would have copied in it; `settings` are the engine's."""
    case, exchanges = read(path)
    allocator, speculator = policy.split("+")
    chosen = EngineSettings(mode=Mode.SHADOW, allocator=allocator, speculator=speculator, **settings)
    by_task = {task_key(label): label for label in case.labels}
    seen: dict[tuple[int, int, int], Wanted] = {}
    for decision in decisions(exchanges, Scheduler(chosen)):
        for record in decision.records:
            at_ms = case.recorded_ms + round(1000 * record.at_s)
            is_its_own = record.source == f"spark:{case.application}" and at_ms >= case.begun_ms
            if record.action is Action.LAUNCH_COPY and is_its_own:
                seen.setdefault(
                    (record.stage, record.stage_attempt, record.index),
                    Wanted(
                        copy=_judged(record, at_ms, by_task),
                        reason=Reason(record.reason).label,
                        host=record.host,
                        inputs=dict(record.inputs),
                    ),
                )
    return case, list(seen.values())


def decisions(exchanges: list[Exchange], scheduler: Scheduler) -> Iterator[Decision]:
    """One decision for each exchange, and for each time in between at which the engine wants to be called."""
    due_s = float("inf")
    for exchange in exchanges:
        while due_s < exchange.at_s:
            decision, due_s = scheduler.handle([], due_s)
            yield decision
        request = exchange.request
        report = Report(
            source=key_of(request.source),
            epoch=request.source.epoch,
            received_s=exchange.at_s,
            facts=request.facts,
            progress=request.progress,
            full=request.full,
        )
        decision, due_s = scheduler.handle([report], exchange.at_s)
        yield decision


def _judged(record: DecisionRecord, at_ms: int, by_task: dict) -> Copy:
    place = Copy(stage=record.stage, stage_attempt=record.stage_attempt, task=record.index, at_ms=at_ms, verdict="")
    return judged(place, at_ms, by_task)
