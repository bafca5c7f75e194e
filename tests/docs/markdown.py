"""What do all pages that are made have in common? Where they are, what they say of themselves, and tables."""

from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
NOTE = "Made from code by `python -m tests.docs.generated`; a test keeps it true.\n"


def table(*headings: str, rows: list[tuple[Any, ...]]) -> str:
    """A Markdown table."""
    lines = [headings, ("---",) * len(headings), *rows]
    return "".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |\n" for line in lines)
