"""Which errors can a caller cause, and whose fault is each?"""

from dataclasses import dataclass


class GrasshopperError(Exception):
    """Base of every error that Grasshopper raises on purpose."""


@dataclass(eq=False)
class BadFact(GrasshopperError):
    """A host reported something impossible; `field` names it as on the wire.

    >>> str(BadFact("attempt_started.index", got=9, want="< n_tasks (4)", source="spark:app-7"))
    'spark:app-7 reported attempt_started.index = 9, want < n_tasks (4)'
    """

    field: str
    got: object
    want: str
    source: str

    def __str__(self) -> str:
        return f"{self.source} reported {self.field} = {self.got!r}, want {self.want}"


@dataclass(eq=False)
class BadSetting(GrasshopperError):
    """An operator asked for an impossible setting; `field` is its full dotted name.

    >>> str(BadSetting("server.port", got=-1, want="a port", place="plane.yaml:3"))
    'plane.yaml:3: server.port = -1, want a port'
    """

    field: str
    got: object
    want: str
    place: str = ""
    """Where it was asked for, if that is known: a file and a line."""

    def __str__(self) -> str:
        return f"{f'{self.place}: ' if self.place else ''}{self.field} = {self.got!r}, want {self.want}"


@dataclass(eq=False)
class BadSettings(GrasshopperError):
    """Everything that is wrong with what an operator asked for, by full dotted name."""

    problems: tuple[BadSetting, ...]

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))


@dataclass(eq=False)
class LawBroken(GrasshopperError):
    """A policy gives an answer that no policy may: a defect of the policy, never the host's."""

    law: str
    story: str

    def __str__(self) -> str:
        return f"{self.law}: {self.story}"
