"""How does a MapReduce job get its copies from Grasshopper? `grasshopper mapreduce conf` and `doctor`."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from controlplane.model.facts import Mode
from controlplane.terminal import (
    SERVER,
    USAGE,
    AsOption,
    Output,
    ServerOption,
    TokenOption,
    fail,
    pairs,
    print_findings,
    print_json,
    token_from_file,
)
from yarn_bridge import mapreduce_conf
from yarn_bridge.install_conf import render
from yarn_bridge.mapreduce_conf import KEYS
from yarn_bridge.mapreduce_doctor import diagnose, read_site
from yarn_bridge.plane_client import PlaneClient

app = typer.Typer(
    name="mapreduce",
    help="For MapReduce users: attach a job, and check its configuration.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


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


@app.command()
def doctor(
    conf_dir: Annotated[
        Path | None, typer.Option("--conf-dir", help="The job's HADOOP_CONF_DIR.", exists=True, file_okay=False)
    ] = None,
    given: Annotated[list[str], typer.Option("-D", help="KEY=VALUE, as for the job; may be repeated.")] = [],  # noqa: B006
    token: TokenOption = None,
    output: AsOption = Output.TABLE,
) -> None:
    """Say what is right and wrong with a job's configuration; fails (1) only for errors. No job runs."""
    try:
        sites = [conf_dir / f"{name}-site.xml" for name in ("core", "yarn", "mapred")] if conf_dir else []
        said = {key: value for site in sites if site.exists() for key, value in read_site(site).items()}
    except (OSError, ValueError) as wrong:
        fail(f"--conf-dir: {wrong}", USAGE)
    said |= pairs("-D", given)
    server = said.get(f"{mapreduce_conf.PREFIX}.server", "")
    known = server and not KEYS["server"](server)
    plane = PlaneClient(server, token=token or token_from_file()) if known else None
    print_findings(diagnose(said, plane), output)
