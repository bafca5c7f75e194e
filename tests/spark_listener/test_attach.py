"""Does attach() add exactly what Grasshopper needs, and leave the user's own settings alone?"""

import importlib

import pytest
from pyspark.sql import SparkSession

from spark_listener import attach as attach_to
from spark_listener import jar_path

pytestmark = pytest.mark.unit


@pytest.fixture
def jar(tmp_path, monkeypatch):
    """An installed package's layout: the jar lies beside the code."""
    (tmp_path / "spark_listener" / "jars").mkdir(parents=True)
    jar = tmp_path / "spark_listener" / "jars" / "grasshopper-spark.jar"
    jar.write_bytes(b"")
    module = importlib.import_module("spark_listener.attach")
    monkeypatch.setattr(module, "__file__", str(tmp_path / "spark_listener" / "attach.py"))
    return jar


def options(builder: SparkSession.Builder) -> dict[str, str]:
    return {key: value for key, value in builder._options.items() if not key.startswith("spark.app")}


def test_a_plain_builder_gets_jar_plugin_and_server_only(jar) -> None:
    builder = attach_to(SparkSession.Builder(), server="http://127.0.0.1:9")
    assert options(builder) == {
        "spark.jars": str(jar),
        "spark.plugins": "io.grasshopper.spark.GrasshopperPlugin",
        "spark.grasshopper.server": "http://127.0.0.1:9",
    }


def test_a_server_of_the_builder_stays_unless_another_is_given(jar) -> None:
    builder = SparkSession.Builder().config("spark.grasshopper.server", "http://plane:7272")
    assert options(attach_to(builder))["spark.grasshopper.server"] == "http://plane:7272"
    assert options(attach_to(builder, server="http://other:7272"))["spark.grasshopper.server"] == "http://other:7272"


def test_the_users_jars_and_plugins_stay_first_and_attaching_twice_changes_nothing(jar) -> None:
    builder = SparkSession.Builder().config("spark.jars", "/a.jar,/b.jar").config("spark.plugins", "my.Plugin")
    once = options(attach_to(builder, mode="shadow", token="t"))
    assert once["spark.jars"] == f"/a.jar,/b.jar,{jar}"
    assert once["spark.plugins"] == "my.Plugin,io.grasshopper.spark.GrasshopperPlugin"
    assert (once["spark.grasshopper.mode"], once["spark.grasshopper.token"]) == ("shadow", "t")
    assert options(attach_to(builder, mode="shadow", token="t")) == once


def test_a_checkout_uses_the_jar_of_its_build(jar, tmp_path) -> None:
    jar.unlink()
    built = tmp_path / "jvm-shim" / "shim-spark" / "target" / "grasshopper-spark.jar"
    built.parent.mkdir(parents=True)
    built.write_bytes(b"")
    assert jar_path() == built


def test_a_missing_jar_is_named_with_the_way_to_build_it(jar) -> None:
    jar.unlink()
    with pytest.raises(FileNotFoundError, match="make jars"):
        jar_path()
