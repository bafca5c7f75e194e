"""What can a YARN operator do from a terminal? `grasshopper yarn install-conf`, `doctor`, `status`, `local` ..."""

import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from controlplane.processes import ClusterError, exit_on_signals
from controlplane.rest import RestError
from controlplane.terminal import (
    EXIT_CODES,
    NOT_FOUND,
    REFUSED,
    SERVER,
    UNREACHABLE,
    USAGE,
    AsOption,
    Output,
    ServerOption,
    TokenOption,
    fail,
    note,
    print_findings,
    print_json,
    print_table,
    say,
    token_from_file,
)
from yarn_bridge.hadoop_jars import VERSIONS
from yarn_bridge.install_conf import Base, SchedulerKind
from yarn_bridge.plane_client import Grant, PlaneClient
from yarn_bridge.rm_client import RmClient

if TYPE_CHECKING:
    from yarn_bridge.priorities import PriorityDriver

Wanted = Callable[[], tuple[dict[str, int], list[RestError]]]
"""Targets in force, and what failed in this round."""
FOLDER = Path("build/yarn")
QUEUE = "root.default"

app = typer.Typer(
    name="yarn",
    help="For YARN operators: install, check, watch, try.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
local = typer.Typer(help="A real YARN on this machine's loopback addresses.", no_args_is_help=True)
app.add_typer(local, name="local")

RmOption = Annotated[str, typer.Option("--rm", help="Web address of the resource manager, http://HOST:8088.")]
UserOption = Annotated[str | None, typer.Option("--user", help="User name for simple authentication.")]
MaybeServer = Annotated[
    str | None,
    typer.Option("--server", envvar="GRASSHOPPER__CLIENT__SERVER", help="Address of the control plane, to check too."),
]
QueuesOption = Annotated[list[str], typer.Option("--queue", help="A leaf queue's path; may be repeated.")]


@app.command("install-conf")
def install_conf(
    queues: QueuesOption,
    kind: Annotated[SchedulerKind, typer.Option("--scheduler", help="The scheduler that the site uses.")] = (
        SchedulerKind.CAPACITY
    ),
    base: Annotated[Base, typer.Option(help="The stock order that applies without a grant.")] = Base.FIFO,
    server: ServerOption = SERVER,
    with_token: Annotated[bool, typer.Option("--with-token", help="The server requires a token.")] = False,
    rm: Annotated[str | None, typer.Option("--rm", help="Read from it which monitor policies are in use.")] = None,
    uninstall: Annotated[bool, typer.Option("--uninstall", help="How to remove it again.")] = False,
    output: AsOption = Output.TABLE,
) -> None:
    """Print what to change in which file, in which order; changes nothing."""
    from yarn_bridge import install_conf

    try:
        kept = install_conf.policies_in_use(RmClient(rm)) if rm else ()
        steps = (
            install_conf.uninstall(tuple(queues), kind=kind, kept_policies=kept)
            if uninstall
            else install_conf.install(
                tuple(queues), kind=kind, base=base, server=server, token=with_token, rm_url=rm, kept_policies=kept
            )
        )
    except ValueError as wrong:
        fail(str(wrong), USAGE)
    except RestError as error:
        _unanswered(error)
    if output is Output.JSON:
        print_json([asdict(step) for step in steps])
    else:
        typer.echo(install_conf.render(steps))


@app.command()
def doctor(
    rm: RmOption,
    server: MaybeServer = None,
    token: TokenOption = None,
    user: UserOption = None,
    output: AsOption = Output.TABLE,
) -> None:
    """Say what is right and wrong with a live resource manager, and what to do; fails (1) only for errors."""
    from yarn_bridge.doctor import diagnose
    from yarn_bridge.examination import examine

    try:
        findings = diagnose(examine(RmClient(rm, user=user), _plane(server, token), server or ""))
    except RestError as error:
        _unanswered(error)
    print_findings(findings, output)


@app.command()
def status(
    rm: RmOption,
    server: MaybeServer = None,
    token: TokenOption = None,
    user: UserOption = None,
    output: AsOption = Output.TABLE,
) -> None:
    """Print queues and applications, with the control plane's grants if it has any."""
    from yarn_bridge import status

    try:
        seen = status.look(RmClient(rm, user=user), _plane(server, token))
    except RestError as error:
        _unanswered(error)
    if output is Output.JSON:
        print_json(status.document(seen))
        return
    print_table(
        ("queue", "policy", "capacity", "used", "active", "waiting", "mode"),
        [
            (
                queue.path, queue.policy, f"{queue.capacity_percent:.0f} %", f"{queue.used_percent:.0f} %",
                queue.running, queue.pending, seen.mode(queue),
            )
            for queue in seen.queues
        ],
    )  # fmt: skip
    print_table(
        (
            "application", "queue", "user", "type", "state", "priority", "running", "pending", "target", "cap",
            "virtual size", "why",
        ),
        [
            (
                each.id, each.queue, each.user, each.type, each.state, each.priority,
                each.held, each.due, *_granted(seen.grant(each)),
            )
            for each in seen.applications
        ],
    )  # fmt: skip


def _granted(grant: Grant | None) -> tuple[object, ...]:
    """Target, cap, virtual size, and how it counts."""
    if grant is None:
        return (None,) * 4
    size = None if grant.virtual_size is None else f"{grant.virtual_size:.3g}"
    return (grant.target, None if grant.cap < 0 else grant.cap, size, grant.why)


@local.command("up")
def local_up(
    version: Annotated[str, typer.Option(help=f"Hadoop's: {', '.join(VERSIONS)}.")] = VERSIONS[0],
    queues: QueuesOption = [QUEUE],  # noqa: B006
    plugin: Annotated[bool, typer.Option("--plugin", help="With Grasshopper's plug-in in all queues.")] = False,
    server: ServerOption = SERVER,
) -> None:
    """Start a resource manager and four nodes that stay until `down`; prints what clients need."""
    from yarn_bridge import install_conf
    from yarn_bridge.hadoop_jars import jars_folder
    from yarn_bridge.local_yarn import LocalYarn, fresh_folder

    exit_on_signals()
    try:
        install_conf.check(tuple(queues), server)
        if not jars_folder(version).exists():
            note(f"fetching the jars of Hadoop {version}, about 90 MB, into {jars_folder(version)}")
        yarn = LocalYarn(
            version=version,
            queues={queue: 100 / len(queues) for queue in queues},
            site=install_conf.rm_properties(server) if plugin else None,
            capacity=install_conf.queue_properties(tuple(queues)) if plugin else None,
            plugin_jar=install_conf.plugin_jar() if plugin else None,
            folder=fresh_folder(FOLDER),
        )
        note("starting the resource manager and its nodes")
        yarn.start()
    except ValueError as wrong:
        fail(str(wrong), USAGE)
    except (ClusterError, FileNotFoundError) as failed:
        fail(str(failed), REFUSED)
    typer.echo(f"Hadoop {version}: resource manager {yarn.rm_url}   logs {yarn.folder / 'log'}")
    typer.echo(f"export HADOOP_CONF_DIR={yarn.conf_dir}")
    typer.echo(f"`grasshopper yarn local down` ends it, typed in {Path.cwd()}.")


@local.command("down")
def local_down() -> None:
    """End the local YARN that was started in this folder, with its containers; its logs stay."""
    from yarn_bridge.local_yarn import end_all, is_up, remove_local_files

    was_up = is_up(FOLDER)
    end_all(FOLDER)
    if not was_up:
        fail(f"no local YARN is up in {FOLDER.absolute()}; type this where you typed `up`", NOT_FOUND)
    remove_local_files(FOLDER)
    typer.echo(f"Ended; logs stay in {FOLDER.absolute()}")


@app.command("drive-priorities")
def drive_priorities(
    rm: RmOption,
    server: ServerOption = SERVER,
    token: TokenOption = None,
    targets: Annotated[
        Path | None, typer.Option(help="A file to use instead of a server: JSON, containers by application id.")
    ] = None,
    interval_s: Annotated[float, typer.Option("--interval", help="Seconds between looks.", min=0.5, max=3.0)] = 2.0,
    changes_per_minute: Annotated[int, typer.Option(help="Most writes to the RM per minute.", min=1, max=60)] = 6,
    user: UserOption = None,
) -> None:
    """Apply targets as application priorities where no jar may be added; restores them on Ctrl-C or SIGTERM."""
    from yarn_bridge.priorities import CannotDrive, PriorityDriver, highest_priority, read_targets
    from yarn_bridge.rest_source import RestSources

    client = RmClient(rm, user=user)
    exit_on_signals()
    try:
        driver = PriorityDriver(client, highest=highest_priority(client), changes_per_minute=changes_per_minute)
        wanted = (
            (lambda: (read_targets(targets), []))
            if targets
            else RestSources(client, _known_plane(server, token)).targets
        )
        wanted()
    except CannotDrive as cannot:
        fail(str(cannot), REFUSED)
    except ValueError as wrong:
        fail(str(wrong), USAGE)
    except RestError as error:
        _unanswered(error)
    typer.echo("Driving priorities; Ctrl-C restores them.")
    try:
        _drive(driver, wanted, interval_s)
    except KeyboardInterrupt:
        pass
    finally:
        try:
            for change in driver.restore():
                say(str(change))
        except RestError as error:
            fail(f"priorities are not restored: {error}", UNREACHABLE)


def _drive(driver: "PriorityDriver", wanted: Wanted, interval_s: float) -> NoReturn:
    """One step after the other; a server that does not answer costs a step, not the loop."""
    while True:
        try:
            for change in driver.step(_in_force(wanted)):
                say(str(change))
        except (RestError, ValueError) as missed:
            note(str(missed))
        time.sleep(interval_s)


def _in_force(wanted: Wanted) -> dict[str, int]:
    """The targets; failures are noted and take none away, because grants end by themselves."""
    try:
        targets, failures = wanted()
    except RestError as missed:
        targets, failures = {}, [missed]
    for failure in failures:
        note(str(failure))
    return targets


def _known_plane(server: str, token: str | None) -> PlaneClient:
    return PlaneClient(server, token=token or token_from_file())


def _plane(server: str | None, token: str | None) -> PlaneClient | None:
    return _known_plane(server, token) if server else None


def _unanswered(error: RestError) -> NoReturn:
    """Exits with the code for a server that did not answer, or answered wrongly."""
    fail(str(error), UNREACHABLE if error.status is None else EXIT_CODES.get(error.status, REFUSED))
