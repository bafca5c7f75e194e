"""What does a shim talk to? `POST /shim/v1/sync` and `.../doorbell`, before any web framework looks at the request.

A thousand drivers talk here all the time, so the path is short: read, decode with msgspec, hand over, encode.
"""

import asyncio
import re
import time
import zlib
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import TypeVar

import msgspec
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from controlplane.api.auth import address_of, header
from controlplane.api.problems import UNREADABLE, FieldProblem, Problem, of_error, problem, unreadable
from controlplane.runtime.live import Runtime
from controlplane.runtime.sources import Unheard
from controlplane.wire.envelope import (
    PROTOCOL,
    DoorbellRequest,
    SyncRequest,
    decode_doorbell,
    decode_request,
    encode_reply,
)

PATH = "/shim/v1/sync"
DOORBELL_PATH = "/shim/v1/doorbell"
LARGE_BYTES = 256 * 1024
"""Decoding a larger body delays everybody by milliseconds: one at a time, each followed by a pause."""
LARGE_REST = 4.0
"""The pause before the next one, as a multiple of the time that decoding took."""
LARGE_SHARE = 0.75
"""Share of the memory for bodies that large ones may fill, so that they never keep small ones out."""
SMALL_GZIP_BYTES = 4096
"""Bytes that are unpacked at once; more goes to a thread."""
DOORBELL_BYTES = 4096
"""Longest question at the doorbell."""
REFUSED_S = 0.05
"""Delay before a refusal is sent, so that a client that retries at once does not retry all the time."""
_JSON = re.compile(rb"^application/(json|[\w.+-]+\+json)\s*(;|$)", re.IGNORECASE)


class _Version(msgspec.Struct):
    """The one field that every protocol version has."""

    protocol: int = 0


_Request = TypeVar("_Request", SyncRequest, DoorbellRequest)

_decode_version = msgspec.json.Decoder(_Version).decode


class _Refused(Exception):
    """Carries the response to a request that is not even tried."""

    def __init__(self, response: Response) -> None:
        self.response = response


class ShimEndpoint:
    """ASGI middleware that answers the shim's paths and passes everything else on."""

    def __init__(self, app: ASGIApp, *, runtime: Runtime, max_body_bytes: int, max_bodies_bytes: int) -> None:
        self._app = app
        self._runtime = runtime
        self._max_body_bytes = max_body_bytes
        self._max_bodies_bytes = max_bodies_bytes
        self._bodies_bytes = 0
        self._large = asyncio.Lock()
        self._answers: dict[str, Callable[[bytes, Scope, Receive], Awaitable[bytes]]] = {
            PATH: self._sync,
            DOORBELL_PATH: self._wait_for_orders,
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One exchange."""
        answer = self._answers.get(scope["path"]) if scope["type"] == "http" else None
        if answer is None:
            await self._app(scope, receive, send)
            return
        held = _Held(self)
        try:
            content = await answer(await self._body(scope, receive, held), scope, receive)
        except Exception as error:
            response = error.response if isinstance(error, _Refused) else of_error(error)
            if response is None:
                raise
            self._note_refusal(response, scope, told=not isinstance(error, Unheard))
            await asyncio.sleep(REFUSED_S)
            await response(scope, receive, send)
            return
        finally:
            held.let_go()
        length = str(len(content)).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", length)]
        await send({"type": "http.response.start", "status": HTTPStatus.OK, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    async def _sync(self, body: bytes, scope: Scope, _: Receive) -> bytes:
        if len(body) <= LARGE_BYTES:
            request = _decoded(body, decode_request)
        else:
            async with self._large:
                start_s = time.perf_counter()
                try:
                    request = _decoded(body, decode_request)
                finally:
                    await asyncio.sleep(LARGE_REST * (time.perf_counter() - start_s))
        return encode_reply(await self._runtime.sync(request, scope["caller"]))

    async def _wait_for_orders(self, body: bytes, scope: Scope, receive: Receive) -> bytes:
        """Waits only while the client is there; without a client it sends nothing."""
        if len(body) > DOORBELL_BYTES:
            raise _Refused(problem(413, f"more than {DOORBELL_BYTES} bytes"))
        asked = self._runtime.wait_for_orders(_decoded(body, decode_doorbell), scope["caller"])
        wait = asyncio.ensure_future(asked)
        gone = asyncio.ensure_future(disconnected(receive))
        try:
            await asyncio.wait((wait, gone), return_when=asyncio.FIRST_COMPLETED)
            return encode_reply(wait.result()) if wait.done() else b""
        finally:
            wait.cancel()
            gone.cancel()

    def _note_refusal(self, response: Response, scope: Scope, told: bool) -> None:
        """Counts a refusal, and logs some of those that are `told`: not a source that rings before it reports."""
        status = response.status_code
        self._runtime.metrics.refused_syncs.labels(status).inc()
        if told:
            reason = msgspec.json.decode(response.body, type=Problem).detail
            self._runtime.complaints.warn("sync_refused", status=status, reason=reason, client=address_of(scope))

    def hold(self, n_bytes: int, of_exchange: int) -> None:
        """Counts `n_bytes` more, or less, of an exchange whose bodies are `of_exchange` bytes with them.

        Raises when bodies fill the memory for them, or a large body the part that large ones may fill.
        """
        self._bodies_bytes += n_bytes
        most = int(self._max_bodies_bytes * (LARGE_SHARE if of_exchange > LARGE_BYTES else 1.0))
        if n_bytes > 0 and self._bodies_bytes > most:
            limit = f"bodies of {most} bytes in all are being read"
            raise _Refused(problem(503, limit, headers={"retry-after": "1"}))

    async def _body(self, scope: Scope, receive: Receive, held: "_Held") -> bytes:
        """The whole body, decompressed, within the bound; the connection limits how slowly it may arrive."""
        if scope["method"] != "POST":
            raise _Refused(problem(405, "POST it", headers={"allow": "POST"}))
        if not _JSON.match(header(scope, b"content-type")):
            raise _Refused(problem(415, "the Content-Type must be application/json"))
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
            held.more(len(parts[-1]))
            more = message.get("more_body", False)
            if size > limit:
                raise _Refused(problem(413, f"more than {limit} bytes"))
        body = parts[0] if len(parts) == 1 else b"".join(parts)
        encoding = header(scope, b"content-encoding").lower()
        if encoding in (b"", b"identity"):
            return body
        if encoding != b"gzip":
            raise _Refused(problem(415, "the Content-Encoding must be gzip or identity"))
        plain = await asyncio.to_thread(_gunzip, body, limit) if len(body) > SMALL_GZIP_BYTES else _gunzip(body, limit)
        held.more(len(plain))
        return plain


class _Held:
    """One exchange's part of the memory for bodies, from its first byte until it is answered."""

    def __init__(self, endpoint: ShimEndpoint) -> None:
        self._endpoint = endpoint
        self._bytes = 0

    def more(self, n_bytes: int) -> None:
        """Counts received bytes; raises if bodies take too many."""
        self._bytes += n_bytes
        self._endpoint.hold(n_bytes, self._bytes)

    def let_go(self) -> None:
        """The exchange is over."""
        self._endpoint.hold(-self._bytes, 0)


async def disconnected(receive: Receive) -> None:
    """Returns once the client has gone; it sends nothing more."""
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
    """Names the field; another protocol version is reported first, since its fields may well look wrong to us."""
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
