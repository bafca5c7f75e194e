"""Who may do what? One rule for every path, decided before anything else looks at the request.

With tokens: reading needs the `read` or `operate` token, changing needs `operate`, `/shim` needs `shim`. Browsers may
send the token as the password of HTTP Basic. A token of one application is a shim's, for that application alone; who
may speak for which source is `runtime/sources.py`'s to say. Wrong tokens are counted, logged, and answered later
the more of them come from one address. Without tokens only this machine is served, and only under a loopback
name, so that no web page can reach us by a name of its own (DNS rebinding). A change is refused when a browser says
that another site asked for it.
"""

import asyncio
import base64
import binascii
import hmac
import time
from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from controlplane.api.application_tokens import application_of
from controlplane.api.problems import problem
from controlplane.processes import is_loopback
from controlplane.runtime.live import Runtime
from controlplane.runtime.sources import Caller

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_OPEN_PATHS = frozenset({"/livez", "/readyz", "/healthz"})
_ASKING_PATHS = frozenset({"/api/v1/decide"})
"""Questions too long for an address; they change nothing."""
DELAY_S = 0.25
"""Delay of the answer to an address's first wrong token; each further one adds the same."""
MOST_DELAY_S = 5.0
FORGIVEN_AFTER_S = 60.0
"""Without another wrong token from there."""
MOST_ADDRESSES = 10_000
"""With wrong tokens, that are remembered."""
_ROLES_OF = {"read": {"read"}, "operate": {"read", "operate"}, "shim": {"shim"}}


class Auth:
    """ASGI middleware that refuses requests that the caller may not make.

    `scope["role"]` is the role in which it does it, `scope["caller"]` who it is to the shim's endpoint.
    """

    def __init__(self, app: ASGIApp, *, tokens: Mapping[str, str], runtime: Runtime) -> None:
        self._app = app
        self._tokens = [(role, token.encode()) for role, token in tokens.items()]
        self._secret = tokens.get("shim")
        self._runtime = runtime
        self._failures = Failures()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on, or answers it with 401 or 403."""
        if scope["type"] == "http" and scope["path"] not in _OPEN_PATHS:
            refusal = self._check_token(scope) if self._tokens else self._check_local(scope)
            refusal = refusal or self._check_origin(scope)
            if refusal:
                if refusal.status_code == 401:
                    await self._note_failure(scope)
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _check_token(self, scope: Scope) -> Response | None:
        needed = needed_role(scope["method"], scope["path"])
        given = bearer(header(scope, b"authorization"))
        roles = [role for role, token in self._tokens if hmac.compare_digest(token, given)]
        application = application_of(self._secret, given, time.time()) if self._secret and not roles else None
        if application is not None:
            roles = ["shim"]
        if not roles:
            challenge = 'Bearer realm="grasshopper", Basic realm="grasshopper"'
            fault = "invalid token" if given else "no token"
            return problem(401, f"{fault}; this needs the {needed} token", headers={"www-authenticate": challenge})
        if needed not in set().union(*(_ROLES_OF[role] for role in roles)):
            return problem(403, f"the {roles[0]} token may not do this; {needed} may")
        scope["role"] = needed
        scope["caller"] = Caller(address=address_of(scope), application=application or "")
        return None

    async def _note_failure(self, scope: Scope) -> None:
        """Counts a request without the right token, logs some of them, and lets a wrong token wait for its answer."""
        address = address_of(scope)
        self._runtime.metrics.refused_tokens.inc()
        given = bool(header(scope, b"authorization"))
        self._runtime.complaints.warn("token_refused", client=address, path=scope["path"][:200], given=given)
        if given:
            await asyncio.sleep(self._failures.delay_s(address, time.monotonic()))

    def _check_local(self, scope: Scope) -> Response | None:
        client = scope.get("client")
        if client is not None and not is_loopback(client[0]):
            return problem(403, "without tokens only this machine is served")
        name = _split("//" + header(scope, b"host").decode("latin-1")).hostname
        if name is not None and not is_loopback(name):
            return problem(403, f"without tokens only a loopback name is served, not {name!r}")
        scope["role"] = "local"
        scope["caller"] = Caller(address=address_of(scope))
        return None

    def _check_origin(self, scope: Scope) -> Response | None:
        origin = header(scope, b"origin")
        if scope["method"] in _SAFE_METHODS or not origin:
            return None
        if _split(origin.decode("latin-1")).netloc != header(scope, b"host").decode("latin-1"):
            return problem(403, "another site's page may not change anything here")
        return None


class Failures:
    """Wrong tokens by address, for as long as they keep coming."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, float]] = {}

    def delay_s(self, address: str, now_s: float) -> float:
        """Seconds that the answer to one more of them waits.

        >>> failures = Failures()
        >>> [failures.delay_s("ann", now_s) for now_s in (0.0, 1.0, 2.0, 100.0)]
        [0.25, 0.5, 0.75, 0.25]
        """
        count, last_s = self._seen.pop(address, (0, now_s))
        count = 1 if now_s - last_s > FORGIVEN_AFTER_S else count + 1
        if len(self._seen) >= MOST_ADDRESSES:
            del self._seen[next(iter(self._seen))]
        self._seen[address] = (count, now_s)
        return min(count * DELAY_S, MOST_DELAY_S)


def address_of(scope: Scope) -> str:
    """The caller's address; `local` for one that came by a socket in the file system."""
    client = scope.get("client")
    return client[0] if client else "local"


def _split(address: str) -> SplitResult:
    """The parts of an address; text that is no address has the host name `invalid.`, which nobody has."""
    try:
        return urlsplit(address)
    except ValueError:
        return urlsplit("//invalid.")


def needed_role(method: str, path: str) -> str:
    """The role that a request needs.

    >>> needed_role("GET", "/api/v1/jobs"), needed_role("PUT", "/api/v1/mode"), needed_role("POST", "/shim/v1/sync")
    ('read', 'operate', 'shim')
    >>> needed_role("POST", "/api/v1/decide")
    'read'
    """
    if path.startswith("/shim/"):
        return "shim"
    return "read" if method in _SAFE_METHODS or path in _ASKING_PATHS else "operate"


def bearer(authorization: bytes) -> bytes:
    """The token of an Authorization header, empty if there is none.

    >>> bearer(b"Bearer secret"), bearer(b"Basic YW5uOnNlY3JldA=="), bearer(b"nonsense")
    (b'secret', b'secret', b'')
    """
    scheme, _, value = authorization.partition(b" ")
    if scheme.lower() == b"bearer":
        return value.strip()
    if scheme.lower() == b"basic":
        try:
            return base64.b64decode(value, validate=True).partition(b":")[2]
        except binascii.Error:
            return b""
    return b""


def header(scope: Scope, name: bytes) -> bytes:
    """The first header of that name, empty where there is none."""
    return next((value for key, value in scope["headers"] if key == name), b"")
