"""What can be simulated from a terminal? `grasshopper simulate`.

`controlplane.cli` imports this when it is called, or `experiments.py`, which shares what computes and shows progress.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from enum import StrEnum
from functools import partial
from inspect import signature
from itertools import count
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import typer

from controlplane.model.errors import BadSetting, LawBroken
from controlplane.policies.redundancy.theory.system import System
from controlplane.policies.registry import PLANS
from controlplane.processes import COMPILED_ONCE
from controlplane.simulator import run, sweep
from controlplane.simulator.cluster import record as cluster_record
from controlplane.simulator.cluster.scenario import ClusterScenario
from controlplane.simulator.cluster.settings import parse_set
from controlplane.simulator.cluster.summary import ClusterSummary
from controlplane.simulator.cluster.workloads import Facebook, Source, Synthetic, bing_like, facebook_trace
from controlplane.simulator.experiments.shed_plus.world import BASE, TEN_TASKS
from controlplane.simulator.live.scenario import EngineScenario
from controlplane.simulator.masterworker import record as masterworker_record
from controlplane.simulator.masterworker.scenario import MasterWorkerScenario
from controlplane.simulator.statistics import Estimate, Summary
from controlplane.terminal import REFUSED, UNREACHABLE, USAGE, AsOption, Output, fail, note, print_json, print_table

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

OPTIONS = {
    "offered_load": "--rho",
    "threshold_s": "--d",
    "expansion_rate": "--rate",
    "spare_tasks": "--spare",
    "relaunch_factor": "--w",
    "engine.speculator_settings.relaunch_factor": "--w",
    "slots_per_node": "--slots",
    "machines": "--nodes",
    "slots_per_machine": "--slots",
    "shared_share": "--shared",
    "locality_percent": "--locality",
    "engine.allocator": "--policy",
    "engine.speculator": "--policy",
}
"""Options whose name differs from the field they fill."""


class Model(StrEnum):
    """What is simulated."""

    MASTERWORKER = "masterworker"
    CLUSTER = "cluster"
    DEADLINE = "deadline"
    """A cluster as Shed+ has it, whose jobs have deadlines."""


class Estimates(StrEnum):
    """Where the estimates on a simulated cluster come from."""

    EXACT = "exact"
    ENGINE = "engine"


class WorkloadName(StrEnum):
    """Jobs that come to the cluster; the Bing-like ones are synthetic, too."""

    SYNTHETIC = "synthetic"
    FACEBOOK = "facebook"
    BING_LIKE = "bing-like"


WORKLOADS: dict[WorkloadName, Source] = {
    WorkloadName.SYNTHETIC: Synthetic(),
    WorkloadName.FACEBOOK: Facebook(),
    WorkloadName.BING_LIKE: bing_like(),
}
TAIL_INDEX = {Model.MASTERWORKER: 3.0, Model.CLUSTER: 1.5, Model.DEADLINE: 1.5}
"""Tail index of slowdowns if none is given."""
POLICY = {Model.MASTERWORKER: "none", Model.CLUSTER: "hopper+late", Model.DEADLINE: "fifo+shed-plus"}
"""Policy if none is given."""
NODES = {Model.MASTERWORKER: (20, 10), Model.CLUSTER: (20, 10), Model.DEADLINE: (138, 1)}
"""Nodes, and slots of each, if none are given."""
PANELS = {
    Model.MASTERWORKER: "Only with --model masterworker",
    Model.CLUSTER: "Only with --model cluster or --model deadline",
}
"""Headings of the help, each above a model's own options."""
of_masterworker = partial(typer.Option, rich_help_panel=PANELS[Model.MASTERWORKER])
of_cluster = partial(typer.Option, rich_help_panel=PANELS[Model.CLUSTER])

OnMaster = Annotated[
    str | None, typer.Option("--on", help="Compute on Spark: local[2], spark://host:7077. By default in this process.")
]


@app.command()
def simulate(
    context: typer.Context,
    model: Annotated[Model, typer.Option(help="What is simulated.")] = Model.MASTERWORKER,
    policy: Annotated[
        str | None, typer.Option(help=f"{', '.join(PLANS)}; for the cluster a pair, as in hopper+late.")
    ] = None,
    rho: Annotated[float, typer.Option(help="Offered load: the share that first copies alone keep busy.")] = 0.5,
    d: Annotated[float | None, of_masterworker(help="redundant-small: largest demand, s; else the best.")] = None,
    rate: Annotated[float, of_masterworker(help="Tasks started per task needed.")] = 2.0,
    spare: Annotated[int | None, of_masterworker(help="Spare tasks for every job, instead of a rate.")] = None,
    w: Annotated[float | None, typer.Option(help="relaunch: its time in service times; else the best.")] = None,
    jobs: Annotated[int, typer.Option(help="Jobs counted per seed, after a warm-up.")] = 100_000,
    seeds: Annotated[str, typer.Option(help='Seeds, as in "1..20" or "1,5,9".')] = "1..10",
    nodes: Annotated[int | None, typer.Option(help="Worker nodes: 20, or 138 with deadlines.")] = None,
    slots: Annotated[int | None, typer.Option(help="Slots of a node: 10, or 1 with deadlines.")] = None,
    max_tasks: Annotated[int, of_masterworker(help="Tasks of the largest job; sizes follow Zipf's law.")] = 10,
    max_task_slots: Annotated[int, of_masterworker(help="Slots of a task: 1 to this, each equally likely.")] = 1,
    min_service_s: Annotated[float, of_masterworker(help="Least service time of a task.")] = 10.0,
    max_service_s: Annotated[float, of_masterworker(help="Largest service time; none by default.")] = float("inf"),
    service_tail_index: Annotated[float, of_masterworker(help="Pareto tail index of service times.")] = 3.0,
    slowdown_tail_index: Annotated[float | None, typer.Option(help="Pareto tail index of slowdowns.")] = None,
    service_noise: Annotated[float, of_masterworker(help="Noise of service times as the master knows them.")] = 0.0,
    cancel_s: Annotated[float, of_masterworker(help="How long a cancelled task holds its slots.")] = 0.0,
    workload: Annotated[
        WorkloadName | None, of_cluster(help="Its jobs: synthetic, or ten tasks each with deadlines.")
    ] = None,
    shared: Annotated[float, of_cluster(help="Share of tasks slow because of their data.")] = 0.0,
    estimates: Annotated[
        Estimates, of_cluster(help="exact: the truth, with --noise; engine: the live engine's own.")
    ] = Estimates.EXACT,
    pools: Annotated[
        int, of_cluster(help="With estimates of the engine: drivers that share jobs and machines equally.")
    ] = 1,
    noise: Annotated[float, of_cluster(help="Noise of estimated remaining times.")] = 0.3,
    replicas: Annotated[int, of_cluster(help="Machines that hold a task's input; 0 for all.")] = 0,
    locality: Annotated[
        float | None, of_cluster(help="Share of jobs, %, that may go first for locality; hopper: 3, else 0.")
    ] = None,
    budgets: Annotated[bool, of_cluster("--budgets", help="Hold copies to the engine's limits, as live.")] = False,
    trace: Annotated[
        Path | None, of_cluster(help="Jobs of this trace in SWIM format, instead of --workload's.")
    ] = None,
    weights: Annotated[
        str | None, of_cluster(help='Weights of synthetic jobs, each equally likely, as in "1,3".')
    ] = None,
    set_: Annotated[
        list[str] | None,
        of_cluster(
            "--set",
            help="name=value, also allocator.NAME, speculator.NAME, copy_budget.NAME and bounds.NAME; may be repeated.",
        ),
    ] = None,
    on: OnMaster = None,
    output: AsOption = Output.TABLE,
    to: Annotated[Path | None, typer.Option(help="Write the JSON record here, too.")] = None,
) -> None:
    """Simulate jobs under one policy; means with standard errors, all parameters kept. Ctrl-C keeps the seeds done."""
    _refuse_others(context, model)
    policy = policy or POLICY[model]
    tail_index = TAIL_INDEX[model] if slowdown_tail_index is None else slowdown_tail_index
    usual_nodes, usual_slots = NODES[model]
    nodes, slots = usual_nodes if nodes is None else nodes, usual_slots if slots is None else slots
    with _refusals():
        numbers = run.parse_seeds(seeds)
        if model is not Model.MASTERWORKER:
            is_usual = workload is None and trace is None and weights is None
            given: dict[str, Any] = {
                "policy": policy,
                "workload": TEN_TASKS
                if is_usual and model is Model.DEADLINE
                else _source(workload or WorkloadName.SYNTHETIC, trace, weights),
                "offered_load": rho,
                "jobs": jobs,
                "machines": nodes,
                "slots_per_machine": slots,
                "slowdown_tail_index": tail_index,
                "shared_share": shared,
                "noise": noise,
                "replicas": replicas,
                "locality_percent": locality,
                "budgets": budgets,
            }
            factor = [] if w is None else [f"speculator.relaunch_factor={w}"]
            base = {one.name: getattr(BASE, one.name) for one in fields(BASE)} if model is Model.DEADLINE else {}
            given |= parse_set([*factor, *(set_ or ())], base.get("bounds"))
            if estimates is Estimates.EXACT and pools != 1:
                raise BadSetting("pools", got=pools, want="1 with exact estimates")
            if estimates is Estimates.ENGINE and model is Model.DEADLINE:
                raise BadSetting("estimates", got=str(estimates), want="exact with --model deadline")
            scenario: Any = (
                EngineScenario(**base | given, pools=pools)
                if estimates is Estimates.ENGINE
                else ClusterScenario(**base | given)
            )
        else:
            scenario = MasterWorkerScenario(
                policy=policy,
                offered_load=rho,
                threshold_s=d,
                expansion_rate=rate,
                spare_tasks=spare,
                relaunch_factor=w,
                service_noise=service_noise,
                cancel_s=cancel_s,
                jobs=jobs,
                system=System(
                    nodes=nodes,
                    slots_per_node=slots,
                    max_tasks=max_tasks,
                    max_task_slots=max_task_slots,
                    min_service_s=min_service_s,
                    max_service_s=max_service_s,
                    service_tail_index=service_tail_index,
                    slowdown_tail_index=tail_index,
                ),
            )
    done, runs = _run_seeds(scenario, numbers, on)
    record, tell = (
        (cluster_record.record, _tell_cluster)
        if model is not Model.MASTERWORKER
        else (masterworker_record.record, _tell_masterworker)
    )
    found = record(scenario, done, runs)
    try:
        if output is Output.JSON:
            print_json(found)
        else:
            tell(runs, found)
    finally:
        if to:
            write(to, json.dumps(found, indent=2) + "\n")
    if len(runs) < len(numbers):
        raise typer.Exit(REFUSED)


def _run_seeds(scenario: Any, seeds: list[int], on: str | None) -> tuple[list[int], list[Any]]:
    """The seeds that were run, each with its result: all of them, or those done before Ctrl-C."""
    cells = [partial(scenario.simulate, seed) for seed in seeds]
    found: dict[int, Any] = {}
    try:
        with computing(on) as compute, progress(f"simulating {scenario.policy}", len(cells)) as advance:
            for position, summary in compute(cells):
                found[position] = summary
                advance(f"seed {seeds[position]}")
    except KeyboardInterrupt:
        if not found:
            fail("stopped before a seed was done", REFUSED)
        note(f"stopped; this is the result of {len(found)} of {len(cells)} seeds")
    return [seeds[position] for position in sorted(found)], [found[position] for position in sorted(found)]


def _source(workload: WorkloadName, trace: Path | None, weights: str | None) -> Source:
    """The cluster's jobs. Raises BadSetting for a file that is not a trace, and for weights of jobs that have none."""
    if weights is not None and (trace or workload is not WorkloadName.SYNTHETIC):
        raise BadSetting("weights", got=weights, want="--workload synthetic")
    if trace:
        try:
            if not facebook_trace(str(trace)):
                raise ValueError("no jobs")
        except (OSError, ValueError) as error:
            raise BadSetting("trace", got=str(trace), want=f"a trace in SWIM format ({error})") from None
        return Facebook(trace=str(trace))
    if weights is not None:
        try:
            return Synthetic(weights=tuple(map(float, weights.split(","))))
        except ValueError:
            raise BadSetting("weights", got=weights, want='numbers, as in "1,3"') from None
    return WORKLOADS[workload]


def _tell_masterworker(runs: list[Summary], found: dict[str, Any]) -> None:
    """The table for people; a single run knows the errors of its response times and slowdowns only."""
    result, predicted = masterworker_record.outcome(runs), found["predicted"]
    names = {
        "response_s": "response time, s",
        "slowdown": "slowdown",
        "wait_s": "wait, s",
        "waited_share": "jobs that waited",
        "cost_s": "slot time of a job, s",
        "busy_share": "busy slots",
    }
    rows = [(*_cells(name, getattr(result, field)), _short(predicted.get(field, ""))) for field, name in names.items()]
    print_table(("mean per job", "simulated", "standard error", "by formula"), rows)
    if unstable := result.runs - result.stable_runs:
        typer.echo(f"UNSTABLE in {unstable} of {result.runs} runs: the queue grew, so means only show for how long")


def _tell_cluster(runs: list[ClusterSummary], found: dict[str, Any]) -> None:
    """The table for people, with the slots' offered load next to their busy share."""
    offered = {cluster_record.MEASURES["busy_share"]: _short(found["scenario"]["offered_load"])}
    means = cluster_record.means(runs)
    rows = [(*_cells(name, one), offered.get(name, "")) for name, one in means.items() if isfinite(one.mean)]
    print_table(("mean", "simulated", "standard error", "offered"), rows)
    if left := sum(not one.finished for one in runs):
        typer.echo(f"STOPPED in {left} of {len(runs)} runs: more jobs were live than there is room for")


def _cells(name: str, one: Estimate) -> tuple[str, ...]:
    return name, _short(one.mean), f"{one.error:.2g}" if isfinite(one.error) else ""


def _short(value: float | str) -> str:
    return f"{value:.4g}" if isinstance(value, float) else value


@contextmanager
def computing(on: str | None) -> Iterator[sweep.Compute]:
    """The executor of cells, or an exit code with the reason why there is none."""
    try:
        with _refusals(), sweep.computing(on) as compute:
            note(f"loading kernels; they are {COMPILED_ONCE}")
            yield compute
    except ImportError:
        fail("--on needs pyspark: pip install 'grasshopper-scheduler[spark]'", USAGE)
    except sweep.NoCluster as none:
        fail(f"--on {none}", UNREACHABLE)
    except sweep.OtherCode as other:
        fail(str(other), REFUSED)


@contextmanager
def _refusals() -> Iterator[None]:
    """Bad input ends with exit code 2 and the option's name, a policy that breaks a law with 1."""
    try:
        yield
    except BadSetting as bad:
        fail(f"{_option(bad.field)} = {bad.got!r}, want {bad.want}", USAGE)
    except LawBroken as broken:
        fail(str(broken), REFUSED)


def _refuse_others(context: typer.Context, model: Model) -> None:
    """Exits with code 2 if an option of another model was given: it would change nothing."""
    own = Model.CLUSTER if model is Model.DEADLINE else model
    of_others = {panel: panel.removeprefix("Only with ") for other, panel in PANELS.items() if other is not own}
    for option in context.command.params:
        other = of_others.get(getattr(option, "rich_help_panel", None) or "")
        source = context.get_parameter_source(option.name or "")
        if other and source and source.name == "COMMANDLINE":
            fail(f"{option.opts[0]} belongs to {other}, not to {model}", USAGE)


def _option(field: str) -> str:
    """The option that fills a field: its own, or --set with the field's name."""
    if field in OPTIONS:
        return OPTIONS[field]
    if field in (*signature(simulate).parameters, "set"):
        return f"--{field.replace('_', '-')}"
    return f"--set {field.removeprefix('engine.').replace('_settings.', '.')}"


@contextmanager
def progress(title: str, total: int) -> Iterator[Any]:
    """A bar with the time left on stderr while something runs; yields the function that advances it.

    If stderr is no terminal, each step whose name is passed to it gets a line instead.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(title, total=total)
        steps = count(1)

        def advance(done: str = "") -> None:
            bar.advance(task)
            step = next(steps)
            if done and not console.is_terminal:
                note(f"{title}: {done} is done, {step} of {total}")

        yield advance


def write(path: Path, text: str) -> None:
    """Writes a file and the folders it needs, or exits with code 2."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    except OSError as error:
        fail(f"--to: {error}", USAGE)
