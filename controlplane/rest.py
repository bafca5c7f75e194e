"""How does a call over REST end? With an answer, or with an error that names the server, the path and the fault."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import requests
from urllib3.exceptions import HTTPError, ReadTimeoutError

PART_BYTES = 1 << 16
MAX_BYTES = 1 << 28
Answer = TypeVar("Answer")


class RestError(RuntimeError):
    """A server's wrong answer: which server, at which path, and what it said."""

    def __init__(self, server: str, path: str, what: str, *, status: int | None = None) -> None:
        super().__init__(f"{server}{path}: {what}")
        self.server = server
        self.path = path
        self.status = status
        """The HTTP status; None if there was no answer."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer: the status, the server's clock if it sent it, and the whole body."""

    status: int
    date: str | None
    body: bytes


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

    def call(self, method: str, path: str, *, headers: dict[str, str] | None = None, **more: Any) -> Reply:
        """The answer of a call that worked.  Raises RestError."""
        deadline_s = time.monotonic() + self._timeout_s
        try:
            with requests.request(
                method, self.server + path, params=self._params, headers=self._headers | (headers or {}),
                timeout=self._timeout_s, stream=True, **more,
            ) as answer:  # fmt: skip
                reply = Reply(answer.status_code, answer.headers.get("Date"), _body(answer, deadline_s))
        except (requests.Timeout, TimeoutError, ReadTimeoutError) as late:
            raise RestError(self.server, path, f"no answer within {self._timeout_s:g} s") from late
        except (requests.RequestException, HTTPError, OSError, ValueError) as failed:
            raise RestError(self.server, path, f"no {self._what} can be reached there") from failed
        if not 200 <= reply.status < 300:
            raise RestError(self.server, path, f"status {reply.status}{_own_words(reply)}", status=reply.status)
        return reply

    def read(self, reply: Reply, path: str, parse: Callable[[Any], Answer]) -> Answer:
        """The result of `parse` on an answer's JSON.  Raises RestError if this is not such a server's answer."""
        try:
            return parse(json.loads(reply.body))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as odd:
            raise RestError(
                self.server, path, f"does not answer like a {self._what} ({type(odd).__name__}: {odd})",
                status=reply.status,
            ) from odd  # fmt: skip

    def get(self, path: str, parse: Callable[[Any], Answer]) -> Answer:
        """The result of `parse` on the answer's JSON.  Raises RestError."""
        return self.read(self.call("GET", path), path, parse)


def _body(answer: requests.Response, deadline_s: float) -> bytes:
    """The whole body; a time-out of `requests` bounds each read only, so slow bytes are counted here."""
    body = b""
    while part := answer.raw.read1(PART_BYTES, decode_content=True):
        body += part
        if time.monotonic() > deadline_s or len(body) > MAX_BYTES:
            raise TimeoutError
    return body


def _own_words(reply: Reply) -> str:
    """The server's own words about a refusal, if it has any: YARN's or a problem document's."""
    try:
        said = json.loads(reply.body)
        words = said.get("RemoteException", {}).get("message") or said.get("detail")
    except (ValueError, AttributeError, RecursionError):
        return ""
    return f": {words}" if words else ""
