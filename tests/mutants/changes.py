"""Which small changes can be made to a module's source? Each replaces one expression or statement."""

import ast
import difflib
from collections.abc import Iterator
from dataclasses import dataclass

COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.Pow: ast.Mult,
}  # fmt: skip
CALLS = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "any": "all", "all": "any"}
EMPTY = {"bool": "False", "int": "0", "float": "0.0", "str": "''"}
"""By annotation, what a function returns instead of what it found; else None."""
LOGGER = "_log"
"""Its calls are left alone: what is logged is not what is done."""
NO_BEHAVIOUR = {"annotation", "returns", "decorator_list", "type_params", "bases", "keywords"}
"""Parts of functions, classes and variables in which nothing is changed."""


@dataclass(frozen=True, slots=True)
class Change:
    """One replaced part of a file's text; `start` and `end` are offsets into its UTF-8 bytes."""

    file: str
    line: int
    start: int
    end: int
    text: str

    def apply(self, source: str) -> str:
        """The whole file with the change."""
        whole = source.encode()
        return (whole[: self.start] + self.text.encode() + whole[self.end :]).decode()

    def diff(self, source: str) -> list[str]:
        """The lines that go and come, with their signs and without indentation."""
        lines = difflib.unified_diff(source.splitlines(), self.apply(source).splitlines(), lineterm="", n=0)
        return [f"{line[0]} {line[1:].strip()}" for line in list(lines)[2:] if line[0] in "+-"]


def changes(file: str, source: str) -> list[list[Change]]:
    """By place in a file, every change that can be made there; never the same twice."""
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def change(node: ast.expr | ast.stmt, text: str) -> Change:
        start = starts[node.lineno - 1] + node.col_offset
        return Change(file, node.lineno, start, starts[node.end_lineno - 1] + node.end_col_offset, text)

    places = []
    for node, returned in _nodes(ast.parse(source), "None"):
        texts = dict.fromkeys(_instead(node, returned))
        if texts:
            places.append([change(node, text) for text in texts])
    return places


def _nodes(node: ast.AST, returned: str) -> Iterator[tuple[ast.AST, str]]:
    """Every node that counts as behaviour, with what its function would return if it had found nothing."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        returned = EMPTY.get(ast.unparse(node.returns), "None") if node.returns else "None"
    yield node, returned
    skipped = NO_BEHAVIOUR if isinstance(node, ast.stmt | ast.arg) else set()
    for name, value in ast.iter_fields(node):
        if name in skipped:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr) and not _is_logging(child):
                yield from _nodes(child, returned)


def _is_logging(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and ast.unparse(node).startswith(f"{LOGGER}.")


def _instead(node: ast.AST, returned: str) -> Iterator[str]:
    """What may stand in a node's place."""
    match node:
        case ast.Compare():
            for at, operator in enumerate(node.ops):
                flipped = [COMPARISONS[type(operator)]() if at == i else each for i, each in enumerate(node.ops)]
                yield _whole(ast.Compare(node.left, flipped, node.comparators))
        case ast.BinOp() if type(node.op) in ARITHMETIC:
            yield _whole(ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right))
        case ast.BoolOp():
            yield _whole(ast.BoolOp(ast.And() if isinstance(node.op, ast.Or) else ast.Or(), node.values))
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield _whole(node.operand)
        case ast.Constant(value=bool()):
            yield repr(not node.value)
        case ast.Constant(value=int() | float()):
            others = (node.value + 1, node.value - 1, node.value * 2)
            yield from (repr(value) for value in others if value != node.value)
        case ast.Call(func=ast.Name(id=name)) if name in CALLS:
            yield ast.unparse(ast.Call(ast.Name(CALLS[name]), node.args, node.keywords))
        case ast.Call(func=ast.Attribute(attr=name)) if name in CALLS:
            yield ast.unparse(ast.Call(ast.Attribute(node.func.value, CALLS[name]), node.args, node.keywords))
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.AugAssign():
            yield "pass"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_]):
            yield "pass"
        case ast.Return(value=ast.expr()) if ast.unparse(node.value) != returned:
            yield f"return {returned}"


def _whole(node: ast.expr) -> str:
    """Its source, in parentheses where it would otherwise mix with its surroundings."""
    text = ast.unparse(node)
    return text if isinstance(node, ast.Name | ast.Call | ast.Attribute | ast.Constant) else f"({text})"
