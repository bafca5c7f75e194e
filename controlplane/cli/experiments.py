"""How are the papers' figures and tables tried from a terminal? `grasshopper experiment list|run|report`.

`controlplane.cli` imports this when it is called.
"""

import shlex
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from controlplane.cli.simulator import OnMaster, computing, progress, write
from controlplane.simulator.experiments import EXPERIMENTS, journal
from controlplane.simulator.experiments.experiment import Experiment, Scale
from controlplane.simulator.experiments.report import page
from controlplane.terminal import REFUSED, USAGE, AsOption, Output, fail, print_json, print_table

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Can the papers' figures and tables be reproduced here?",
    no_args_is_help=True,
)
REPORTS = Path("build/experiments")

FolderOption = Annotated[Path, typer.Option("--folder", help="Where results are kept.")]
ScaleChoice = Annotated[Scale, typer.Option("--scale", help="smoke: seconds; full: as many jobs as the paper.")]
Names = Annotated[list[str] | None, typer.Argument(help="Papers or experiments, for example redundancy/figure-6.")]


@app.command("list")
def list_experiments(output: AsOption = Output.TABLE) -> None:
    """List the experiments with what each paper claims."""
    rows = [(one.id, one.source, one.statement) for one in EXPERIMENTS]
    if output is Output.JSON:
        print_json([dict(zip(("id", "source", "statement"), row, strict=True)) for row in rows])
    else:
        print_table(("id", "source", "statement"), rows)


@app.command("run")
def run_experiments(
    names: Names = None, scale: ScaleChoice = Scale.SMOKE, folder: FolderOption = REPORTS, on: OnMaster = None
) -> None:
    """Compute experiments, all by default; a killed run's results are kept. Ends with the verdicts."""
    chosen = _chosen(names)
    try:
        if missing := journal.missing(chosen, scale, folder):
            with computing(on) as compute, progress("computing", len(missing)) as advance:
                for position, result in compute([partial(point.measure, seed) for point, seed in missing]):
                    journal.keep(*missing[position], result, scale, folder)
                    advance()
            journal.sort(scale, folder)
        findings = journal.findings(chosen, scale, folder)
    except KeyboardInterrupt:
        fail("stopped; results are kept, run again to continue", REFUSED)
    except OSError as error:
        fail(f"{error}; earlier results are kept, run again to continue", REFUSED)
    print_table(("id", "verdict", "ours"), [(one.id, str(found.verdict), found.ours) for one, found in findings])


@app.command("report")
def report_experiments(
    names: Names = None,
    scale: ScaleChoice = Scale.SMOKE,
    folder: FolderOption = REPORTS,
    to: Annotated[Path | None, typer.Option(help="The page to write; in the folder by default.")] = None,
) -> None:
    """Write the results as one HTML page that needs no other file."""
    chosen = _chosen(names)
    if left := len(journal.missing(chosen, scale, folder)):
        command = shlex.join(["grasshopper", "experiment", "run", *(names or ()), "--scale", scale])
        fail(f"{left} runs are not computed yet: {command}", REFUSED)
    path = to or folder / f"{scale}.html"
    write(path, page(journal.findings(chosen, scale, folder), scale))
    typer.echo(path)


def _chosen(names: list[str] | None) -> list[Experiment]:
    """The experiments of these ids or papers, or exit code 2 with the existing ones."""
    chosen = [one for one in EXPERIMENTS if not names or one.id in names or one.paper in names]
    known = {known for one in EXPERIMENTS for known in (one.id, one.paper)}
    if unknown := set(names or ()) - known:
        known_ids = ", ".join(one.id for one in EXPERIMENTS)
        fail(f"no experiment {', '.join(sorted(unknown))}; there are {known_ids}", USAGE)
    return chosen
