"""How is the corpus called? `run`, `all`, `replay` and `score`; `--help` tells what each takes.

`python -m tests.programs run python_udf --slowness hang --contestant control`
`python -m tests.programs replay tests/programs/recordings/*.xz --policy hopper+ras`
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from controlplane.processes import exit_on_signals
from tests.bench.__main__ import commit
from tests.programs import runner, table
from tests.programs.case import MEASURED, Case
from tests.programs.program import programs
from tests.programs.replay import replay as replayed
from tests.programs.slowness import SLOWNESS, fits

app = typer.Typer(add_completion=False, no_args_is_help=True)
Spark = Annotated[str, typer.Option(help=f"One of {', '.join(runner.SPARKS)}.")]


@app.command()
def run(
    names: list[str],
    slowness: Annotated[list[str], typer.Option()] = ["none"],  # noqa: B006 - typer copies it
    contestant: Annotated[list[str], typer.Option()] = ["control"],  # noqa: B006
    spark: Spark = "4",
    again: Annotated[bool, typer.Option(help="Also what was run before.")] = False,
) -> None:
    """Run some programs, each slowed in each way, under each contestant, on one cluster."""
    matrix(names, slowness, contestant, spark, again=again)


@app.command("all")
def run_all(spark: Spark = "4") -> None:
    """Run the whole matrix, on an older Spark a third of the programs; goes on where it was stopped.

    Takes seven hours, and two on the older Spark. Fails (1) if a case does, or came to another result than the others.
    """
    names = list(programs())[:: 1 if spark == "4" else 3]
    whole = matrix(names, list(SLOWNESS), list(MEASURED), spark, again=False)
    at = commit()
    results = {(case.program, case.result) for case in cases_in(runner.FOLDER) if case.commit == at}
    if not whole or len(results) > len({program for program, _ in results}):
        raise typer.Exit(1)


def matrix(names: list[str], slownesses: list[str], contestants: list[str], spark: str, *, again: bool) -> bool:
    """Run what is missing of a matrix; a case that fails is told and left out. Returns whether none has failed.

    Contestants run side by side, in turn the first: who comes later finds inputs in the machine's memory.
    """
    known, at = programs(), commit()
    pairs = [(name, slowness) for name in names for slowness in slownesses]
    cases = [
        (known[name], slowness, contestant)
        for turn, (name, slowness) in enumerate(pairs)
        for contestant in rotated(contestants, turn)
        if fits(SLOWNESS[slowness], known[name])
        and (again or not is_done(runner.FOLDER / f"{name}-{slowness}-{contestant}-{spark}.json", at))
    ]
    exit_on_signals()
    n_failed = 0
    with runner.grounds(spark) as on:
        for number, (program, slowness, contestant) in enumerate(cases, 1):
            told = f"{number}/{len(cases)} {program.name} {slowness} {contestant}"
            try:
                table.print_case(told, runner.run(on, program, slowness, contestant))
            except runner.ApplicationError as failed:
                n_failed += 1
                print(f"{told}: {failed}", flush=True)
    return n_failed == 0


def is_done(path: Path, at: str) -> bool:
    """Whether a case was run at this commit, and not on files that differ from it."""
    is_clean = not at.endswith("-dirty")
    return is_clean and path.exists() and msgspec.json.decode(path.read_bytes(), type=Case).commit == at


def rotated(contestants: list[str], turn: int) -> list[str]:
    """The same, another one first in each turn."""
    first = turn % len(contestants)
    return contestants[first:] + contestants[:first]


def cases_in(folder: Path) -> list[Case]:
    """All that were run, by their names."""
    decode = msgspec.json.Decoder(Case).decode
    return [decode(path.read_bytes()) for path in sorted(folder.glob("*.json"))]


@app.command()
def replay(
    files: list[Path],
    policy: Annotated[str, typer.Option(help="Allocator and speculator.")] = "hopper+ras",
    quiet: Annotated[bool, typer.Option(help="Only the table.")] = False,
) -> None:
    """What today's engine would copy in recordings, first copies only, scored against the labels."""
    results = [replayed(file, policy) for file in files]
    if not quiet:
        for case, wanted in results:
            table.print_wanted(case, wanted)
    table.print_scores([(case, [one.copy for one in wanted]) for case, wanted in results], policy)


@app.command()
def score(folder: Path = runner.FOLDER) -> None:
    """How well the copies of all cases that were run fit their labels, and how long jobs took beside stock."""
    table.print_matrix(cases_in(folder))


if __name__ == "__main__":
    app()
