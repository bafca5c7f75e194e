"""How does a caller learn what was wrong? Every error is a problem document (RFC 9457) that names the field."""

import re
from typing import Any

import msgspec
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.responses import Response

from controlplane.model.errors import BadSetting, BadSettings
from controlplane.runtime.live import CycleFailed
from controlplane.runtime.sources import Busy, NotYours, StaleReport, TooLarge, TooMuch, Unheard
from controlplane.settings import bad_settings


class FieldProblem(Struct, frozen=True, kw_only=True):
    """One field and what is wrong with it."""

    field: str
    """Name or path of the field."""
    detail: str
    """What is wrong with it."""


class Problem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """RFC 9457. `code` is stable and meant for programs, `detail` is meant for people."""

    title: str
    """What kind of problem, in words."""
    status: int
    """HTTP status."""
    code: str
    """What kind of problem, for programs."""
    type: str = "about:blank"
    """A URI; it carries no information here."""
    detail: str = ""
    """What happened, for people."""
    errors: list[FieldProblem] = []
    """Fields that are not allowed."""


CONTENT = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
"""OpenAPI's description of any problem's body."""

UNREADABLE = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)
"""Errors of decoding for a body that is not JSON, or not the expected JSON."""

_MOST_SAID = 1000
_PLACE = re.compile(r" - at `\$\.?([^`]*)`$")
_MISSING = re.compile(r"missing required field `([^`]+)`")

TITLES = {
    400: ("bad_request", "Not understood"),
    401: ("unauthorized", "A token is needed"),
    403: ("forbidden", "Not allowed"),
    404: ("not_found", "Not found"),
    405: ("method_not_allowed", "Method not allowed"),
    409: ("conflict", "Conflict with newer state"),
    412: ("changed_meanwhile", "Changed meanwhile"),
    413: ("too_large", "Too large"),
    415: ("unsupported_media_type", "Unsupported media type"),
    422: ("bad_field", "A field is not allowed"),
    426: ("protocol_version", "Other protocol version"),
    429: ("too_much", "More than its share"),
    500: ("internal", "Our fault"),
    503: ("busy", "Too busy"),
}


def problem(
    status: int,
    detail: str = "",
    *,
    code: str = "",
    errors: list[FieldProblem] | None = None,
    headers: dict[str, str] | None = None,
) -> Response:
    """The response for one problem; `code` defaults to the status's own."""
    usual_code, title = TITLES.get(status, (f"http_{status}", "Error"))
    named = [FieldProblem(field=sayable(each.field), detail=sayable(each.detail)) for each in errors or []]
    body = Problem(title=title, status=status, code=code or usual_code, detail=sayable(detail), errors=named)
    content = msgspec.json.encode(body)
    return Response(content, status, headers=headers, media_type="application/problem+json")


def sayable(text: str) -> str:
    """Text of a caller that is safe to repeat: cut to a length, and without halves of characters.

    >>> sayable("\\ud800"), len(sayable("9" * 5000))
    ('\\\\ud800', 1001)
    """
    short = text if len(text) <= _MOST_SAID else text[:_MOST_SAID] + "…"
    return short.encode(errors="backslashreplace").decode()


def unreadable(error: Exception) -> Response:
    """The response for a body that could not be decoded; names the field if it is JSON."""
    if not isinstance(error, msgspec.ValidationError):
        return problem(400, str(error), code="bad_json")
    field, detail = field_and_detail(str(error))
    return problem(422, str(error), errors=[FieldProblem(field=field, detail=detail)])


def field_and_detail(text: str) -> tuple[str, str]:
    """The field that a msgspec error is about, as a dotted path, and what is wrong with it.

    >>> field_and_detail("Object missing required field `epoch` - at `$.source`")
    ('source.epoch', 'Object missing required field `epoch`')
    >>> field_and_detail("Expected `int` >= 0 - at `$.sequence`")
    ('sequence', 'Expected `int` >= 0')
    """
    place, missing = _PLACE.search(text), _MISSING.search(text)
    path = [found[1] for found in (place, missing) if found and found[1]]
    return ".".join(path) or "body", _PLACE.sub("", text)


def not_found(what: str) -> HTTPException:
    """The error to raise if something does not exist."""
    return HTTPException(404, what)


def install(app: FastAPI) -> None:
    """Makes every error of the app a problem document."""
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _validation)
    for kind, handler in _HANDLERS.items():
        app.add_exception_handler(kind, handler)
    app.add_exception_handler(Exception, _unexpected)


def of_error(error: Exception) -> Response | None:
    """The response for an error raised on purpose; None for any other."""
    handler = _HANDLERS.get(type(error))
    return handler(None, error) if handler else None


def _http(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return problem(error.status_code, error.detail, headers=dict(error.headers or {}))


def _validation(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    placed = [each | {"loc": _field(each["type"], each["loc"])} for each in error.errors()]
    return _settings(None, BadSettings(tuple(bad_settings(placed))))


def _field(kind: str, place: tuple[Any, ...]) -> tuple[Any, ...]:
    """The place without the part of the request that it is in, unless there is no other name."""
    return place[:1] if kind == "json_invalid" else place[1:] or place


def _settings(_request: Any, error: BadSettings | BadSetting) -> Response:
    found = error.problems if isinstance(error, BadSettings) else (error,)
    errors = [FieldProblem(field=each.field, detail=f"got {each.got!r}, want {each.want}") for each in found]
    return problem(422, str(error), errors=errors)


def _stale(_request: Any, error: StaleReport) -> Response:
    return problem(409, str(error), code="stale", errors=[FieldProblem(field=error.field, detail=str(error))])


def _unheard(_request: Any, error: Unheard) -> Response:
    return problem(409, str(error), code="unheard")


def _busy(_request: Any, error: Busy) -> Response:
    return problem(503, str(error), headers={"retry-after": str(error.retry_s)})


def _too_much(_request: Any, error: TooMuch) -> Response:
    return problem(429, str(error), headers={"retry-after": str(error.retry_s)})


def _too_large(_request: Any, error: TooLarge) -> Response:
    return problem(413, str(error))


def _not_yours(_request: Any, error: NotYours) -> Response:
    return problem(403, str(error), code="not_yours")


def _cycle(_request: Any, error: CycleFailed) -> Response:
    return problem(500, str(error), code="cycle_failed")


def _unexpected(_request: Request, _error: Exception) -> Response:
    return problem(500, "unexpected; the log says more")


_HANDLERS: dict[type[Exception], Any] = {
    BadSettings: _settings,
    BadSetting: _settings,
    StaleReport: _stale,
    Unheard: _unheard,
    Busy: _busy,
    TooMuch: _too_much,
    TooLarge: _too_large,
    NotYours: _not_yours,
    CycleFailed: _cycle,
}
