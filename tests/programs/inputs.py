"""What do the programs read? TPC-H tables of a fixed size, made once, as parquet of many row groups and as text."""

from __future__ import annotations

import gzip
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

SCALE_FACTOR = 0.5
"""Three million line items."""
ROW_GROUP = "2MB"
PARTITION_BYTES = 3 * 1024 * 1024
"""Most of a parquet file that one task reads: one or two row groups."""
TEXT_SPLITS = 24
SPLIT_BYTES = 1024 * 1024
GZIP_LINES = 150_000


@dataclass(frozen=True, slots=True)
class Inputs:
    """Where the inputs of one run lie, and where it may write; `scheme` is how text is read."""

    folder: Path
    output: Path
    scheme: str = "file"

    def table(self, name: str) -> str:
        """The parquet file of a table."""
        return str(self.folder / "parquet" / f"{name}.parquet")

    @property
    def text(self) -> str:
        """A text file of TEXT_SPLITS splits."""
        return f"{self.scheme}://{self.folder / 'lines.txt'}"

    @property
    def gzipped(self) -> str:
        """A text file that only one task can read."""
        return str(self.folder / "lines.txt.gz")


def make(folder: Path) -> None:
    """Write all inputs, unless they are there already."""
    done = folder / "done"
    if done.exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    _generate(folder / "parquet", "parquet", f"--row-group-bytes={ROW_GROUP}")
    _generate(folder, "tbl", "--tables=lineitem")
    lines = folder / "lineitem.tbl"
    with lines.open("rb") as source:
        text = source.read(TEXT_SPLITS * SPLIT_BYTES)
    (folder / "lines.txt").write_bytes(text[: text.rindex(b"\n") + 1])
    with gzip.open(folder / "lines.txt.gz", "wb", compresslevel=6) as target:
        target.write(b"".join(text.splitlines(keepends=True)[:GZIP_LINES]))
    lines.unlink()
    done.touch()


def _generate(folder: Path, *arguments: str) -> None:
    command = Path(sys.executable).with_name("tpchgen-cli")
    subprocess.run([command, *arguments, "-q", f"-s={SCALE_FACTOR}", f"--output-dir={folder}"], check=True)
