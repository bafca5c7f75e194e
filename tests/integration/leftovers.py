"""What is left of a program that was told to end? Whatever inherited a variable of its environment."""

from pathlib import Path


def processes_with(mark: str) -> list[str]:
    """The command lines of all processes that inherited an environment variable."""
    found = []
    for environment in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark.encode() in environment.read_bytes():
                found.append((environment.parent / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found
