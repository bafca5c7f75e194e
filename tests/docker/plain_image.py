"""What does a Dockerfile build where there is no Docker? Its own steps, run in a folder that stands for the image.

Every absolute path of a step lies below that folder, the base image is an empty Python environment at its usual place,
and the process environment holds nothing but what the steps set and what pip needs to reach its index. Owners and
users are left out: only a container can give a process another one.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import string
import subprocess
import venv
from dataclasses import dataclass, field
from pathlib import Path

ABSOLUTE = re.compile(r"(?<![\w/.])/(?=\w)")
"""The first slash of an absolute path, but none of an address or of a relative path."""
_NETWORK = re.compile(r"(PIP_.*|.*_proxy|SSL_CERT_(FILE|DIR))", re.IGNORECASE)
_FOR_A_DAEMON = frozenset({"USER", "EXPOSE"})
"""Instructions about users and networks, which a folder does not have."""


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction and all that follows it, continued lines joined."""

    name: str
    text: str

    def words(self) -> tuple[list[str], dict[str, str]]:
        """The arguments, from the JSON or the shell form, and the flags before them."""
        if self.text.startswith("["):
            return json.loads(self.text), {}
        words = shlex.split(self.text)
        flags = dict(word.removeprefix("--").split("=", 1) for word in words if word.startswith("--"))
        return [word for word in words if not word.startswith("--")], flags


def steps(dockerfile: Path) -> list[Step]:
    """The instructions of a Dockerfile in their order."""
    lines = [line for line in dockerfile.read_text().splitlines() if not line.lstrip().startswith("#")]
    logical = re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines()
    return [Step(*line.split(maxsplit=1)) for line in logical if line.strip()]


@dataclass
class PlainImage:
    """What has been built in `root` so far. `context` is where COPY takes from; finished stages lie beside `root`."""

    root: Path
    context: Path
    stage: str = ""
    folder: str = "/"
    environment: dict[str, str] = field(default_factory=dict)
    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    health: list[str] = field(default_factory=list)
    volume: str = ""

    def build(self, dockerfile: Path) -> PlainImage:
        """Run every step; raises CalledProcessError for one that fails, AttributeError for one that is not known."""
        for step in steps(dockerfile):
            if step.name not in _FOR_A_DAEMON:
                getattr(self, f"_{step.name.lower()}")(step)
        return self

    def inside(self, text: str) -> str:
        """A text with every absolute path in it moved below the image's folder."""
        return ABSOLUTE.sub(f"{self.root}/", text)

    @property
    def cwd(self) -> Path:
        """Where commands run."""
        return Path(self.inside(self.folder))

    def files(self) -> dict[Path, int]:
        """All that the image holds outside its volume, and when it was changed."""
        volume = Path(self.inside(self.volume))
        outside = (path for path in self.root.rglob("*") if not path.is_relative_to(volume))
        return {path: path.lstat().st_mtime_ns for path in outside}

    def _from(self, step: Step) -> None:
        """A new stage, in the same place as the one before, which moves away: paths in its files stay true."""
        if self.root.exists():
            self.root.rename(self._finished(self.stage))
        _, _, self.stage = step.text.partition(" AS ")
        venv.create(self.root / "usr/local", with_pip=True)
        self.folder = "/"
        network = {name: value for name, value in os.environ.items() if _NETWORK.fullmatch(name)}
        self.environment = network | {"PATH": f"{self.root}/usr/local/bin:/usr/bin:/bin", "HOME": str(self.root)}

    def _workdir(self, step: Step) -> None:
        self.folder = step.text
        self.cwd.mkdir(parents=True, exist_ok=True)

    def _env(self, step: Step) -> None:
        for word in shlex.split(self.inside(step.text)):
            name, _, value = word.partition("=")
            self.environment[name] = string.Template(value).substitute(self.environment)

    def _copy(self, step: Step) -> None:
        (*sources, target), flags = step.words()
        origin = self._finished(flags["from"]) if "from" in flags else self.context
        place = self.cwd / self.inside(target)
        for source in (origin / source.lstrip("/") for source in sources):
            if source.is_dir():
                shutil.copytree(source, place, symlinks=True, dirs_exist_ok=True)
            else:
                (place if target.endswith("/") else place.parent).mkdir(parents=True, exist_ok=True)
                shutil.copy(source, place)

    def _run(self, step: Step) -> None:
        subprocess.run(["/bin/sh", "-c", self.inside(step.text)], cwd=self.cwd, env=self.environment, check=True)

    def _volume(self, step: Step) -> None:
        self.volume = step.text

    def _healthcheck(self, step: Step) -> None:
        self.health, _ = Step("CMD", step.text.partition(" CMD ")[2]).words()

    def _entrypoint(self, step: Step) -> None:
        self.entrypoint, _ = step.words()

    def _cmd(self, step: Step) -> None:
        self.command, _ = step.words()

    def _finished(self, stage: str) -> Path:
        return self.root.with_name(f"stage-{stage}")
