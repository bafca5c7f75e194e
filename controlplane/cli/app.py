"""What can be done from a terminal? `grasshopper serve`, `demo`, `demo-yarn`, `decide`, `config`, `mode` and more.

Everything heavy is imported by the command that needs it, so help is quick.
"""

import errno
import os
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from controlplane import __version__
from controlplane.cli import decisions, demos, examine
from controlplane.model.facts import Mode
from controlplane.processes import COMPILED_ONCE, require_port, write_whole
from controlplane.terminal import (
    REFUSED,
    SERVER,
    USAGE,
    AsOption,
    Output,
    ServerOption,
    TokenOption,
    call,
    fail,
    note,
    print_json,
    print_table,
    reading,
    say,
)

app = typer.Typer(
    name="grasshopper",
    help="Speculation-aware scheduling for Spark, MapReduce and YARN.",
    epilog="Exit codes: 0 done, 1 refused or failed, 2 wrong usage or settings, 3 server not reachable, "
    "4 not found, 5 not allowed.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
config = typer.Typer(help="Are the settings right, and where does each come from?", no_args_is_help=True)
mode = typer.Typer(help="How much may Grasshopper do?", no_args_is_help=True)
token = typer.Typer(help="Who may speak to the control plane?", no_args_is_help=True)
app.add_typer(demos.app)
app.add_typer(examine.app)
app.add_typer(decisions.app, name="decisions")
app.add_typer(config, name="config")
app.add_typer(token, name="token")
app.add_typer(mode, name="mode")


_MOST_LISTED = 1000
"""Most items in one answer of the REST API."""

ConfigOption = Annotated[Path | None, typer.Option("--config", help="A YAML file of settings.")]


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"grasshopper {__version__}")
        raise typer.Exit


@app.callback()
def grasshopper(
    _version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version.")
    ] = False,
) -> None:
    """The options before any command."""


@app.command()
def serve(
    config_file: ConfigOption = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on; loopback unless tokens are set.")] = None,
    port: Annotated[int | None, typer.Option(help="Port; 0 takes a free one.", min=0, max=65535)] = None,
    port_file: Annotated[Path | None, typer.Option(help="Write the port here once the server listens.")] = None,
    store: Annotated[str | None, typer.Option(help="SQLAlchemy URL or path of an SQLite file.")] = None,
    mode_name: Annotated[Mode | None, typer.Option("--mode", help="The mode at the start.")] = None,
    allocator: Annotated[str | None, typer.Option(help="How many slots may each job hold?")] = None,
    speculator: Annotated[str | None, typer.Option(help="Which attempts deserve a copy?")] = None,
    log_format: Annotated[str | None, typer.Option(help="json or console.")] = None,
) -> None:
    """Run the control plane until Ctrl-C or SIGTERM; prints its address once it listens.

    SIGHUP reads the settings file again: its engine section takes effect at once, the rest after a restart.
    """
    given: dict[str, dict[str, Any]] = {
        "server": {"host": host, "port": port},
        "store": {"url": store},
        "engine": {"mode": mode_name, "allocator": allocator, "speculator": speculator},
        "log": {"format": log_format},
    }
    overrides = {
        section: chosen
        for section, values in given.items()
        if (chosen := {name: value for name, value in values.items() if value is not None})
    }
    settings = _load(config_file, overrides)
    if port_file and not os.access(port_file.parent, os.W_OK):
        fail(f"--port-file: {port_file.parent} is not a writable folder", USAGE)
    _require_port(settings.server.host, settings.server.port)

    def tell(address: str) -> None:
        if port_file:
            write_whole(port_file, address.rpartition(":")[2])
        with suppress(OSError):  # Its disk may be full: that is no reason not to serve.
            typer.echo(f"Grasshopper listens on {address}")

    from controlplane import main
    from controlplane.store.database import alone, shown_url

    url = settings.store_settings().url
    with ExitStack() as stack:
        try:
            stack.enter_context(alone(url))
        except BlockingIOError:
            fail(f"{shown_url(url)} is another `grasshopper serve`'s; --store chooses another one", REFUSED)
        try:
            main.serve(settings, on_start=tell)
        except SystemExit as ended:
            raise typer.Exit(REFUSED if ended.code else 0) from None


def _require_port(host: str, port: int) -> None:
    """Ends the command before anything is loaded or opened if nobody could listen there."""
    try:
        require_port(host, port)
    except OSError as error:
        taken = "is in use, perhaps by another `grasshopper serve`; --port chooses another port"
        fault = taken if error.errno == errno.EADDRINUSE else f"cannot be listened on: {error.strerror}"
        fail(f"{host}:{port} {fault}", REFUSED)


@app.command()
def jars() -> None:
    """Print the path of the Spark shim's jar, for `--jars` or `spark.jars`."""
    from spark_listener import jar_path

    try:
        typer.echo(jar_path())
    except FileNotFoundError as missing:
        fail(str(missing), REFUSED)


@app.command(context_settings={"ignore_unknown_options": True, "help_option_names": []})
def yarn(arguments: Annotated[list[str] | None, typer.Argument()] = None) -> None:
    """For YARN operators: install, check, watch, try. `grasshopper yarn --help` says more."""
    from controlplane.cli import yarn

    yarn.app(arguments or ["--help"], prog_name="grasshopper yarn")


@app.command(context_settings={"ignore_unknown_options": True, "help_option_names": []})
def mapreduce(arguments: Annotated[list[str] | None, typer.Argument()] = None) -> None:
    """For MapReduce users: attach a job. `grasshopper mapreduce --help` says more."""
    from controlplane.cli import mapreduce

    mapreduce.app(arguments or ["--help"], prog_name="grasshopper mapreduce")


@app.command(context_settings={"ignore_unknown_options": True, "help_option_names": []})
def simulate(arguments: Annotated[list[str] | None, typer.Argument()] = None) -> None:
    """Simulate jobs under a policy. `grasshopper simulate --help` says more."""
    from controlplane.cli import simulator

    simulator.app(arguments or ["--help"], prog_name="grasshopper simulate")


@app.command(context_settings={"ignore_unknown_options": True, "help_option_names": []})
def experiment(arguments: Annotated[list[str] | None, typer.Argument()] = None) -> None:
    """Try the papers' figures and tables: list, run, report. `grasshopper experiment --help` says more."""
    from controlplane.cli import experiments

    experiments.app(arguments or ["--help"], prog_name="grasshopper experiment")


@app.command()
def decide(
    policy: Annotated[str, typer.Option(help="Allocator and speculator, as in hopper+ras.")],
    snapshot: Annotated[Path, typer.Option(help="The output of GET /api/v1/state:dump.")],
    config_file: ConfigOption = None,
    output: AsOption = Output.TABLE,
) -> None:
    """Say what a policy would do about a dumped state. Needs no server, and orders nothing."""
    import msgspec

    from controlplane.engine import decide as engine
    from controlplane.model.errors import BadSetting, LawBroken

    settings = _load(config_file, {}).engine_settings()
    try:
        state = engine.read_snapshot(snapshot.read_bytes())
        note(f"loading kernels; they are {COMPILED_ONCE}")
        advice = engine.decide(state, policy, settings)
    except (OSError, UnicodeDecodeError, RecursionError, msgspec.DecodeError) as error:
        fail(f"{snapshot}: {error}", USAGE)
    except BadSetting as error:
        fail(str(error), USAGE)
    except LawBroken as error:
        fail(str(error), REFUSED)
    if output is Output.JSON:
        print_json(msgspec.to_builtins(advice))
    else:
        _print_advice(advice)


@app.command()
def status(output: AsOption = Output.TABLE, server: ServerOption = SERVER, token: TokenOption = None) -> None:
    """List what is attached: drivers and queues, and how much Grasshopper may do for each."""
    with reading(server):
        found = call(server, token, "GET", "/applications", params={"limit": str(_MOST_LISTED)})
        attached = found["items"]
        if output is Output.JSON:
            print_json(attached)
        elif attached:
            print_table(
                ("source", "name", "user", "mode", "jobs", "last heard"),
                [
                    (a["source"], a["name"], a["user"], a["mode"], len(a["jobs"]), f"{a['last_heard_s']:.0f} s ago")
                    for a in attached
                ],
            )
        else:
            note("nothing is attached at the moment")
        if found["cursor"]:
            note(f"more than {_MOST_LISTED} are attached; only the first are listed")


@config.command("validate")
def validate_config(config_file: Annotated[Path, typer.Argument(help="A YAML file of settings.")]) -> None:
    """Check a settings file together with the environment, and change nothing."""
    _load(config_file, {})
    typer.echo(f"{config_file} is right")


@config.command("show")
def show_config(
    config_file: ConfigOption = None,
    server: Annotated[
        str | None, typer.Option("--server", help="Print the engine's settings in force in this control plane instead.")
    ] = None,
    token: TokenOption = None,
    origin: Annotated[bool, typer.Option("--origin", help="Say where each value comes from.")] = False,
    output: AsOption = Output.TABLE,
) -> None:
    """Print the settings that `serve` would start with in this shell; secrets are masked."""
    if server and config_file:
        fail("--config is for settings here, --server for those of a running control plane", USAGE)
    found = _settings_at(server, token) if server else _settings_here(config_file)
    if output is Output.JSON:
        print_json(found)
    else:
        more = ("origin",) if origin else ()
        headings = ("setting", f"value at {server}" if server else "value in this shell", *more)
        print_table(headings, [(name, one["value"], *(one[each] for each in more)) for name, one in found.items()])


@mode.command("get")
def get_mode(output: AsOption = Output.TABLE, server: ServerOption = SERVER, token: TokenOption = None) -> None:
    """Print the mode for everybody and for each source."""
    with reading(server):
        _print_mode(call(server, token, "GET", "/mode"), output)


@mode.command("set")
def set_mode(
    name: Annotated[Mode, typer.Argument(help="off, shadow or control.")],
    reason: Annotated[str, typer.Option(help="Why; kept in the audit log.")],
    source: Annotated[str, typer.Option(help="Only this source, as kind:id.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before running copies are killed.")] = False,
    output: AsOption = Output.TABLE,
    server: ServerOption = SERVER,
    token: TokenOption = None,
) -> None:
    """Set the mode. `off` is the kill switch: running copies are killed, so on a terminal it asks first."""
    if name is Mode.OFF and not yes and is_interactive():
        typer.confirm("Running copies will be killed. Continue?", abort=True)
    wish = {"mode": name.value, "source": source, "reason": reason}
    with reading(server):
        _print_mode(call(server, token, "PUT", "/mode", json=wish), output)


@token.command("issue")
def issue_token(
    application: Annotated[str, typer.Option(help="Its name (spark.app.name) or its id.")],
    ttl: Annotated[int, typer.Option(help="Days that it is valid.", min=1, max=3650)] = 30,
    config_file: ConfigOption = None,
) -> None:
    """Print a token that is valid only for one application's driver, for `spark.grasshopper.token`.

    It is made from the server's shim token, which comes from the same settings as the server's; no server is asked.
    """
    import time

    from controlplane.api.application_tokens import issue

    secret = _load(config_file, {}).auth.token("shim")
    if secret is None:
        fail("auth.shim_token or auth.shim_token_file must be set: the server checks application tokens with it", USAGE)
    typer.echo(issue(secret, application, int(time.time()) + ttl * 86_400))


def is_interactive() -> bool:
    """Whether somebody can answer a question."""
    return sys.stdin.isatty()


def _load(path: Path | None, overrides: dict[str, Any]) -> Any:
    """The settings, or exit code 2 with every problem."""
    from controlplane.model.errors import BadSettings
    from controlplane.settings import load

    try:
        return load(path, overrides)
    except BadSettings as bad:
        fail(str(bad), USAGE)


def _settings_here(path: Path | None) -> dict[str, Any]:
    """Value and origin of each setting, as `serve` would have them."""
    settings = _load(path, {})
    origins = settings.origins
    return {name: {"value": value, "origin": origins.get(name, "default")} for name, value in settings.shown().items()}


def _settings_at(server: str, token: str | None) -> dict[str, Any]:
    """The same of a running control plane, as far as they can be changed while it runs."""
    from controlplane.settings import leaves

    with reading(server):
        engine = call(server, token, "GET", "/settings")["engine"]
        return {name: {"value": value, "origin": server} for name, value in leaves(engine, "engine.")}


def _print_advice(advice: Any) -> None:
    for pool in advice.pools:
        say(f"{pool.source}, {pool.slots} slots, under {advice.policy}")
        print_table(
            ("job", "target", "cap", "virtual size", "running"),
            [(t.job, t.target, "" if t.cap < 0 else t.cap, f"{t.virtual_size:.1f}", t.running) for t in pool.targets],
        )
        advised = [("copy", task) for task in pool.copies] + [("leave", task) for task in pool.refusals]
        print_table(
            ("", "job", "task", "score", "why"),
            [(do, t.job, f"{t.stage}/{t.index}", f"{t.score:.4g}", t.sentence) for do, t in advised],
        )
        if pool.waiting:
            print_table(
                ("stage", "waiting tasks in starting order"),
                [(f"{w.stage}.{w.stage_attempt}", " ".join(map(str, w.indices))) for w in pool.waiting],
            )


def _print_mode(state: dict[str, Any], output: Output) -> None:
    if output is Output.JSON:
        print_json(state)
    else:
        print_table(("where", "mode"), [("everywhere", state["mode"]), *state["sources"].items()])
    if not state["recorded"]:
        note("in force, but not recorded yet: the store does not write")
