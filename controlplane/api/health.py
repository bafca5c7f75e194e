"""Is it alive, is it ready, and what do its counters say?"""

from fastapi import APIRouter, Request
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import PlainTextResponse, Response

from controlplane.api.problems import CONTENT
from controlplane.api.reads import runtime_of

router = APIRouter()

_FATAL = frozenset({"engine"})
"""Checks without which nothing can be decided. A store that does not record is reported, but stops no decision."""


@router.get("/livez", response_class=PlainTextResponse)
async def livez() -> Response:
    """The process answers."""
    return PlainTextResponse("ok\n")


@router.get(
    "/readyz",
    response_class=PlainTextResponse,
    responses={503: {"description": "Nothing is decided"}, "default": {"description": "A problem", "content": CONTENT}},
)
@router.get("/healthz", response_class=PlainTextResponse, include_in_schema=False)
async def readyz(request: Request, verbose: str | None = None) -> Response:
    """Whether facts become decisions; `?verbose` names every check."""
    checks = runtime_of(request).checks()
    failing = {name: wrong for name, wrong in checks.items() if wrong}
    status = 503 if _FATAL & failing.keys() else 200
    if verbose is not None:
        lines = [_line(name, wrong) for name, wrong in checks.items()]
        return PlainTextResponse("".join(lines), status)
    return PlainTextResponse("".join(_line(name, wrong) for name, wrong in failing.items()) or "ok\n", status)


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(request: Request) -> Response:
    """Prometheus text format."""
    return Response(await runtime_of(request).exposition(), media_type=CONTENT_TYPE_LATEST)


def _line(name: str, wrong: str) -> str:
    if not wrong:
        return f"[+]{name} ok\n"
    return f"[{'-' if name in _FATAL else '!'}]{name}: {wrong}\n"
