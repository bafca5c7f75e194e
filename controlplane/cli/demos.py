"""How does Grasshopper compare on a real local cluster? `grasshopper demo` and `demo-yarn`."""

from collections.abc import Callable
from enum import StrEnum
from functools import partial
from typing import Annotated

import typer

from controlplane.processes import ClusterError
from controlplane.terminal import REFUSED, USAGE, fail

app = typer.Typer()


class World(StrEnum):
    """Where the demo's slowness lies."""

    INDEPENDENT = "independent"
    HALF = "half"
    DATA = "data"


class Size(StrEnum):
    """How much the demo runs."""

    SMALL = "small"
    LARGE = "large"


@app.command()
def demo(
    rounds: Annotated[int, typer.Option(help="Rounds of all contestants; more than one gives intervals.", min=1)] = 1,
    world: Annotated[
        World, typer.Option(help="Is slowness drawn per attempt, does it lie in the data, or half of it?")
    ] = World.INDEPENDENT,
    size: Annotated[Size, typer.Option(help="10 jobs on 8 slots, or 40 jobs on 24.")] = Size.SMALL,
    table1: Annotated[bool, typer.Option("--table1", help="Hopper's Table 1 instead: two jobs, seven slots.")] = False,
    deadlines: Annotated[
        bool, typer.Option("--deadlines", help="Jobs with deadlines instead: how many are in time?")
    ] = False,
) -> None:
    """Compare stock Spark with Grasshopper on a real local cluster with a sick host."""
    from spark_listener import demo as spark_demo

    if table1 and deadlines:
        fail("--table1 and --deadlines are two demos: choose one", USAGE)
    if table1:
        _run_demo(spark_demo.run_table1)
    elif deadlines:
        _run_demo(partial(spark_demo.run_deadlines, rounds=rounds, world=world.value))
    else:
        _run_demo(partial(spark_demo.run, rounds=rounds, world=world.value, size=size.value))


@app.command("demo-yarn")
def demo_yarn(
    rounds: Annotated[int, typer.Option(help="Rounds of all contestants; more than one gives intervals.", min=1)] = 1,
) -> None:
    """Compare a stock YARN queue with Grasshopper: three Spark applications on a real local YARN with a sick node."""
    from controlplane import yarn_demo

    _run_demo(partial(yarn_demo.run, rounds=rounds))


def _run_demo(run: Callable[[], None]) -> None:
    """Runs a demo; ends with exit code 1 and a message if something is missing."""
    try:
        run()
    except ModuleNotFoundError as missing:
        if missing.name != "pyspark":
            raise
        fail("the demo needs Spark: pip install pyspark", REFUSED)
    except (FileNotFoundError, ClusterError) as error:
        fail(str(error), REFUSED)
