"""Who may do what? One rule for every path, decided before anything else looks at the request.

With tokens: reading needs the `read` or `operate` token, changing needs `operate`, `/shim` needs `shim`. Browsers may
send the token as the password of HTTP Basic. Without tokens only this machine is served, and only under a loopback
name, so that no web page can reach us by a name of its own (DNS rebinding). A change is refused when a browser says
that another site asked for it.
"""

import base64
import binascii
import hmac
from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from controlplane.api.problems import problem
from controlplane.settings import is_loopback

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_OPEN_PATHS = frozenset({"/livez", "/readyz", "/healthz"})
_ASKING_PATHS = frozenset({"/api/v1/decide"})
"""Questions too long for an address; nothing comes of them."""
_ROLES_OF = {"read": {"read"}, "operate": {"read", "operate"}, "shim": {"shim"}}


class Auth:
    """ASGI middleware that refuses what the caller may not do; `scope["role"]` is the role in which it does it."""

    def __init__(self, app: ASGIApp, *, tokens: Mapping[str, str]) -> None:
        self._app = app
        self._tokens = [(role, token.encode()) for role, token in tokens.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on, or answers it with 401 or 403."""
        if scope["type"] == "http" and scope["path"] not in _OPEN_PATHS:
            refusal = self._check_token(scope) if self._tokens else self._check_local(scope)
            refusal = refusal or self._check_origin(scope)
            if refusal:
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _check_token(self, scope: Scope):
        needed = needed_role(scope["method"], scope["path"])
        given = bearer(header(scope, b"authorization"))
        roles = [role for role, token in self._tokens if hmac.compare_digest(token, given)]
        if not roles:
            challenge = 'Bearer realm="grasshopper", Basic realm="grasshopper"'
            return problem(401, f"{needed} token wanted", headers={"www-authenticate": challenge})
        if needed not in set().union(*(_ROLES_OF[role] for role in roles)):
            return problem(403, f"the {roles[0]} token may not do this; {needed} may")
        scope["role"] = needed
        return None

    def _check_local(self, scope: Scope):
        client = scope.get("client")
        if client is not None and not is_loopback(client[0]):
            return problem(403, "without tokens only this machine is served")
        name = _split("//" + header(scope, b"host").decode("latin-1")).hostname
        if name is not None and not is_loopback(name):
            return problem(403, f"without tokens only a loopback name is served, not {name!r}")
        scope["role"] = "local"
        return None

    def _check_origin(self, scope: Scope):
        origin = header(scope, b"origin")
        if scope["method"] in _SAFE_METHODS or not origin:
            return None
        if _split(origin.decode("latin-1")).netloc != header(scope, b"host").decode("latin-1"):
            return problem(403, "another site's page may not change anything here")
        return None


def _split(address: str) -> SplitResult:
    """The parts of an address; one that is none has the host name `invalid.`, which nobody has."""
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
    """The token of an Authorization header, empty where there is none.

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
