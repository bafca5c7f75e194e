"""Which code made a result? Version, commit and a fingerprint, to be kept beside every number that is written down."""

import ast
import hashlib
import subprocess
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import controlplane
from controlplane.simulator.cluster.workloads import trace_path

PACKAGE = Path(controlplane.__file__).parent
MEASURING = PACKAGE / "simulator" / "experiments" / "points"
"""The code that measures: a result depends on it and on what it imports, not on what judges or presents it."""
WITH_ENGINE = MEASURING / "engine.py"
"""Results of these points alone depend on the live engine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where results come from."""

    version: str
    commit: str | None
    """Marked "-dirty" where files differ from it; None outside a checkout."""
    code: str
    """A fingerprint of the code that measures: results are only put together if theirs are equal."""


@cache
def provenance(*, with_engine: bool = False) -> Provenance:
    """That of the running code, with the live engine or without."""
    code = fingerprint(PACKAGE, measuring(with_engine=with_engine), trace_path().read_bytes())
    return Provenance(version=controlplane.__version__, commit=_commit(), code=code)


def measuring(*, with_engine: bool) -> list[Path]:
    """The files of points, with those in which the live engine decides or without."""
    return [path for path in MEASURING.glob("*.py") if with_engine or path != WITH_ENGINE]


def fingerprint(package: Path, files: Iterable[Path], data: bytes, without: Container[Path] = ()) -> str:
    """A hash over the meaning of these files and of all of the package that they import, and over their data.

    Comments, docstrings and layout do not count, nor does a file of `without`, or what only such a one imports.
    """
    digest = hashlib.sha256(data)
    for path, tree in sorted(import_closure(package, files, without).items()):
        digest.update(f"{path.relative_to(package)} {ast.dump(_Bare().visit(tree))}\n".encode())
    return digest.hexdigest()[:16]


def import_closure(package: Path, files: Iterable[Path], without: Container[Path] = ()) -> dict[Path, ast.Module]:
    """The syntax trees of these files and of those of the package that they import, directly or not, save `without`."""
    trees: dict[Path, ast.Module] = {}
    left = list(files)
    while left:
        path = left.pop()
        if path not in trees and path not in without:
            trees[path] = ast.parse(path.read_text())
            left += _imported(package, trees[path])
    return trees


def _imported(package: Path, tree: ast.Module) -> Iterator[Path]:
    """Files of the package that a tree imports, by absolute names; a folder's own file where it is named itself."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    for name in names:
        if name.split(".")[0] == package.name:
            place = package.parent.joinpath(*name.split("."))
            yield from (path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file())


class _Bare(ast.NodeTransformer):
    """Drops texts that are not part of an expression: docstrings of modules, classes, functions and fields."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_text else node


def _commit() -> str | None:
    if not (PACKAGE.parent / ".git").exists():
        return None
    command = ["git", "-C", str(PACKAGE.parent), "describe", "--always", "--abbrev=40", "--dirty", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
