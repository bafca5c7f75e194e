"""How far is each paper? `docs/papers/*.toml` says it row by row; what is wrong there is refused, the rest a page."""

import os
import re
import tomllib
from collections import Counter
from dataclasses import MISSING, dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Any

from tests.docs.markdown import DOCS, ROOT, table

PAPERS = {
    "hopper": "Hopper (SIGCOMM'15)",
    "grass": "GRASS (NSDI'14)",
    "shed-plus": "Shed+ (with Shed and Dolly)",
    "redundancy": "Redundancy and relaunch",
}
"""Headings by file, in the order of the page."""
LINKS = "links"
"""The file that says where the names in brackets lead, from the root of the repository."""
REFERENCE = re.compile(r"\[([^\]\[]+)\]")


class State(StrEnum):
    """How far what a row states is here."""

    LIVE = "live"
    SIMULATED = "simulated"
    NOT_YET = "not yet"
    CANNOT = "cannot be tried here"


IS_THERE = frozenset({State.LIVE, State.SIMULATED})
"""States whose rows name code, a test and a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One statement of a paper: a mechanism, a figure, a baseline, a claim."""

    section: str
    what: str
    state: State
    where: str = ""
    """Code, tests and pages by their names in `links.toml`, with what there is to say of them."""
    reason: str = ""
    """Why it cannot be tried here; of no other state."""


FIELDS = {field.name: field.default is MISSING for field in fields(Row)}
"""Fields of a row, and whether every row has them."""


@dataclass(eq=False)
class BadRow(Exception):
    """A row that would make a wrong page; `row` is its number, and its statement if that is there."""

    file: str
    row: str
    field: str
    got: object
    want: str

    def __str__(self) -> str:
        return f"{self.file}, {self.row}: {self.field} = {self.got!r}, want {self.want}"


def load(folder: Path) -> tuple[dict[str, list[Row]], dict[str, str]]:
    """Rows by paper, and paths by name. Raises BadRow for the first row, or name, that is wrong."""
    links = tomllib.loads((folder / f"{LINKS}.toml").read_text())
    papers = {paper: _rows(folder / f"{paper}.toml", links) for paper in PAPERS}
    used = {name for rows in papers.values() for row in rows for name in REFERENCE.findall(row.where)}
    for name in sorted(links.keys() - used):
        raise BadRow(f"{LINKS}.toml", "unused", name, links[name], "a row that names it")
    return papers, links


def _rows(file: Path, links: dict[str, str]) -> list[Row]:
    """All rows of a paper."""
    given = tomllib.loads(file.read_text())
    if given.keys() != {"rows"}:
        raise BadRow(file.name, "tables", "names", [*given], '"rows" alone')
    return [_row(file.name, number, row, links) for number, row in enumerate(given["rows"], start=1)]


def _row(file: str, number: int, given: dict[str, Any], links: dict[str, str]) -> Row:
    """A row, checked."""

    def bad(field: str, want: str) -> BadRow:
        name = f"row {number} ({given['what']})" if field != "what" and "what" in given else f"row {number}"
        return BadRow(file, name, field, given.get(field), want)

    for field in given:
        if field not in FIELDS:
            raise bad(field, " or ".join(FIELDS))
    for field, is_everywhere in FIELDS.items():
        if (is_everywhere or field in given) and not (isinstance(given.get(field), str) and given[field].strip()):
            raise bad(field, "some text")
    if given["state"] not in list(State):
        raise bad("state", " or ".join(State))
    row = Row(**given | {"state": State(given["state"])})
    if row.state is State.CANNOT and not row.reason:
        raise bad("reason", f"why it {row.state}")
    if row.state is not State.CANNOT and row.reason:
        raise bad("reason", f"none where it is {row.state}")
    names = REFERENCE.findall(row.where)
    if unknown := [name for name in names if name not in links]:
        raise bad("where", f"no [{unknown[0]}], or a line for it in {LINKS}.toml")
    if row.state in IS_THERE and {_kind(links[name]) for name in names} != {"code", "test", "page"}:
        raise bad("where", "code, a test and a page")
    return row


def _kind(path: str) -> str:
    """What a name leads to."""
    return "page" if path.endswith(".md") else "test" if path.startswith("tests/") else "code"


def papers() -> str:
    """docs/papers.md: every row of every paper, and how many there are of each state."""
    found, links = load(DOCS / "papers")
    counts = {paper: Counter(row.state for row in rows) for paper, rows in found.items()}
    counted = [(PAPERS[paper], *(of[state] for state in State), of.total()) for paper, of in counts.items()]
    everything = sum(counts.values(), Counter[State]())
    counted.append(("all", *(everything[state] for state in State), everything.total()))
    parts = [
        f"## {PAPERS[paper]}\n\n{table('section', 'what', 'state', 'where', rows=[_cells(row) for row in rows])}"
        for paper, rows in found.items()
    ]
    defined = [f"[{name}]: {os.path.relpath(ROOT / path, DOCS)}" for name, path in links.items()]
    return f"""# The papers, line by line

What the four papers propose, compare with, tabulate, draw or claim, and how far Grasshopper has it.

- **live**: the control plane does it on facts of real hosts.
- **simulated**: it is computed or simulated and tested, and no host is told.
- **not yet**: not built, or a result nobody has tried to obtain here. A figure or claim is "not yet" until an
  experiment of ours has tried it, even where the mechanism behind it is live.
- **cannot be tried here**: the statement is about machines or traces that are not at hand, or about what the
  paper's own formulas exclude; the row says which.

Existing parts link to code, a test and a page. Where a paper's print is wrong, the policy's page says so under
"Erratum".

Made from the tables in [papers](papers) by `python -m tests.docs.generated`; a test keeps it true.

{table("paper", *State, "rows", rows=counted)}
{chr(10).join(parts)}
## LATE and Mantri

Both are published elsewhere (OSDI'08, OSDI'10) and are what the papers above compare with: [late](policies/late.md),
[mantri](policies/mantri.md).

{chr(10).join(defined)}
"""


def _cells(row: Row) -> tuple[str, ...]:
    """A row of the page: the reason comes before what there is."""
    return row.section, row.what, row.state, "; ".join(filter(None, (row.reason, row.where)))
