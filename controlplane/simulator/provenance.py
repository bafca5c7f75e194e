"""Which code made a result? Version, commit and a fingerprint, to be kept beside every number that is written down."""

import hashlib
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import controlplane

PACKAGE = Path(controlplane.__file__).parent
SOURCES = ("simulator/*.py", "policies/**/*.py", "engine/*.py", "estimators/*.py", "model/*.py")
"""What a simulated number may depend on; how experiments present them is not part of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where results come from."""

    version: str
    commit: str | None
    """Marked "-dirty" where files differ from it; None outside a checkout."""
    code: str
    """A hash of the simulator's sources: results are only put together if theirs are equal."""


@cache
def provenance() -> Provenance:
    """That of the running code."""
    digest = hashlib.sha256()
    for path in sorted(path for pattern in SOURCES for path in PACKAGE.glob(pattern)):
        digest.update(path.read_bytes())
    return Provenance(version=controlplane.__version__, commit=_commit(), code=digest.hexdigest()[:16])


def _commit() -> str | None:
    if not (PACKAGE.parent / ".git").exists():
        return None
    command = ["git", "-C", str(PACKAGE.parent), "describe", "--always", "--abbrev=40", "--dirty", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
