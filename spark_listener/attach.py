"""How does a Spark application meet Grasshopper? By configuration alone: a jar, a plug-in, an address."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLUGIN_CLASS = "io.grasshopper.spark.GrasshopperPlugin"
JAR_NAME = "grasshopper-spark.jar"
DEFAULT_SERVER = "http://127.0.0.1:7272"


def attach(
    builder: SparkSession.Builder,
    server: str | None = None,
    mode: str | None = None,
    token: str | None = None,
) -> SparkSession.Builder:
    """Add Grasshopper to a session builder, before `getOrCreate()`; the builder's own settings are kept.

    `server` is the control plane's address; None for the builder's own, else `DEFAULT_SERVER`.
    `mode` is the most this application allows (`off`, `shadow`, `control`); None leaves it to the server.
    Jars and plug-ins set on the builder are extended; those of a spark-defaults.conf are not visible here, so
    add ours there too if you use `spark.jars` or `spark.plugins` in that file. Not for `spark-submit`, whose JVM runs
    before the program does, without our jar: give it `spark.jars`, `spark.plugins` and the server by `--conf`.
    Raises FileNotFoundError if the jar is neither in the package nor built in the checkout.

    Example: `spark = attach(SparkSession.builder, server="http://127.0.0.1:7272").getOrCreate()`
    """
    options: dict[str, str] = builder._options
    builder.config("spark.jars", _appended(options.get("spark.jars"), str(jar_path())))
    builder.config("spark.plugins", _appended(options.get("spark.plugins"), PLUGIN_CLASS))
    if server is None:
        server = options.get("spark.grasshopper.server", DEFAULT_SERVER)
    builder.config("spark.grasshopper.server", server)
    if mode is not None:
        builder.config("spark.grasshopper.mode", mode)
    if token is not None:
        builder.config("spark.grasshopper.token", token)
    return builder


def jar_path() -> Path:
    """The shim's jar: from the installed package, else from the checkout's build.  Raises FileNotFoundError."""
    package = Path(__file__).parent
    places = (package / "jars" / JAR_NAME, package.parent / "jvm-shim" / "shim-spark" / "target" / JAR_NAME)
    for place in places:
        if place.is_file():
            return place
    raise FileNotFoundError(f"{JAR_NAME} is in none of {[str(place) for place in places]}; `make jars` builds it")


def _appended(comma_separated: str | None, item: str) -> str:
    """The list with `item` at its end, once."""
    items = [part for part in (comma_separated or "").split(",") if part and part != item]
    return ",".join([*items, item])
