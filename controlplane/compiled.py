"""How do formulas over columns become machine code? `kernel` and `rule`, over numba.

A *kernel* is compiled when it is first called. A *rule* is a formula of scalars that stays a plain function for Python
and is compiled into the kernels that call it. numba's disk cache watches the file of a kernel, but compiled code also
holds the rules and constants of other files; so the cache folder is named by a hash over all those files, numba's
version and the CPU. What calls policies of other packages is kept in a folder of its own, whose name covers their
files too. With NUMBA_DISABLE_JIT=1 both decorators leave the function alone, which gives the same answers.
"""

import hashlib
import importlib.util
import os
import re
import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

PLAIN = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
"""Whether kernels run as plain Python."""
PACKAGE = Path(__file__).parent
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": True}
"""Kernels run without the GIL; a division by zero gives inf or nan, as in numpy, and no exception."""
RULE_OPTIONS = {**OPTIONS, "_nrt": False, "forceinline": True}
"""A rule makes no array, so it need not count references to those it is given, which takes longer than most rules.
Copying a simulator's state of twenty arrays for a call does too, so rules are inlined: LLVM does not always do that.
"""

OTHERS = "grasshopper.policies"
"""The group of entry points under which other packages name the rows of their policies."""
DISPATCH = "policies/dispatch.py"
"""The file whose kernels call every policy."""

_IMPORT = re.compile(r"^from (controlplane[\w.]*) import (\([^)]*\)|.*)", re.MULTILINE)


def kernel(function: F) -> F:
    """Compile a function of numbers and columns. Takes no keyword-only arguments, because numba refuses them."""
    if PLAIN:
        return function
    import numba

    folder = cache_folder(of_others=_calls_others(Path(function.__code__.co_filename)))
    before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(folder)  # type: ignore[attr-defined]
    try:
        return cast("F", numba.njit(cache=folder is not None, **OPTIONS)(function))
    finally:
        numba.config.CACHE_DIR = before  # type: ignore[attr-defined]


def rule(function: F) -> F:
    """Let kernels call a formula of scalars that makes no array; other callers get the plain function."""
    if PLAIN:
        return function
    from numba.extending import register_jitable

    return register_jitable(**RULE_OPTIONS)(function)


def generated(name: str, text: str) -> ModuleType:
    """The module `name` with kernels in this text. It is a file in the cache, as numba keeps code by file and date."""
    folder = None if PLAIN else cache_folder(of_others=bool(_sources_of_others()))
    path = folder / f"{name}_{hashlib.sha256(text.encode()).hexdigest()[:16]}.py" if folder else Path(f"<{name}>")
    if folder and not path.exists():
        draft = path.with_suffix(f".{os.getpid()}")
        draft.write_text(text)
        draft.replace(path)
    module = sys.modules[name] = ModuleType(name)
    exec(compile(text, str(path), "exec"), module.__dict__)  # noqa: S102  # our own text
    return module


@cache
def cache_folder(of_others: bool = False) -> Path | None:
    """Where compiled code is kept, below XDG_CACHE_HOME or ~/.cache; None if nothing can be written there.

    Code that holds policies of other packages is kept separately.
    """
    import llvmlite.binding
    import numba

    digest = hashlib.sha256(f"{numba.__version__} {llvmlite.binding.get_host_cpu_name()}".encode())
    for path in compiled_sources() + (_sources_of_others() if of_others else []):
        digest.update(path.read_bytes())
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    folder = home / "grasshopper" / "kernels" / digest.hexdigest()[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


def compiled_sources() -> list[Path]:
    """Files with kernels or rules, and our files that they import, whose constants are compiled in."""
    texts = {path: path.read_text() for path in sorted(PACKAGE.rglob("*.py"))}
    found = [path for path, text in texts.items() if "from controlplane.compiled import" in text]
    for path in found:
        found += [imported for imported in _imported(path, texts) if imported not in found]
    return found


def _imported(path: Path, texts: Mapping[Path, str]) -> list[Path]:
    """The given files of our package that one of them imports."""
    modules = [
        f"{name.replace('.', '/')}.py"
        for module, names in _IMPORT.findall(texts[path])
        for name in (module, *(f"{module}.{name}" for name in re.findall(r"\w+", names)))
    ]
    return [imported for name in dict.fromkeys(modules) if (imported := PACKAGE.parent / name) in texts]


@cache
def _sources_of_others() -> list[Path]:
    """All Python files of the packages that name policies."""
    found: set[Path] = set()
    for point in entry_points(group=OTHERS):
        spec = importlib.util.find_spec(point.module.partition(".")[0])
        if spec is not None:
            folders = spec.submodule_search_locations or ()
            found |= {path for folder in folders for path in Path(folder).rglob("*.py")}
            found |= {Path(spec.origin)} if spec.origin else set()
    return sorted(found)


def _calls_others(path: Path) -> bool:
    """Whether kernels of this file may call policies of other packages."""
    return bool(_sources_of_others()) and (path not in (every := _callers()) or every[path])


@cache
def _callers() -> dict[Path, bool]:
    """Whether each of our files imports the policies by number, directly or through others."""
    texts = {path: path.read_text() for path in PACKAGE.rglob("*.py")}
    found, imports = {PACKAGE / DISPATCH}, {path: _imported(path, texts) for path in texts}
    while more := {path for path in texts if path not in found and not found.isdisjoint(imports[path])}:
        found |= more
    return {path: path in found for path in texts}
