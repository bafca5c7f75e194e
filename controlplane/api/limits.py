"""How large may a request's body be before any route has looked at it?"""

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from controlplane.api.auth import header
from controlplane.api.problems import problem


class BodyLimit:
    """ASGI middleware that refuses bodies beyond a bound: by their stated length, else as they arrive."""

    def __init__(self, app: ASGIApp, *, max_body_bytes: int) -> None:
        self._app = app
        self._limit = max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on with a counting `receive`."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        stated = header(scope, b"content-length")
        if stated.isdigit() and int(stated) > self._limit:
            await problem(413, f"more than {self._limit} bytes")(scope, receive, send)
            return
        left = self._limit

        async def counted() -> Message:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                raise HTTPException(413, f"more than {self._limit} bytes")
            return message

        await self._app(scope, counted, send)
