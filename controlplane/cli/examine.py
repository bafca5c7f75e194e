"""Is an application attached correctly, and what were copies worth? `grasshopper doctor` and `report`."""

from pathlib import Path
from typing import Annotated, Any

import typer

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
    pairs,
    print_findings,
    print_json,
    print_table,
    reading,
    token_from_file,
)

app = typer.Typer()


@app.command()
def doctor(
    spark: Annotated[bool, typer.Option("--spark", help="Check a Spark application's configuration.")] = False,
    conf: Annotated[list[str], typer.Option("--conf", help="KEY=VALUE, as for spark-submit; may be repeated.")] = [],  # noqa: B006
    properties_file: Annotated[Path | None, typer.Option(help="A spark-defaults.conf; --conf overrides it.")] = None,
    server: Annotated[
        str | None,
        typer.Option(help="Ask this control plane instead of the configuration's."),
    ] = None,
    token: TokenOption = None,
    output: AsOption = Output.TABLE,
) -> None:
    """Say what is right and wrong with a Spark application's configuration; fails (1) only for errors.

    It needs no driver. Inside a driver, spark_listener.doctor(spark) checks the live session.
    """
    if not spark:
        fail("say what to check: --spark, or `grasshopper yarn doctor` for a resource manager", USAGE)
    from spark_listener.doctor import diagnose
    from spark_listener.examination import examine, read_properties

    try:
        said = read_properties(properties_file.read_text()) if properties_file else {}
    except (OSError, UnicodeDecodeError) as error:
        fail(f"--properties-file: {error}", USAGE)
    said |= pairs("--conf", conf)
    findings = diagnose(examine(said, server=server or "", token=token or token_from_file()))
    print_findings(findings, output)


@app.command()
def report(
    since: Annotated[str, typer.Option(help="How far back: 90m, 24h, 7d.")] = "24h",
    output: AsOption = Output.TABLE,
    server: ServerOption = SERVER,
    token: TokenOption = None,
) -> None:
    """Say what copies were worth: shadow mode's, which were not ordered, ours, and the hosts' own."""
    with reading(server):
        found = call(server, token, "GET", "/report", params={"since": since})
        if output is Output.JSON:
            print_json(found)
        else:
            _print_report(found)


def _print_report(found: dict[str, Any]) -> None:
    """The totals in words, then the applications, and the accuracy of earlier estimates."""
    if not found["complete"]:
        note("not everything could be read, so this report is incomplete")
    for sentence in found["summary"]:
        typer.echo(sentence)
    if found["applications"]:
        print_table(
            ("application", "in shadow (estimate)", "ordered (savings by estimate)", "the host's own"),
            [_report_row(each) for each in found["applications"]],
        )
    errors = found["errors"]
    print_table(
        ("estimate", "compared", "estimated / came out", "spread"),
        [(e["estimate"], e["samples"], _factor(e["ratio"]) or "not known yet", _factor(e["spread"])) for e in errors],
    )
    for each in errors:
        if each["about"]:
            typer.echo(f"{each['estimate']}: {each['about']}")


def _report_row(application: dict[str, Any]) -> tuple[str, ...]:
    """An application's line of the report."""
    source, name = application["source"], application["name"]
    shadow, control, stock = application["shadow"], application["control"], application["stock"]
    return (
        f"{name} ({source})" if name else source,
        f"{shadow['copies']} copies, {shadow['without_outcome']} without an outcome yet; "
        f"{shadow['estimated_saved_s']:.1f} s saved, {shadow['estimated_cost_core_s']:.1f} core-s spent",
        f"{control['copies']} copies, {control['without_outcome']} without an outcome yet, {control['won']} won, "
        f"{control['lost']} lost; {control['estimated_saved_s']:.1f} s saved, "
        f"{control['losing_core_s']:.1f} core-s lost",
        f"{stock['won']} won, {stock['lost']} lost; {stock['losing_core_s']:.1f} core-s lost",
    )


def _factor(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
