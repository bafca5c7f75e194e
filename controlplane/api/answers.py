"""How does a msgspec struct become an answer, and its schema a part of the OpenAPI document?"""

from collections.abc import Callable, Iterable
from typing import Annotated, Any, Generic, TypeVar

import msgspec
from fastapi import Query
from msgspec import Struct
from starlette.responses import Response

from controlplane.api.meanings import described
from controlplane.api.problems import CONTENT, TITLES, Problem

Item = TypeVar("Item")
_encode = msgspec.json.Encoder().encode
_shown: dict[str, Any] = {"Problem": Problem}


class Page(Struct, Generic[Item], frozen=True, kw_only=True):
    """One page of many items; `cursor` asks for the next page and is null on the last one."""

    items: list[Item]
    """The items on this page."""
    cursor: str | None = None
    """The `cursor` for the next page; null on the last one."""
    complete: bool = True
    """False while the store cannot be read, so older items may be missing."""


Size = Annotated[int, Query(ge=1, le=1000, description="Items on one page.")]
Cursor = Annotated[str | None, Query(max_length=2000, description="The `cursor` of the page before.")]


def answer(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A JSON answer."""
    return Response(_encode(body), status, headers=headers, media_type="application/json")


def shows(kind: Any, *problems: int, status: int = 200) -> dict[str, Any]:
    """Keyword arguments of a route that answers with `kind` or with one of these problems."""
    (reference,), definitions = msgspec.json.schema_components((kind,), ref_template="#/components/schemas/{name}")
    _shown.update(dict.fromkeys(definitions, kind))
    responses: dict[int, Any] = {
        status: {"description": "Done", "content": {"application/json": {"schema": reference}}}
    }
    for code in sorted({400, 401, 403, 413, 422, 500, *problems}):
        responses[code] = {"description": TITLES[code][1], "content": CONTENT}
    return {"responses": responses, "status_code": status}


def shown_schemas() -> dict[str, Any]:
    """Schemas of everything that any route shows, by name."""
    kinds = list(dict.fromkeys(_shown.values()))
    return described(msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")[1], kinds)


def page(items: Iterable[Item], key: Callable[[Item], str], cursor: str | None, limit: int) -> Page[Item]:
    """One page of items in the order of their keys; the cursor is the last key, so nothing shifts between pages.

    >>> page(["b", "a", "c"], str, "a", 1)
    Page(items=['b'], cursor='b', complete=True)
    """
    ordered = sorted((key(item), number, item) for number, item in enumerate(items))
    left = [(place, item) for place, _, item in ordered if cursor is None or place > cursor]
    return Page(items=[item for _, item in left[:limit]], cursor=left[limit - 1][0] if len(left) > limit else None)
