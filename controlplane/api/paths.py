"""How is an id with a slash written in an address? Percent-encoded, as one segment that stays one.

Ids of sources and jobs are their users' own text: a job may be called `a/history`. Servers hand out paths decoded, so
that its slash looks like the address's own. Here paths are matched as they were sent, and a parameter `{name:id}` is
one segment, decoded once: `/api/v1/jobs/spark%3Aapp-1/a%2Fhistory` is the job, `/api/v1/jobs/spark%3Aapp-1/a/history`
the history of `a`. A proxy in front must not decode paths. `.` and `..` alone cannot be segments: clients resolve
them; lists can be filtered by such an id.
"""

from urllib.parse import quote, unquote

from starlette.convertors import Convertor, register_url_convertor
from starlette.types import ASGIApp, Receive, Scope, Send

_PLAIN = ":@!$&'()*+,;="
"""Characters that a segment may hold as they are (RFC 3986)."""


class IdConvertor(Convertor[str]):
    """One segment of a path, percent-encoded."""

    regex = "[^/]+"

    def convert(self, value: str) -> str:
        """The id."""
        return unquote(value)

    def to_string(self, value: str) -> str:
        """The segment."""
        return segment(value)


register_url_convertor("id", IdConvertor())


class EncodedPaths:
    """ASGI middleware by which routes see every segment encoded in the same way, whatever the client encoded."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on with its path encoded."""
        if scope["type"] == "http" and (raw := scope.get("raw_path")):
            scope = {**scope, "path": encoded(raw.decode("ascii", "replace"))}
        await self._app(scope, receive, send)


def encoded(path: str) -> str:
    """A path with every segment decoded and encoded again.

    >>> encoded("/api/v1/state%3adump"), encoded("/api/v1/jobs/spark:a/b%2Fc d")
    ('/api/v1/state:dump', '/api/v1/jobs/spark:a/b%2Fc%20d')
    """
    return "/".join(quote(unquote(each), safe=_PLAIN) for each in path.split("/"))


def segment(text: str) -> str:
    """Any text as one segment of a path.

    >>> segment("spark:a/b?")
    'spark%3Aa%2Fb%3F'
    """
    return quote(text, safe="")


def place(*parts: str) -> str:
    """Several ids as one text, different for different ids, by which lists are ordered and continued.

    >>> place("spark:a/b", "c") == place("spark:a", "b/c")
    False
    """
    return "/".join(part.replace("%", "%25").replace("/", "%2F") for part in parts)
