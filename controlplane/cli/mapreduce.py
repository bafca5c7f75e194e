"""How does a MapReduce job get its copies from Grasshopper? `grasshopper mapreduce conf` prints the keys."""

from dataclasses import asdict
from typing import Annotated

import typer

from controlplane.model.facts import Mode
from controlplane.terminal import SERVER, USAGE, AsOption, Output, ServerOption, fail, print_json
from yarn_bridge import mapreduce_conf
from yarn_bridge.install_conf import render

app = typer.Typer(
    name="mapreduce",
    help="For MapReduce users: attach a job.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def mapreduce() -> None:
    """The options before any command."""


@app.command()
def conf(
    jar: Annotated[str, typer.Option(help="Where the jar will be: a URI on the jobs' file system.")],
    server: ServerOption = SERVER,
    mode: Annotated[Mode | None, typer.Option(help="The most that Grasshopper may do for the job.")] = None,
    policy: Annotated[str | None, typer.Option(help="The job's speculator, where the operator allows others.")] = None,
    deadline: Annotated[str | None, typer.Option(help="Time from the job's submission, as 90s or 5m.")] = None,
    token_alias: Annotated[
        str | None, typer.Option("--token-alias", help="The token's name in Hadoop's credential provider.")
    ] = None,
    uninstall: Annotated[bool, typer.Option("--uninstall", help="How to remove it again.")] = False,
    output: AsOption = Output.TABLE,
) -> None:
    """Print the keys that attach a job, and what to do first; changes nothing."""
    given = {"mode": mode, "policy": policy, "deadline": deadline, "token.alias": token_alias}
    more = {key: str(value) for key, value in given.items() if value is not None}
    try:
        steps = mapreduce_conf.uninstall(jar) if uninstall else mapreduce_conf.install(server, jar, more)
    except ValueError as wrong:
        fail(str(wrong), USAGE)
    if output is Output.JSON:
        print_json([asdict(step) for step in steps])
    else:
        typer.echo(render(steps))
