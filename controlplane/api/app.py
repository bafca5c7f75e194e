"""Which parts make up the web application, in which order do they see a request, and how does OpenAPI describe them?"""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

from fastapi import APIRouter, Depends, FastAPI
from fastapi.openapi.utils import get_openapi

from controlplane import __version__
from controlplane.api import decide, decisions, docs, events, health, operate, problems, promises, reads, report
from controlplane.api.answers import shown_schemas
from controlplane.api.auth import Auth
from controlplane.api.limits import BodyLimit
from controlplane.api.meanings import described
from controlplane.api.parameters import only_known_parameters
from controlplane.api.paths import EncodedPaths
from controlplane.api.shim import DOORBELL_PATH, PATH, ShimEndpoint
from controlplane.runtime.live import Runtime
from controlplane.wire import schema

REST_BODY_BYTES = 2**20
"""Longest request of an operator."""


def build(
    runtime: Runtime,
    *,
    tokens: Mapping[str, str],
    max_body_bytes: int,
    max_bodies_bytes: int,
    lifespan: Callable[[FastAPI], AbstractAsyncContextManager[None]],
    pages: APIRouter | None = None,
) -> FastAPI:
    """The application over one runtime, which it offers to its routes as `app.state.runtime`."""
    app = FastAPI(
        title="Grasshopper",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    app.state.runtime = runtime
    for part in (decide, decisions, events, operate, promises, reads, report):
        app.include_router(part.router, dependencies=[Depends(only_known_parameters)])
    for part in (health, docs):
        app.include_router(part.router)
    if pages is not None:
        app.include_router(pages)
    problems.install(app)
    app.add_middleware(EncodedPaths)
    app.add_middleware(BodyLimit, max_body_bytes=REST_BODY_BYTES)
    app.add_middleware(ShimEndpoint, runtime=runtime, max_body_bytes=max_body_bytes, max_bodies_bytes=max_bodies_bytes)
    app.add_middleware(Auth, tokens=tokens, runtime=runtime)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]  # as FastAPI's own documentation does
    return app


def _openapi(app: FastAPI) -> dict[str, Any]:
    """FastAPI's document, with our structs' schemas and the shim's paths, which FastAPI does not see."""
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, routes=app.routes)
        document.setdefault("components", {}).setdefault("schemas", {})
        (request, reply, doorbell_request, doorbell_reply), envelope = schema.components("#/components/schemas/{name}")
        document["components"]["schemas"] |= shown_schemas() | described(envelope, schema.BODIES)
        document["paths"][PATH] = {"post": _operation("sync", "Facts up, orders down", request, reply)}
        document["paths"][DOORBELL_PATH] = {
            "post": _operation("doorbell", "Do orders wait? Answered once they do", doorbell_request, doorbell_reply)
        }
        app.openapi_schema = document
    return app.openapi_schema


def _operation(name: str, summary: str, request: dict[str, Any], reply: dict[str, Any]) -> dict[str, Any]:
    refusals = (400, 401, 403, 409, 413, 415, 422, 426, 429, 500, 503)
    return {
        "summary": summary,
        "operationId": name,
        "requestBody": {"required": True, "content": {"application/json": {"schema": request}}},
        "responses": {
            "200": {"description": summary, "content": {"application/json": {"schema": reply}}},
            **{str(code): {"description": problems.TITLES[code][1], "content": problems.CONTENT} for code in refusals},
        },
    }
