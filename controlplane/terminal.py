"""What do all commands share? Options, exit codes, questions to a running control plane, and how results are printed.

Exit codes: 0 done, 1 refused or failed, 2 wrong usage or settings, 3 server not reachable, 4 not found, 5 not
allowed. Everything heavy is imported where it is needed, so help is quick.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from controlplane.findings import ERROR, HEADINGS, Finding, as_rows
from controlplane.printable import harmless
from controlplane.processes import read_token

REFUSED, USAGE, UNREACHABLE, NOT_FOUND, NOT_ALLOWED = 1, 2, 3, 4, 5
EXIT_CODES = {401: NOT_ALLOWED, 403: NOT_ALLOWED, 404: NOT_FOUND, 422: USAGE}
"""By HTTP status; any other failure is REFUSED."""
WAYS_TO_GIVE_A_TOKEN = "give it by --token, GRASSHOPPER__CLIENT__TOKEN or GRASSHOPPER__CLIENT__TOKEN_FILE"  # noqa: S105
TIMEOUT_S = 10.0


class Output(StrEnum):
    """How results are printed."""

    TABLE = "table"
    JSON = "json"


SERVER = "http://127.0.0.1:7272"
AsOption = Annotated[Output, typer.Option("--output", "-o", help="How to print the result.")]
ServerOption = Annotated[
    str, typer.Option("--server", envvar="GRASSHOPPER__CLIENT__SERVER", help="Address of the control plane.")
]
TokenOption = Annotated[
    str | None,
    typer.Option(
        "--token",
        envvar="GRASSHOPPER__CLIENT__TOKEN",
        show_envvar=True,
        help="Bearer token; GRASSHOPPER__CLIENT__TOKEN_FILE may name a file instead.",
    ),
]


def call(server: str, token: str | None, method: str, path: str, **request: Any) -> Any:
    """The JSON answer of the REST API, or an exit with the code for what went wrong."""
    import requests
    from requests import exceptions

    from controlplane.operators import ask

    token = token or token_from_file()
    if token and not (token.isascii() and token.isprintable()):
        fail("the token must be printable ASCII", USAGE)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    address = f"{server.rstrip('/')}/api/v1{path}"
    try:
        reply = ask(method, address, headers=headers, timeout=TIMEOUT_S, **request)
        body = reply.json()
    except requests.JSONDecodeError:
        _not_ours(server)
    except requests.ReadTimeout:
        fail(f"{server} listens, but did not answer within {TIMEOUT_S:g} s; is it overloaded or stopped?", UNREACHABLE)
    except exceptions.SSLError as error:
        fail(
            f"{server}: no TLS connection; does it speak plain http, or is its certificate not trusted? {error}",
            UNREACHABLE,
        )
    except (requests.ConnectionError, requests.Timeout, exceptions.ChunkedEncodingError):
        fail(f"{server} cannot be reached; does `grasshopper serve` run there?", UNREACHABLE)
    except requests.RequestException as error:
        if isinstance(error, ValueError):
            fail(f"--server: {server} is no address; want one as in http://127.0.0.1:7272", USAGE)
        _not_ours(server)
    if not isinstance(body, dict):
        _not_ours(server)
    if not reply.ok:
        problem = body.get("detail") or body.get("title") or f"status {reply.status_code}"
        problem = f"{problem}; {WAYS_TO_GIVE_A_TOKEN}" if reply.status_code == 401 else problem
        fail(str(problem), EXIT_CODES.get(reply.status_code, REFUSED))
    return body


@contextmanager
def reading(server: str) -> Iterator[None]:
    """Ends the command if an answer is JSON, but not Grasshopper's."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError):
        _not_ours(server)


def _not_ours(server: str) -> NoReturn:
    fail(f"{server} does not answer like Grasshopper", REFUSED)


def token_from_file() -> str | None:
    """The token from the file that the environment names, None if it names none."""
    path = os.environ.get("GRASSHOPPER__CLIENT__TOKEN_FILE")
    try:
        return read_token(Path(path)) if path else None
    except (OSError, UnicodeDecodeError) as error:
        fail(f"GRASSHOPPER__CLIENT__TOKEN_FILE: {error}", USAGE)


def note(message: str) -> None:
    """A line for people next to the result, on standard error."""
    typer.echo(harmless(f"grasshopper: {message}"), err=True)


def say(line: str) -> None:
    """A line of the result, which may hold users' text."""
    typer.echo(harmless(line))


def fail(message: str, code: int) -> NoReturn:
    """Ends the command with a line on standard error."""
    note(message)
    raise typer.Exit(code)


def print_json(value: Any) -> None:
    """For programs."""
    typer.echo(json.dumps(value, indent=2))


def print_table(headings: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    """For people; None leaves a cell empty, and without a terminal no line is folded."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*headings, box=box.SIMPLE_HEAD)
    for row in rows:
        table.add_row(*(Text("" if cell is None else harmless(str(cell))) for cell in row))
    console = Console()
    if not console.is_terminal:
        console.width = 1000
    console.print(table)


def pairs(option: str, given: list[str]) -> dict[str, str]:
    """The KEY=VALUE words of an option that may be repeated; the last one of a key counts."""
    found: dict[str, str] = {}
    for pair in given:
        key, is_pair, value = pair.partition("=")
        if not (key and is_pair):
            fail(f"{option}: {pair!r} is not KEY=VALUE", USAGE)
        found[key.strip()] = value
    return found


def print_findings(findings: list[Finding], output: Output) -> None:
    """Prints a doctor's findings; ends the command with REFUSED if one of them is an error."""
    if output is Output.JSON:
        print_json([asdict(finding) for finding in findings])
    else:
        print_table(HEADINGS, as_rows(findings))
    if any(finding.severity is ERROR for finding in findings):
        raise typer.Exit(REFUSED)
