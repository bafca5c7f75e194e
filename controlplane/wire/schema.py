"""What does the envelope look like to other languages? The JSON Schema of `/shim/v1/sync` and `/shim/v1/doorbell`.

`python -m controlplane.wire.schema` prints it; `docs/shim-protocol.schema.json` holds the same text; a test keeps
the two equal.
"""

import json
from typing import Any

import msgspec

from controlplane.wire.envelope import DoorbellReply, DoorbellRequest, SyncReply, SyncRequest

BODIES = (SyncRequest, SyncReply, DoorbellRequest, DoorbellReply)
"""Requests and replies, of a sync and of the doorbell."""


def components(ref_template: str) -> tuple[tuple[dict[str, Any], ...], dict[str, Any]]:
    """References to the schemas of the bodies, and all schemas by name."""
    return msgspec.json.schema_components(BODIES, ref_template=ref_template)


def schema() -> dict[str, Any]:
    """One document: requests and replies, and every definition that they use."""
    (request, reply, doorbell_request, doorbell_reply), definitions = components("#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Grasshopper shim protocol 1",
        "description": "Bodies of POST /shim/v1/sync (facts up, orders down) and of POST /shim/v1/doorbell.",
        "type": "object",
        "properties": {
            "request": request,
            "reply": reply,
            "doorbell_request": doorbell_request,
            "doorbell_reply": doorbell_reply,
        },
        "$defs": definitions,
    }


def text() -> str:
    """The schema as it is committed."""
    return json.dumps(schema(), indent=2, sort_keys=True) + "\n"


if __name__ == "__main__":
    print(text(), end="")
