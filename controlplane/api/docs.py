"""What can be asked of the API? One page made from the OpenAPI document, readable without scripts or a network."""

from html import escape
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

router = APIRouter(include_in_schema=False)

_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
td { padding: .3rem .8rem .3rem 0; vertical-align: top; overflow-wrap: anywhere; }
code { font-size: .92em; }
"""


@router.get("/docs")
async def docs(request: Request) -> Response:
    """Every path with its method and its sentence."""
    document = request.app.openapi()
    rows = "".join(
        _row(method, path, operation)
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    )
    return HTMLResponse(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>Grasshopper API</title><style>{_STYLE}</style><h1>Grasshopper API</h1>"
        "<p>Parameters, bodies and answers: <a href='/api/v1/openapi.json'>OpenAPI document</a>."
        " Back to the <a href='/'>decision page</a>.</p>"
        "<p>An id is one segment of a path, percent-encoded: the job <code>a/b</code> of"
        " <code>spark:app-1</code> is <code>/api/v1/jobs/spark:app-1/a%2Fb</code>.</p>"
        f"<table>{rows}</table></html>"
    )


def _row(method: str, path: str, operation: dict[str, Any]) -> str:
    about = operation.get("description") or operation.get("summary", "")
    return f"<tr><td>{method.upper()}<td><code>{escape(path)}</code><td>{escape(about)}</tr>"
