"""Who changes which column of the cluster? Each has one writer; the source is read for whoever else assigns to it."""

import ast
from pathlib import Path

import pytest

from controlplane.model import columns
from controlplane.model.columns import Writer
from controlplane.model.table import Column, Table

pytestmark = pytest.mark.unit

ROOT = Path(columns.__file__).parents[1]
OWN = {
    Writer.HOST: ("model/",),
    Writer.ESTIMATOR: ("estimators/", "engine/learning.py"),
    Writer.ENGINE: ("engine/",),
    Writer.CYCLE: ("engine/speculation.py", "engine/seeing.py"),
}
"""Where each writer is. A dump is loaded by `engine/loading.py`, which stands in for all of them."""
TABLES = {
    name: {field: column.by for field, column in vars(table).items() if isinstance(column, Column)}
    for table in vars(columns).values()
    if isinstance(table, type) and issubclass(table, Table)
    for name in (table.__name__.lower(), table.__name__.lower()[:-1])
}
"""Columns and their writers, by what tables and their records are called in code."""


def assigned(text):
    """(table, column, line) of each assignment to `table.column[...]` or `record["column"]` in a file."""
    for node in ast.walk(ast.parse(text)):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        for target in targets:
            for place in target.elts if isinstance(target, ast.Tuple) else [target]:
                yield from named(place)


def named(place):
    """The column that an assignment's target names, if it names one."""
    while isinstance(place, ast.Subscript):
        base, field = place.value, getattr(place.slice, "value", None)
        if isinstance(base, ast.Attribute):
            yield word(base.value), base.attr, place.lineno
        while isinstance(base, ast.Subscript):
            base = base.value
        yield word(base), field, place.lineno
        place = place.value


def word(base):
    """The last word of a name: `tasks` of `cluster.tasks`."""
    return getattr(base, "attr", getattr(base, "id", ""))


def foreign(path, text):
    """Assignments of a file to columns that are not its own."""
    name = path.relative_to(ROOT).as_posix()
    for table, field, line in assigned(text):
        by = TABLES.get(table, {}).get(field)
        if by is not None and not name.startswith(OWN[Writer(by)]):
            yield f"{name}:{line} {table}.{field} is the {by}'s"


def test_each_column_has_one_writer():
    """What hosts told, what is believed, what was decided, and a cycle's scratch do not mix."""
    files = [
        path
        for folder in ("model", "estimators", "policies", "deciding", "hosts", "engine", "runtime", "api")
        for path in (ROOT / folder).rglob("*.py")
        if path.name != "loading.py"
    ]
    assert [each for path in files for each in foreign(path, path.read_text())] == []


@pytest.mark.parametrize(
    "line",
    [
        "cluster.tasks.done[row] = True",
        "jobs.target[rows], jobs.weight[rows] = 1, 2",
        'attempts[at]["t_rem_s"] = 0.0',
        'pools["slots"][0] += 1',
        "self.cluster.attempts.start_s[row] -= 1",
    ],
)
def test_whoever_else_assigns_is_found(line):
    assert len(list(foreign(ROOT / "engine" / "copies.py", line))) == 1
