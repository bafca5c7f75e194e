"""How does a client follow decisions without polling? Server-sent events, one per recorded decision."""

import asyncio
from typing import Any

import msgspec
from fastapi import APIRouter, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from controlplane.api.problems import CONTENT, TITLES
from controlplane.api.reads import runtime_of
from controlplane.api.shim import disconnected
from controlplane.api.views import decision_view
from controlplane.runtime.feed import Feed, Listener
from controlplane.store.recent import RecordedDecision

router = APIRouter(prefix="/api/v1")

STILL_HERE_S = 15.0
"""A quiet stream says so this often, so that no proxy takes it for dead."""

_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}
_SHOWN: dict[int | str, dict[str, Any]] = {
    200: {"description": "Events named `decision`; their data is a DecisionView", "content": {"text/event-stream": {}}},
    **{code: {"description": TITLES[code][1], "content": CONTENT} for code in (422, 503)},
}
_encode = msgspec.json.Encoder().encode


class EventStream(Response):
    """Lasts until the client goes, the control plane stops, or the client has been too slow."""

    media_type = "text/event-stream"

    def __init__(self, feed: Feed) -> None:
        super().__init__(headers=_HEADERS)
        del self.headers["content-length"]
        self._feed = feed
        self._listener = feed.join()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends; a client that takes nothing while its queue overflows is let go in the middle of a send."""
        ends = [
            asyncio.ensure_future(each)
            for each in (self._tell(self._listener, send), disconnected(receive), self._listener.cut.wait())
        ]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._feed.leave(self._listener)
            for end in ends:
                end.cancel()
            await asyncio.gather(*ends, return_exceptions=True)

    async def _tell(self, listener: Listener, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        text: bytes | None = b": decisions follow\n\n"
        while text is not None:
            await send({"type": "http.response.body", "body": text, "more_body": True})
            try:
                async with asyncio.timeout(STILL_HERE_S):
                    decision = await listener.next()
                    text = event(decision) if decision else None
            except TimeoutError:
                text = b": still here\n\n"
        await send({"type": "http.response.body", "body": b""})


@router.get("/events", responses=_SHOWN, response_class=Response)
async def events(request: Request) -> Response:
    """Decisions as they are recorded, as server-sent events. A client that lags is cut off and may reconnect."""
    return EventStream(runtime_of(request).feed)


def event(decision: RecordedDecision) -> bytes:
    """A decision as an event."""
    return b"event: decision\nid: %d\ndata: %s\n\n" % (decision.record.id, _encode(decision_view(decision)))
