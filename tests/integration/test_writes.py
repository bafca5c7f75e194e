"""Does the shim tell on real Spark how output is committed, so that only what may run twice is copied?"""

import pytest

from tests.integration.driver import JOB_S

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("nothing_left")]
COMMITTER = "spark.sql.sources.outputCommitterClass"
OUTPUT = "org.apache.hadoop.mapreduce.lib.output."
ARBITRATED = "file commit arbitrated by the driver"
ROWS = {
    "files": ({"form": "csv"}, ARBITRATED),
    "parquet": ({"form": "parquet"}, ARBITRATED),
    "files in the last stage": (
        {"form": "csv", "conf": {"spark.sql.optimizer.plannedWrite.enabled": "false"}},
        ARBITRATED,
    ),
    "direct": (
        {"form": "csv", "options": {COMMITTER: "Sinks$DirectCommitter"}},
        "a direct committer writes to the final place",
    ),
    "coordinated source": ({"form": "Sinks$Coordinated"}, "data source commit arbitrated by the driver"),
    "uncoordinated source": ({"form": "noop"}, "data source commit without coordination"),
}
PAIRS = {
    f"{OUTPUT}TextOutputFormat": ARBITRATED,
    f"{OUTPUT}NullOutputFormat": "unknown file committer",
}


def meets(plane, driver, gate, job, group, because):
    """The stage that hangs has this verdict, and an operator gets a copy of it if that says it is arbitrated."""
    original = plane.running(driver.source, group, 1)[0]
    jobs = plane.pool(driver.source)["jobs"]
    (stage,) = [stage for live in jobs for stage in live["stages"] if stage["stage"] == original["stage"]]
    assert stage["verdict_reason"] == because
    (decision,) = plane.copy(original, driver.source)["decisions"]
    assert decision["action"] == ("launch_copy" if "arbitrated" in because else "refuse_copy")
    gate.touch()
    job.result(timeout=JOB_S)


@pytest.mark.parametrize("name", ROWS)
def test_rows_are_copied_on_their_way_out_only_where_the_driver_arbitrates(plane, driver, gate, tmp_path, name):
    """Which class commits, and whether it asks, shows in the objects that Spark runs, not in what is configured."""
    arguments, because = ROWS[name]
    path = str(tmp_path / "out")
    job = driver.start("write_rows", group=name, path=path, held=[1], gate=str(gate), **arguments)
    meets(plane, driver, gate, job, name, because)


@pytest.mark.parametrize("output_format", PAIRS)
def test_pairs_are_copied_on_their_way_out_only_under_a_known_committer(plane, driver, gate, tmp_path, output_format):
    """A Hadoop output format brings its committer along; one that we have not looked at may do anything."""
    path = str(tmp_path / "out")
    group = output_format.rpartition(".")[2]
    job = driver.start("write_pairs", group=group, path=path, output_format=output_format, held=[1], gate=str(gate))
    meets(plane, driver, gate, job, group, PAIRS[output_format])


@pytest.mark.parametrize(
    ("call", "more", "because"),
    [
        ("misnamed_foreach", {}, "foreach writes where it likes"),
        ("misnamed_python_foreach", {}, "foreach writes where it likes"),
        ("misnamed_python_foreach", {"ballast": 2_000_000}, "unknown sink"),
    ],
)
def test_rows_given_to_a_users_function_are_never_copied_whatever_the_stage_is_called(
    plane, driver, gate, call, more, because
):
    """A name is only what some thread has set; the function that Spark runs cannot be another one, or is not seen."""
    job = driver.start(call, group="misnamed", held=[1], gate=str(gate), **more)
    meets(plane, driver, gate, job, "misnamed", because)
