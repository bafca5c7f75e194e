"""How does one application get a token that is good only for it? Derived from the shim token; nothing is stored.

A token reads `gha1.<application>.<end>.<proof>`: the application's name or id in base64url, the second (Unix time) in
which it ends, and HMAC-SHA256 of both under the shim token. Anybody with the shim token can issue and check them; from
an application's token nobody learns the shim token, unless that can be guessed, which is why short ones are refused.
A token ends at its time, or with a new shim token, which withdraws all of them.
"""

import base64
import hmac

_KIND = b"gha1"
_PURPOSE = b"grasshopper application token\n"
"""Keeps these proofs apart from any others under the same secret."""


def issue(secret: str, application: str, end_unix_s: int) -> str:
    """A token for the sources of an application, by its name or its id.

    >>> application_of("secret", issue("secret", "nightly", 2000).encode(), now_unix_s=1999.0)
    'nightly'
    """
    said = _KIND + b"." + _packed(application.encode()) + b".%d" % end_unix_s
    return (said + b"." + _proof(secret, said)).decode()


def application_of(secret: str, token: bytes, now_unix_s: float) -> str | None:
    """The application that a token is for; None if it is no such token, is from another secret, or has ended.

    >>> token = issue("secret", "nightly", 2000).encode()
    >>> application_of("secret", token, now_unix_s=2000.0) is application_of("other", token, now_unix_s=0.0) is None
    True
    """
    said, _, proof = token.rpartition(b".")
    if not hmac.compare_digest(_proof(secret, said), proof):
        return None
    kind, packed, end = said.split(b".")
    if kind != _KIND or now_unix_s >= int(end):
        return None
    return base64.urlsafe_b64decode(packed + b"=" * (-len(packed) % 4)).decode()


def _proof(secret: str, said: bytes) -> bytes:
    return _packed(hmac.digest(secret.encode(), _PURPOSE + said, "sha256"))


def _packed(plain: bytes) -> bytes:
    return base64.urlsafe_b64encode(plain).rstrip(b"=")
