"""Who changes which column of the cluster? Each has one writer; the source is read for whoever else assigns to it."""

import ast
from pathlib import Path

import pytest

from controlplane.model import columns
from controlplane.model.table import Column, Table
from controlplane.model.writers import Writer

pytestmark = pytest.mark.unit

ROOT = Path(columns.__file__).parents[1]
OWN = {
    Writer.HOST: ("model/",),
    Writer.ESTIMATOR: ("estimators/", "engine/learning.py"),
    Writer.ENGINE: ("engine/",),
    Writer.CYCLE: ("engine/speculation.py", "engine/rooms.py", "engine/seeing.py"),
}
"""Where each writer is. A dump is loaded by `engine/loading.py`, which stands in for all of them."""
TABLES = {
    name: {field: column.by for field, column in vars(table).items() if isinstance(column, Column)}
    for table in vars(columns).values()
    if isinstance(table, type) and issubclass(table, Table)
    for name in (table.__name__.lower(), table.__name__.lower()[:-1])
}
"""Columns and their writers, by what tables and their records are called in code."""
ROWS = {writer.capitalize(): writer for writer in Writer}
"""Writers, by the types of their arrays' rows in the signatures of kernels and rules."""
TEXTS = {
    path: path.read_text()
    for folder in ("model", "estimators", "policies", "deciding", "hosts", "engine", "runtime", "api")
    for path in (ROOT / folder).rglob("*.py")
    if path.name != "loading.py"
}


def assigned(tree):
    """(table, column, line) of each assignment to `table.column[...]` or `record["column"]` in a tree."""
    for node in ast.walk(tree):
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


def functions(text):
    """Those that a file defines."""
    return [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]


def writer_of(parameter):
    """The one that its type names, if it is an array of a table or a row of one."""
    names = [getattr(node, "id", "") for node in ast.walk(parameter.annotation)] if parameter.annotation else []
    return next((ROWS[name] for name in names if name in ROWS), None)


def handed(function):
    """Names in a function that stand for a writer's array or row: parameters, and what is taken of them."""
    found = {each.arg: writer_of(each) for each in function.args.args}
    for name, value in bound(function):
        alias = taken_from(whole(value)) if name and isinstance(value, ast.Attribute | ast.Subscript) else None
        found[name] = found.get(name) or found.get(word(whole(value))) or alias
    return found


def taken_from(value):
    """The writer of a table's column or array that an expression names, as `cluster.tasks.done`; None for others."""
    if not isinstance(value, ast.Attribute):
        return None
    table, name = TABLES.get(word(value.value)), value.attr
    return None if table is None else table.get(name) or next((by for by in Writer if by == name), None)


def filled(function):
    """(array, line) of each array that a call in a function writes into: `.fill`, a ufunc's `.at`, `out=`."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            into = [keyword.value for keyword in node.keywords if keyword.arg == "out"]
            if isinstance(node.func, ast.Attribute):
                into += [node.func.value] if node.func.attr == "fill" else []
                into += node.args[:1] if node.func.attr == "at" else []
            yield from ((whole(each), node.lineno) for each in into)


def bound(function):
    """(name, value) of each name that a function assigns or loops over, in order."""
    statements = [node for node in ast.walk(function) if isinstance(node, ast.Assign | ast.For)]
    for node in sorted(statements, key=lambda node: node.lineno):
        targets, value = ([node.target], node.iter) if isinstance(node, ast.For) else (node.targets, node.value)
        for target in targets:
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                yield from zip(map(word, target.elts), value.elts, strict=False)
            else:
                yield word(target), value


def whole(taken):
    """What a row or a field is taken of."""
    while isinstance(taken, ast.Subscript):
        taken = taken.value
    return taken


def foreign(path, text):
    """Assignments of a file to columns that are not its own."""
    name = path.relative_to(ROOT).as_posix()
    places = [
        (f"{table}.{field}", TABLES.get(table, {}).get(field), n) for table, field, n in assigned(ast.parse(text))
    ]
    for function in functions(text):
        writers = handed(function)
        places += [(base, writers.get(base), line) for base, _, line in assigned(function)]
        places += [(word(into), taken_from(into) or writers.get(word(into)), n) for into, n in filled(function)]
    for place, by, line in dict.fromkeys(places):
        if by is not None and not name.startswith(OWN[by]):
            yield f"{name}:{line} {place} is the {by.name.lower()}'s"


def test_each_column_has_one_writer():
    """What hosts told, what is believed, what was decided, and a cycle's scratch do not mix."""
    assert [each for path, text in TEXTS.items() for each in foreign(path, text)] == []


def test_a_kernel_says_of_each_array_of_a_table_whose_it_is():
    """A parameter without a writer's type would take the arrays of all of them, and could be written to unseen."""
    every = [each for text in TEXTS.values() for each in functions(text)]
    kernels = {each.name: each.args.args for each in every if "kernel" in map(word, each.decorator_list)}
    calls = [node for text in TEXTS.values() for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    taken = [
        (word(call.func), kernels[word(call.func)][at])
        for call in calls
        for at, argument in enumerate(call.args)
        if word(call.func) in kernels and word(whole(argument)) in {*Writer}
    ]
    assert dict(taken).keys() >= {"advance", "estimate", "view_tasks"}
    assert [f"{name}: {parameter.arg}" for name, parameter in taken if not writer_of(parameter)] == []


@pytest.mark.parametrize(
    "line",
    [
        "cluster.tasks.done[row] = True",
        "jobs.target[rows], jobs.weight[rows] = 1, 2",
        'attempts[at]["t_rem_s"] = 0.0',
        'pools["slots"][0] += 1',
        "self.cluster.attempts.start_s[row] -= 1",
        "def f(all: NDArray[Reported], at: int) -> None:\n    all[at]['start_s'] = 0.0",
        "def f(estimates: Estimated) -> None:\n    estimates['rate'] = 0.0",
        "def f(all: NDArray[Scratch]) -> None:\n    for one in all:\n        one['idle'] += 1",
        "def f(cluster):\n    done = cluster.tasks.done\n    done[row] = True",
        "def f(cluster):\n    every = cluster.tasks.reported\n    every[0]['done'] = True",
        "def f(cluster):\n    cluster.attempts.t_rem_s.fill(0.0)",
        "def f(cluster):\n    np.add.at(cluster.jobs.copies_won, rows, 1)",
        "def f(cluster):\n    np.add(one, other, out=cluster.pools.slots[:2])",
        "def f(all: NDArray[Scratch], n: Ints) -> None:\n    other, one = n[0], all[n[0]]\n    one['idle'] = other",
    ],
)
def test_whoever_else_assigns_is_found(line):
    assert len(list(foreign(ROOT / "engine" / "copies.py", line))) == 1
