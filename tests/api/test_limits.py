"""Is a body refused as soon as it is too large, and not a byte earlier?"""

import asyncio

import pytest
from starlette.exceptions import HTTPException

from controlplane.api.limits import BodyLimit

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(("parts", "is_refused"), [([b"12", b"34"], False), ([b"12", b"345"], True)])
def test_a_body_without_a_stated_length_is_counted_as_it_comes(parts, is_refused):
    """Four bytes are allowed."""
    left, read = iter(parts), []

    async def receive():
        return {"type": "http.request", "body": next(left)}

    async def application(scope, receive, send):
        read.extend([(await receive())["body"] for _ in parts])

    asked = BodyLimit(application, max_body_bytes=4)({"type": "http", "headers": []}, receive, None)
    if is_refused:
        with pytest.raises(HTTPException, match="more than 4 bytes"):
            asyncio.run(asked)
    else:
        asyncio.run(asked)
        assert read == parts


@pytest.mark.parametrize(("stated", "status"), [(b"4", 200), (b"5", 413)])
def test_a_body_that_states_its_length_is_refused_unread(stated, status):
    """Where that is more than the four bytes that are allowed."""
    sent = []

    async def application(scope, receive, send):
        await send({"type": "http.response.start", "status": 200})

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "headers": [(b"content-length", stated)]}
    asyncio.run(BodyLimit(application, max_body_bytes=4)(scope, None, send))
    assert sent[0]["status"] == status
