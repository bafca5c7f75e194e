"""How does a call over REST end? With an answer, or with an error that names the server, the path and the fault."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import requests

Answer = TypeVar("Answer")


class RestError(RuntimeError):
    """A server did not answer as it should; says which one, at which path, and what it said."""

    def __init__(self, server: str, path: str, what: str, *, status: int | None = None) -> None:
        super().__init__(f"{server}{path}: {what}")
        self.server = server
        self.path = path
        self.status = status
        """The HTTP status; None if there was no answer."""


class RestClient:
    """Calls to one server; none lasts longer than `timeout_s`.  `what` names the kind of server in errors."""

    def __init__(
        self,
        server: str,
        *,
        what: str,
        timeout_s: float,
        token: str | None = None,
        params: dict[str, str] | None = None,
    ) -> None:
        self.server = server.rstrip("/")
        self._what = what
        self._timeout_s = timeout_s
        self._headers = {"Accept": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        self._params = params or {}

    def call(self, method: str, path: str, *, headers: dict[str, str] | None = None, **more: Any) -> requests.Response:
        """The answer of a call that worked.  Raises RestError."""
        try:
            reply = requests.request(
                method, self.server + path,
                params=self._params, headers=self._headers | (headers or {}), timeout=self._timeout_s, **more,
            )  # fmt: skip
        except requests.Timeout as late:
            raise RestError(self.server, path, f"no answer within {self._timeout_s:g} s") from late
        except (requests.RequestException, ValueError) as failed:
            raise RestError(self.server, path, f"no {self._what} can be reached there") from failed
        if not reply.ok:
            raise RestError(self.server, path, f"status {reply.status_code}{_told(reply)}", status=reply.status_code)
        return reply

    def read(self, reply: requests.Response, path: str, parse: Callable[[Any], Answer]) -> Answer:
        """What `parse` makes of an answer's JSON.  Raises RestError if this is not such a server's answer."""
        try:
            return parse(reply.json())
        except (ValueError, LookupError, TypeError, AttributeError) as odd:
            raise RestError(
                self.server, path, f"does not answer like a {self._what} ({type(odd).__name__}: {odd})",
                status=reply.status_code,
            ) from odd  # fmt: skip

    def get(self, path: str, parse: Callable[[Any], Answer]) -> Answer:
        """What `parse` makes of the answer's JSON.  Raises RestError."""
        return self.read(self.call("GET", path), path, parse)


def _told(reply: requests.Response) -> str:
    """The server's own words about a refusal, if it has any: YARN's or a problem document's."""
    try:
        said = reply.json()
        told = said.get("RemoteException", {}).get("message") or said.get("detail")
    except (requests.JSONDecodeError, AttributeError):
        return ""
    return f": {told}" if told else ""
