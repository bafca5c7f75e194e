"""Which fields have the records of policies? What stands beside them in the code is a page, docs/records.md."""

import ast
import inspect
import io
import tokenize
from dataclasses import dataclass
from types import ModuleType

import numpy as np

from controlplane.model import finished
from controlplane.policies import answer, seen
from tests.docs.markdown import NOTE, ROOT, table


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A record as its source tells it."""

    name: str
    about: str
    """The string below it; empty where there is none."""
    fields: dict[str, str]
    """The comment beside each field, empty where there is none."""
    dtype: np.dtype


def records_of(module: ModuleType) -> list[Record]:
    """The records that a module defines, in its order."""
    source = inspect.getsource(module)
    body = ast.parse(source).body
    comments = _comments(source)
    found = []
    for at, statement in enumerate(body):
        match statement:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(func=ast.Attribute(value=ast.Name(id="np"), attr="dtype"), args=[ast.List(elts=fields)]),
            ):
                of_fields = {ast.literal_eval(each.elts[0]): comments.get(each.end_lineno, "") for each in fields}
                about = _string(body[at + 1]) if at + 1 < len(body) else ""
                found.append(Record(name=name, about=about, fields=of_fields, dtype=getattr(module, name)))
    return found


def _comments(source: str) -> dict[int, str]:
    """Text of the comments by line."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {each.start[0]: each.string.lstrip("# ") for each in tokens if each.type == tokenize.COMMENT}


def _string(statement: ast.stmt) -> str:
    """The string that a statement is."""
    match statement:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return inspect.cleandoc(text)
    return ""


def records() -> str:
    """docs/records.md: what a policy sees and answers, field by field."""
    return f"""# Records of policies

A policy reads the records of a `Seen` and fills in the records of its answer
([architecture](architecture.md#compiled-kernels)). All are numpy structured arrays of the types below. Allocators and
copy budgets see claimants, speculators all the others. A running task holds the rows of its pool, job and stage; rows
to which no task points mean nothing.

{NOTE}
## What policies see

{_part(seen)}
{_part(finished)}
## What policies answer

{_part(answer)}"""


def _part(module: ModuleType) -> str:
    """Its records, one table each."""
    path = inspect.getsourcefile(module)
    assert path is not None
    file = f"[{module.__name__.rpartition('.')[2]}.py](../{path.removeprefix(f'{ROOT}/')})"
    return "\n".join(
        f"### {record.name}\n\n{record.about} In {file}.\n\n{table('field', 'type', 'meaning', rows=_rows(record))}"
        for record in records_of(module)
    )


def _rows(record: Record) -> list[tuple[str, str, str]]:
    """(name, type, meaning) of each field."""
    return [(f"`{name}`", f"`{record.dtype[name]}`", meaning) for name, meaning in record.fields.items()]
