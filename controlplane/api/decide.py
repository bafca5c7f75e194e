"""What would a policy do with this snapshot? Answers `grasshopper decide` over REST and changes nothing.

Some answers take seconds, with a search per pool; so they are computed on their own thread, one after the other, and
keep no driver waiting.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated

import msgspec
from fastapi import APIRouter, Request
from msgspec import Meta, Struct
from starlette.responses import Response

from controlplane.api.answers import answer, shows
from controlplane.api.problems import UNREADABLE, unreadable
from controlplane.api.reads import runtime_of
from controlplane.engine.decide import Advice, decide
from controlplane.model.snapshot import Snapshot

router = APIRouter(prefix="/api/v1")

_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="grasshopper-decide")


class Question(Struct, frozen=True, kw_only=True):
    """A pair of policies, as in `hopper+ras`, and what `GET /state:dump` returned here or elsewhere."""

    policy: Annotated[str, Meta(max_length=100)]
    snapshot: Snapshot


_read = msgspec.json.Decoder(Question).decode
_ASKED = {"required": True, "content": shows(Question)["responses"][200]["content"]}


@router.post("/decide", **shows(Advice), openapi_extra={"requestBody": _ASKED})
async def decide_snapshot(request: Request) -> Response:
    """Says what a policy would do with a snapshot, under the engine's settings in force; orders nothing."""
    try:
        question = _read(await request.body())
    except UNREADABLE as error:
        return unreadable(error)
    settings = runtime_of(request).scheduler.settings
    asked = question.snapshot, question.policy, settings
    return answer(await asyncio.get_running_loop().run_in_executor(_thread, decide, *asked))
