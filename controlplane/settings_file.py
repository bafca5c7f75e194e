"""What does a settings file say, and on which line? YAML of sections; `settings` decides whether it is allowed."""

import dataclasses
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import yaml

from controlplane.model.errors import BadSetting, BadSettings

_TRUTH = "tag:yaml.org,2002:bool"


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # PyYAML has no types
    """Reads YAML, but takes for truth values only `true` and `false`, as YAML 1.2 does: `off` is a mode."""

    yaml_implicit_resolvers: ClassVar[dict[str, list[tuple[str, re.Pattern[str]]]]] = {
        first: [(tag, word) for tag, word in known if tag != _TRUTH]
        for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """The names and values. YAML keeps the last value of a duplicate name; we refuse it."""
        seen: set[str] = set()
        for name in [key for key, _ in node.value if isinstance(key, yaml.ScalarNode)]:
            if name.value in seen:
                twice = f"{name.value} is there twice"
                raise yaml.constructor.ConstructorError(problem=twice, problem_mark=name.start_mark)
            seen.add(name.value)
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver(_TRUTH, re.compile("^(true|True|TRUE|false|False|FALSE)$"), list("tTfF"))


def read(path: Path) -> str:
    """The text of a settings file; raises `BadSettings`."""
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise BadSettings((BadSetting("config", str(path), f"a readable YAML file: {error}"),)) from None


def parse(path: Path | None, text: str) -> dict[str, Any]:
    """The sections of a YAML file. Errors leave out the text around them, which may hold secrets.

    Raises `BadSettings`.
    """
    want, place = "a YAML file of sections", ""
    try:
        tree = yaml.load(text, Loader=_Loader) or {}  # noqa: S506  # a safe one
    except yaml.MarkedYAMLError as error:
        want = f"{want}: {error.problem}"
        place = f"{path}:{error.problem_mark.line + 1}" if error.problem_mark else ""
        tree = None
    except (yaml.YAMLError, RecursionError, ValueError):
        tree = None
    if not isinstance(tree, dict) or not all(isinstance(section, str) for section in tree):
        raise BadSettings((BadSetting("config", str(path), want, place),))
    return tree


def placed(
    problems: Iterable[BadSetting], path: Path | None, text: str, origins: Mapping[str, str]
) -> tuple[BadSetting, ...]:
    """The problems, each with its line if the value came from the file."""
    document = yaml.compose(text, Loader=yaml.SafeLoader)
    lines = [(problem, _line(document, problem.field.split("."))) for problem in problems]
    return tuple(
        dataclasses.replace(problem, place=f"{path}:{line}")
        if line and origins.get(problem.field, str(path)) == str(path)
        else problem
        for problem, line in lines
    )


def _line(node: yaml.Node | None, names: list[str]) -> int:
    """The line of a setting in a YAML document; 0 if it is not there."""
    line = 0
    for name in names:
        pairs = node.value if isinstance(node, yaml.MappingNode) else []
        found = next(((key, value) for key, value in pairs if key.value == name), None)
        if found is None:
            return 0
        line, node = found[0].start_mark.line + 1, found[1]
    return line
