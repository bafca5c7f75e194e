"""What was decided, and why? `grasshopper decisions list`, `explain` and `why` ask a running control plane."""

import re
import shlex
from typing import Annotated, Any
from urllib.parse import quote

import typer

from controlplane.hosts.answers import host_sentence
from controlplane.terminal import (
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

app = typer.Typer(help="What was decided, and why?", no_args_is_help=True)


@app.command("list")
def list_decisions(
    source: Annotated[str, typer.Option(help="Only this source, as kind:id.")] = "",
    job: Annotated[str, typer.Option(help="Only this job.")] = "",
    action: Annotated[str, typer.Option(help="Only this action, for example launch_copy.")] = "",
    reason: Annotated[str, typer.Option(help="Only this reason, for example cheaper_to_wait.")] = "",
    outcome: Annotated[
        str, typer.Option(help="Only this outcome of the order: pending, applied, refused, expired, moot, won, lost.")
    ] = "",
    limit: Annotated[int, typer.Option(help="How many, newest first.", min=1, max=1000)] = 20,
    output: AsOption = Output.TABLE,
    server: ServerOption = SERVER,
    token: TokenOption = None,
) -> None:
    """List the newest decisions."""
    asked = {"source": source, "job": job, "action": action, "reason": reason, "outcome": outcome}
    given = {name: value for name, value in asked.items() if value}
    with reading(server):
        found = call(server, token, "GET", "/decisions", params=given | {"limit": str(limit)})["items"]
        if output is Output.JSON:
            print_json(found)
        elif not found and given:
            note(f"no decision matches; leave out --{' or --'.join(given)} to see more")
        elif not found:
            note("nothing has been decided yet; decisions appear once an attached application runs tasks")
        else:
            print_table(
                ("id", "action", "source", "epoch", "job", "task", "attempt id", "host", "outcome", "why"),
                [(d["id"], d["action"], *_about(d).values(), d["result"] or "-", d["sentence"]) for d in found],
            )


@app.command("explain")
def explain_decision(
    decision: Annotated[int, typer.Argument(help="Id of a decision.", min=0)],
    output: AsOption = Output.TABLE,
    server: ServerOption = SERVER,
    token: TokenOption = None,
) -> None:
    """Say why one decision came out as it did, and what came of it."""
    with reading(server):
        found = call(server, token, "GET", f"/decisions/{decision}")
        if output is Output.JSON:
            print_json(found)
        else:
            _print_decision(found)
            if task := _about(found)["task"]:
                epoch = ["--epoch", str(found["epoch"])] if found["epoch"] else []
                why = shlex.join(["grasshopper", "decisions", "why", found["source"], task, *epoch])
                say(f"Why the task was copied, or was not: {why}")


@app.command("why")
def why_attempt(
    source: Annotated[str, typer.Argument(help="Source of the attempt, as kind:id; `list` prints it.")],
    what: Annotated[str, typer.Argument(help="The attempt's id, or its task as STAGE/INDEX; `list` prints both.")],
    epoch: Annotated[
        int | None,
        typer.Option(
            help="This run of the source, as `list` prints it; by default the newest in which it is known.", min=0
        ),
    ] = None,
    output: AsOption = Output.TABLE,
    server: ServerOption = SERVER,
    token: TokenOption = None,
) -> None:
    """Say why an attempt's task was copied, or why it was not."""
    path = _why_path(source, what)
    with reading(server):
        found = call(server, token, "GET", path, params={} if epoch is None else {"epoch": str(epoch)})
        if output is Output.JSON:
            print_json(found)
            return
        task = f"Task {found['index']} of stage {found['stage']} in {found['job']}"
        say(f"{task} {found['fate']}: {found['sentence']}")
        if found["since"]:
            say(f"Since then: {found['since']}")
        if not found["complete"]:
            note("the store cannot be read, so older decisions may be missing")
        for decision in found["decisions"]:
            typer.echo("")
            _print_decision(decision)


def _why_path(source: str, what: str) -> str:
    """Where REST explains an attempt, by its id, or a task, as `_about` writes it.

    >>> _why_path("spark:app-1", "7"), _why_path("spark:app-1", "3.1/20")
    ('/attempts/spark%3Aapp-1/7/why', '/tasks/spark%3Aapp-1/3/1/20/why')
    """
    found = re.fullmatch(r"(\d+)|(\d+)(?:\.(\d+))?/(\d+)", what, re.ASCII)
    if not found:
        fail(f"{what!r} is neither an attempt's id, as in 7, nor a task, as in 3/20", USAGE)
    attempt, stage, stage_attempt, index = found.groups()
    place = f"{quote(source, safe='')}/"
    return f"/attempts/{place}{attempt}/why" if attempt else f"/tasks/{place}{stage}/{stage_attempt or 0}/{index}/why"


def _about(decision: dict[str, Any]) -> dict[str, str]:
    """What it is about, as other commands take it; empty if there is no such thing."""
    stage = f"{decision['stage']}.{decision['stage_attempt']}" if decision["stage_attempt"] > 0 else decision["stage"]
    return {
        "source": decision["source"],
        "epoch": str(decision["epoch"]) if decision["epoch"] else "",
        "job": decision["job"],
        "task": f"{stage}/{decision['index']}" if decision["index"] >= 0 else "",
        "attempt id": str(decision["attempt"]) if decision["attempt"] >= 0 else "",
        "host": " to ".join(filter(None, (decision["host"], decision["to_host"]))),
    }


def _print_decision(decision: dict[str, Any]) -> None:
    say(f"{decision['id']}  {decision['action']}  {decision['result'] or '-'}  ({decision['reason']})")
    say(f"  {decision['sentence']}")
    say(f"  about: {', '.join(f'{name} {value}' for name, value in _about(decision).items() if value)}")
    _print_pairs("inputs", decision["inputs"].items())
    others = [pair for pair in decision["alternatives"] if pair[0] != f"host {decision['to_host']}"]
    _print_pairs("considered, by score", others)
    for outcome in decision["outcomes"]:
        would = "would have saved" if outcome["result"] == "shadow" else "saved"
        saved = f", {would} about {outcome['saved_s']:.1f} s (estimate)" if outcome["saved_s"] else ""
        because = f": {host_sentence(outcome['reason'])}" if outcome["reason"] else ""
        say(f"  after {outcome['after_s']:.1f} s: {outcome['result']}{because}{saved}")


def _print_pairs(title: str, pairs: Any) -> None:
    listed = ", ".join(f"{name} {_value(value)}" for name, value in pairs)
    if listed:
        say(f"  {title}: {listed}")


def _value(value: float | None) -> str:
    """An input or a score.

    >>> _value(None), _value(-0.0), _value(2.5)
    ('unknown', '0', '2.5')
    """
    return "unknown" if value is None else f"{value + 0.0:g}"
