"""What does a shim talk to? `POST /shim/v1/sync` and `.../doorbell`, before any web framework looks at the request.

A thousand drivers talk here all the time, so the path is short: read, decode with msgspec, hand over, encode.
"""

import asyncio
import re
import zlib
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import TypeVar

import msgspec
import structlog
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from controlplane.api.auth import header
from controlplane.api.problems import UNREADABLE, FieldProblem, of_error, problem, unreadable
from controlplane.runtime.live import Runtime
from controlplane.wire.envelope import (
    PROTOCOL,
    DoorbellRequest,
    SyncRequest,
    decode_doorbell,
    decode_request,
    encode_reply,
)

_log = structlog.get_logger()

PATH = "/shim/v1/sync"
DOORBELL_PATH = "/shim/v1/doorbell"
BODY_S = 30.0
"""A body that comes more slowly is let go; a shim has given up long before."""
_JSON = re.compile(rb"^application/(json|[\w.+-]+\+json)\s*(;|$)", re.IGNORECASE)


class _Version(msgspec.Struct):
    """The one field that every protocol version has."""

    protocol: int = 0


_Request = TypeVar("_Request", SyncRequest, DoorbellRequest)

_decode_version = msgspec.json.Decoder(_Version).decode


class _Refused(Exception):
    """Carries the response of a request that is not even tried."""

    def __init__(self, response: Response) -> None:
        self.response = response


class ShimEndpoint:
    """ASGI middleware that answers the shim's paths and passes everything else on."""

    def __init__(self, app: ASGIApp, *, runtime: Runtime, max_body_bytes: int) -> None:
        self._app = app
        self._runtime = runtime
        self._max_body_bytes = max_body_bytes
        self._answers: dict[str, Callable[[bytes, Receive], Awaitable[bytes]]] = {
            PATH: self._sync,
            DOORBELL_PATH: self._wait_for_orders,
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One exchange."""
        answer = self._answers.get(scope["path"]) if scope["type"] == "http" else None
        if answer is None:
            await self._app(scope, receive, send)
            return
        try:
            content = await answer(await self._body(scope, receive), receive)
        except _Refused as refused:
            status = refused.response.status_code
            self._runtime.metrics.refused_syncs.labels(status).inc()
            _log.warning("sync_refused", status=status, client=(scope.get("client") or ("",))[0])
            await refused.response(scope, receive, send)
            return
        except Exception as error:
            response = of_error(error)
            if response is None:
                raise
            await response(scope, receive, send)
            return
        length = str(len(content)).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", length)]
        await send({"type": "http.response.start", "status": HTTPStatus.OK, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    async def _sync(self, body: bytes, _: Receive) -> bytes:
        return encode_reply(await self._runtime.sync(_decoded(body, decode_request)))

    async def _wait_for_orders(self, body: bytes, receive: Receive) -> bytes:
        """Waits no longer than there is somebody to tell; to nobody it says nothing."""
        wait = asyncio.ensure_future(self._runtime.wait_for_orders(_decoded(body, decode_doorbell)))
        gone = asyncio.ensure_future(disconnected(receive))
        try:
            await asyncio.wait((wait, gone), return_when=asyncio.FIRST_COMPLETED)
            return encode_reply(wait.result()) if wait.done() else b""
        finally:
            wait.cancel()
            gone.cancel()

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        if scope["method"] != "POST":
            raise _Refused(problem(405, "POST it", headers={"allow": "POST"}))
        if not _JSON.match(header(scope, b"content-type")):
            raise _Refused(problem(415, "the Content-Type must be application/json"))
        try:
            async with asyncio.timeout(BODY_S):
                return await self._read(scope, receive)
        except TimeoutError:
            raise _Refused(problem(408, f"no whole body within {BODY_S:g} s")) from None

    async def _read(self, scope: Scope, receive: Receive) -> bytes:
        """The whole body, decompressed, within the bound."""
        limit = self._max_body_bytes
        parts: list[bytes] = []
        size = 0
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _Refused(problem(400, "the connection ended before the body"))
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            more = message.get("more_body", False)
            if size > limit:
                raise _Refused(problem(413, f"more than {limit} bytes"))
        body = parts[0] if len(parts) == 1 else b"".join(parts)
        encoding = header(scope, b"content-encoding").lower()
        if encoding in (b"", b"identity"):
            return body
        if encoding != b"gzip":
            raise _Refused(problem(415, "the Content-Encoding must be gzip or identity"))
        return _gunzip(body, limit)


async def disconnected(receive: Receive) -> None:
    """Returns once the client has gone; it has nothing more to say."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _gunzip(body: bytes, limit: int) -> bytes:
    inflate = zlib.decompressobj(wbits=31)
    try:
        plain = inflate.decompress(body, limit)
    except zlib.error as error:
        raise _Refused(problem(400, f"not gzip: {error}", code="bad_gzip")) from None
    if inflate.unconsumed_tail:
        raise _Refused(problem(413, f"more than {limit} bytes after decompression"))
    if not inflate.eof:
        raise _Refused(problem(400, "the gzip body ends early", code="bad_gzip"))
    return plain


def _decoded(body: bytes, decode: Callable[[bytes], _Request]) -> _Request:
    """A request of our protocol version."""
    try:
        request = decode(body)
    except UNREADABLE as error:
        raise _Refused(_explain(body, error)) from None
    if request.protocol != PROTOCOL:
        raise _Refused(_other_protocol(request.protocol))
    return request


def _explain(body: bytes, error: Exception) -> Response:
    """Names the field; another protocol version is told first, since its fields may well look wrong to us."""
    try:
        protocol = _decode_version(body).protocol
    except UNREADABLE:
        protocol = PROTOCOL
    if protocol not in (PROTOCOL, 0):
        return _other_protocol(protocol)
    return unreadable(error)


def _other_protocol(got: int) -> Response:
    errors = [FieldProblem(field="protocol", detail=f"got {got}, want {PROTOCOL}")]
    return problem(426, f"this control plane speaks protocol {PROTOCOL}, not {got}", errors=errors)
