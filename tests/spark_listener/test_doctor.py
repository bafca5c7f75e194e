"""Does the doctor find what is wrong with a Spark application, and only that?"""

import re
import zipfile
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType, SimpleNamespace

import pytest

from controlplane import __version__
from controlplane.findings import Finding, Severity
from controlplane.model.facts import Mode
from controlplane.shim_settings import (
    RANGES,
    READINGS,
    TIMEOUTS,
    amount,
    anything,
    duration,
    flag,
    number,
    timeout,
)
from spark_listener.attach import PLUGIN_CLASS
from spark_listener.doctor import KEYS, LOCAL_PROPERTIES, doctor
from spark_listener.doctor import diagnose as all_findings
from spark_listener.examination import (
    LISTENER_CLASS,
    Attached,
    Examined,
    Jar,
    Plane,
    examine,
    examine_session,
    find_jar,
    missing_jars,
    read_jar,
    read_properties,
)
from spark_listener.local_properties import LOCAL_READINGS, PREFIX

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[2]
SETTINGS_JAVA = "jvm-shim/shim-core/src/main/java/io/grasshopper/core/Settings.java"
NUMBER = r'number\("([a-z.]+)", \d+, (\d+), (\d+)\)'
INTERVAL = r'Math\.min\((\d+), Math\.max\((\d+), millis\("([a-z.]+)"'
SERVER = "http://plane:7272"
CONF = {
    "spark.master": "spark://master:7077",
    "spark.jars": "/opt/grasshopper-spark.jar",
    "spark.plugins": PLUGIN_CLASS,
    f"{PREFIX}server": SERVER,
}
ATTACHED = Attached(
    mode=Mode.CONTROL,
    shim_version=__version__,
    last_heard_s=0.2,
    hosts=("a", "b"),
    verdicts=(("safe", "shuffle output is kept apart by attempt", 3),),
)
HEALTHY = Examined(
    conf=CONF,
    spark_version="4.0.1",
    jar=Jar(place="/opt/grasshopper-spark.jar", version=__version__),
    server=SERVER,
    plane=Plane(version=__version__, mode=Mode.CONTROL),
)
LIVE = replace(HEALTHY, application="app-1", shim_is_on=True, plane=replace(HEALTHY.plane, attached=ATTACHED))


def diagnose(seen: Examined) -> list[Finding]:
    """The findings; whatever is not well has a fix of one line."""
    findings = all_findings(seen)
    assert all(each.fix for each in findings if each.severity is not Severity.OK)
    assert not any("\n" in each.message + each.fix for each in findings)
    return findings


def bad(seen: Examined) -> list[tuple[str, str, str]]:
    """Severity, check and words of what is not well."""
    return [(f.severity.value, f.check, f.message) for f in diagnose(seen) if f.severity is not Severity.OK]


def with_conf(seen: Examined = HEALTHY, **conf: str) -> Examined:
    """The same with other settings, `_` for the dots of a key; an empty one is taken away."""
    changed = dict(seen.conf) | {name.replace("_", "."): value for name, value in conf.items()}
    return replace(seen, conf={key: value for key, value in changed.items() if value})


@pytest.mark.parametrize("seen", [HEALTHY, LIVE], ids=["configuration", "session"])
def test_a_fit_application_has_no_complaint(seen) -> None:
    """Otherwise nobody believes the complaints."""
    assert bad(seen) == []


@pytest.mark.parametrize(
    ("conf", "severity", "check", "words"),
    [
        ({"spark_grasshopper_servr": "x"}, "error", "settings", "spark.grasshopper.servr is no setting"),
        ({"spark_grasshoper_mode": "off"}, "error", "settings", "spark.grasshoper.mode is no setting"),
        ({"spark_grasshopper_weight": "2"}, "warning", "settings", "is a local property"),
        ({"spark_grasshopper_late_job": "maybe"}, "error", "settings", "late.job is maybe"),
        (
            {"spark_grasshopper_copies_max": "500"},
            "warning", "settings", "spark.grasshopper.copies.max is 500, want 0 to 100; it counts as 100",
        ),
        ({"spark_grasshopper_copies_max": "-1"}, "warning", "settings", "is -1, want 0 to 100; it counts as 0"),
        ({"spark_grasshopper_queue_capacity": "10"}, "warning", "settings", "want 100 to 10000000; it counts as 100"),
        ({"spark_grasshopper_progress_interval": "5"}, "warning", "settings", "is 5, want 20ms to 60min"),
        ({"spark_grasshopper_progress_interval": "61m"}, "warning", "settings", "it counts as 60min"),
        ({"spark_grasshopper_copies_max": "many"}, "error", "settings", "copies.max is not a number: many"),
        ({"spark_grasshopper_queue_capacity": "1e5"}, "error", "settings", "queue.capacity is not a number: 1e5"),
        ({"spark_grasshopper_timeout": "2parsecs"}, "error", "settings", "timeout is not a duration: 2parsecs"),
        ({"spark_grasshopper_connect_timeout": "2h"}, "error", "settings", "connect.timeout is not a duration: 2h"),
        ({"spark_grasshopper_timeout": "0s"}, "error", "settings", "timeout is 0s, want 1ms to 60min"),
        ({"spark_grasshopper_progress_interval": "ms"}, "error", "settings", "progress.interval is not a number"),
        ({"spark_grasshopper_enabled": "yes"}, "error", "settings", "enabled is yes, which is neither true nor false"),
        ({"spark_grasshopper_server": "127.0.0.1:72"}, "error", "settings", "server is not an address: no protocol"),
        ({"spark_plugins": "io.grasshopper.spark.GrasshoperPlugin"}, "error", "way in", "Spark does not start"),
        ({"spark_plugins": "GrasshopperPlugin"}, "error", "way in", "Spark does not start"),
        ({"spark_plugins": LISTENER_CLASS}, "error", "way in", "Spark does not start"),
        ({"spark_extraListeners": "io.grasshopper.spark.GrasshopperListner"}, "error", "way in", "does not start"),
        ({"spark_grasshopper_mode": "shadow"}, "note", "mode", "shadow by the application, control by the server"),
        ({"spark_grasshopper_enabled": "false"}, "warning", "way in", "stays out"),
        ({"spark_plugins": "", "spark_extraListeners": LISTENER_CLASS}, "note", "way in", "by heartbeat, every 10s"),
        ({"spark_plugins": ""}, "warning", "way in", "neither spark.plugins nor"),
        ({"spark_master": "local[4]"}, "warning", "places", "no_other_host"),
        ({"spark_master": "local-cluster[1,2,1024]"}, "warning", "places", "one executor"),
        ({"spark_master": "local-cluster[2,2,1024]"}, "note", "places", "on one host"),
        ({"spark_executor_instances": "1"}, "warning", "places", "one executor"),
        ({"spark_scheduler_mode": "FIFO"}, "warning", "scheduling", "no grants"),
        ({"spark_shuffle_manager": "org.celeborn.Manager"}, "warning", "shuffle", "org.celeborn.Manager"),
        ({"spark_shuffle_sort_io_plugin_class": "my.Io"}, "warning", "shuffle", "my.Io"),
        ({"spark_task_reaper_enabled": "true", "spark_task_reaper_killTimeout": "6s"}, "warning", "task reaper", "6s"),
        (
            {"spark_dynamicAllocation_enabled": "true", "spark_dynamicAllocation_maxExecutors": "1"},
            "warning", "executors", "needs a second one",
        ),
        (
            {"spark_dynamicAllocation_enabled": "true", "spark_dynamicAllocation_shuffleTracking_enabled": "false"},
            "warning", "executors", "only Spark decides",
        ),
        (
            {"spark_sql_sources_commitProtocolClass": "my.Protocol", "spark_sql_sources_outputCommitterClass": "my.C"},
            "note", "sinks", "unknown file committer (my.Protocol, my.C); never copied (unknown)",
        ),
        (
            {"spark_sql_parquet_output_committer_class": "my.DirectParquetOutputCommitter"},
            "note", "sinks", "parquet files: a direct committer writes to the final place",
        ),
        (
            {"spark_hadoop_outputCommitCoordination_enabled": "false"},
            "note", "sinks", "file commit without coordination; never copied (unsafe)",
        ),
        (
            {"spark_hadoop_mapreduce_fileoutputcommitter_algorithm_version": "2"},
            "note", "sinks", "commit algorithm 2",
        ),
    ],
)  # fmt: skip
def test_a_setting_that_stands_in_the_way_is_found(conf, severity, check, words) -> None:
    """Each by its own check, and by nothing else."""
    found = bad(with_conf(**conf))
    assert found
    assert {(each[0], each[1]) for each in found} == {(severity, check)}
    assert any(words in told for *_, told in found)


@pytest.mark.parametrize(
    ("conf", "check", "words"),
    [
        ({"spark_speculation": "true"}, "speculation", "it is paused where Grasshopper decides"),
        ({"spark_speculation": ""}, "speculation", "there are no copies"),
        ({"spark_scheduler_mode": "FAIR"}, "scheduling", "granted"),
        ({"spark_task_reaper_enabled": "true"}, "task reaper", "ends no executor"),
        (
            {"spark_dynamicAllocation_enabled": "true", "spark_shuffle_service_enabled": "true"},
            "executors", "with an external shuffle service",
        ),
        ({"spark_dynamicAllocation_enabled": "true"}, "executors", "without an external shuffle service"),
        ({"spark_extraListeners": LISTENER_CLASS}, "way in", "with it the listener does nothing"),
        (
            {
                "spark_sql_sources_commitProtocolClass": "org.apache.spark.internal.io.cloud.PathOutputCommitProtocol",
                "spark_hadoop_fs_s3a_committer_name": "magic",
            },
            "sinks", "files under S3A's committer magic: file commit arbitrated by the driver",
        ),
    ],
)  # fmt: skip
def test_what_is_well_is_told_as_it_is(conf, check, words) -> None:
    """A setting that looks odd and is right must not be complained of, nor left out."""
    seen = with_conf(**conf)
    assert bad(seen) == []
    assert any(each.check == check and words in each.message for each in diagnose(seen))


def test_a_misspelt_class_is_told_with_the_one_that_is_meant() -> None:
    """Spark ends with a ClassNotFoundException, which says nothing of the nearest name; other plug-ins are not ours."""
    seen = with_conf(
        spark_plugins="io.grasshopper.spark.GrasshoperPlugin,org.apache.spark.sql.connect.SparkConnectPlugin"
    )
    (found,) = (f for f in diagnose(seen) if f.check == "way in")
    assert found.fix == "did you mean io.grasshopper.spark.GrasshopperPlugin?"


def test_a_server_that_is_no_address_is_one_error_even_where_another_one_is_asked() -> None:
    """The shim stays out, whatever the doctor asks; that nobody answers there would be a second error."""
    seen = with_conf(spark_grasshopper_server="plane:7272")
    alone = replace(seen, server="plane:7272", plane=Plane(fault="no Grasshopper server can be reached there"))
    assert [found[:2] for found in bad(alone)] == [("error", "settings")]
    assert ("error", "settings") in [found[:2] for found in bad(seen)]


@pytest.mark.parametrize("value", ["4", "+4", "0004", "0", "100"])
def test_numbers_that_the_shim_reads_as_they_are_stay_unmentioned(value) -> None:
    """Java's `parseLong` takes these spellings; both ends of a range belong to it."""
    assert bad(with_conf(spark_grasshopper_copies_max=value)) == []


@pytest.mark.checkout
def test_the_ranges_are_those_of_the_shim() -> None:
    """A value that the shim changes without a word would be called right."""
    java = (ROOT / SETTINGS_JAVA).read_text().replace("_", "")
    read = {key: (int(least), int(most)) for key, least, most in re.findall(NUMBER, java)}
    read |= {key: (int(least), int(most)) for most, least, key in re.findall(INTERVAL, java)}
    assert {key: (amount(least), amount(most)) for key, (least, most) in RANGES.items()} == read
    (longest,) = re.findall(r"LONGESTTIMEOUTMS = (\d+);", java)
    assert (amount(TIMEOUTS[0]), amount(TIMEOUTS[1])) == (1, int(longest))
    assert "millis < 1 || millis > LONGESTTIMEOUTMS" in java
    assert f"want {' to '.join(TIMEOUTS)}" in java


def test_a_misspelt_setting_is_told_with_the_nearest_and_all_are_told_at_once() -> None:
    """Whoever has one typo has two."""
    seen = with_conf(spark_grasshopper_servr="x", spark_grasshopper_tokn_file="y", spark_grasshopper_zzz="1")
    fixes = {f.message.split()[0]: f.fix for f in diagnose(seen) if f.check == "settings"}
    assert fixes["spark.grasshopper.servr"] == "did you mean spark.grasshopper.server?"
    assert fixes["spark.grasshopper.tokn.file"] == "did you mean spark.grasshopper.token.file?"
    assert fixes["spark.grasshopper.zzz"].startswith("known are connect.timeout, copies.max")


@pytest.mark.checkout
def test_the_known_settings_are_those_that_the_shim_reads() -> None:
    """A key that the shim learns and the doctor does not would be called a typo."""
    java = (ROOT / SETTINGS_JAVA).read_text()
    (listed,) = re.findall(r"> KEYS = .*?asList\((.*?)\)\);", java, re.DOTALL)
    assert set(re.findall(r'"([a-z.]+)"', listed)) == set(KEYS)
    kinds = {"number": number, "flag": flag, "timeout": timeout, "millis": duration}
    read = {key: kinds[kind] for kind, key in re.findall(r'\b(number|flag|timeout|millis)\("([a-z.]+)"', java)}
    of_text = {"late.job", "mode", "server"}
    assert {key: one for key, one in READINGS.items() if one is not anything and key not in of_text} == read
    readme = (ROOT / "README.md").read_text()
    told = re.findall(r"`(?:spark\.grasshopper)?\.([a-z.]+)`", "\n".join(re.findall(r"^\| .*", readme, re.MULTILINE)))
    assert told
    assert set(told) <= {*KEYS, *LOCAL_PROPERTIES}


@pytest.mark.parametrize(
    ("plane", "severity", "check", "words"),
    [
        (Plane(fault="http://plane: nobody there"), "error", "server", "nobody there"),
        (replace(HEALTHY.plane, troubles="[!]store: full"), "warning", "server", "store: full"),
        (replace(HEALTHY.plane, version="9.9.9"), "warning", "server", "is version 9.9.9"),
        (replace(HEALTHY.plane, token_fault="status 401: no token; needs the shim token"), "error", "token", "401"),
        (replace(HEALTHY.plane, takes_anybody=True), "note", "token", "one is given, but the server requires none"),
        (replace(HEALTHY.plane, mode=Mode.SHADOW), "note", "mode", "shadow counts, nothing is ordered"),
        (
            replace(HEALTHY.plane, mode=Mode.OFF, chosen=Mode.OFF),
            "note",
            "mode",
            "off counts, nothing is ordered: an operator switched it off",
        ),
        (replace(HEALTHY.plane, mode=Mode.SHADOW, chosen=Mode.SHADOW), "note", "mode", "an operator chose shadow"),
        (replace(HEALTHY.plane, mode=None), "note", "mode", "not shown to us"),
    ],
)
def test_what_the_server_says_is_told(plane, severity, check, words) -> None:
    """One finding each."""
    ((found_severity, found_check, told),) = bad(replace(HEALTHY, plane=plane))
    assert (found_severity, found_check) == (severity, check)
    assert words in told


def test_without_a_server_nothing_else_is_said_of_it() -> None:
    """One cause, one error."""
    seen = replace(with_conf(spark_grasshopper_server=""), server="", plane=None)
    assert bad(seen) == [("error", "server", "spark.grasshopper.server names no control plane")]


def test_a_server_that_only_the_doctor_is_given_is_not_the_applications() -> None:
    """The driver would report to nobody, however well that server is."""
    seen = with_conf(spark_grasshopper_server="")
    ((severity, told, fix),) = ((f.severity, f.message, f.fix) for f in diagnose(seen) if f.severity is not Severity.OK)
    assert (severity, told) == (Severity.ERROR, "spark.grasshopper.server names no control plane")
    assert fix == f"set it, as in {SERVER}"


@pytest.mark.parametrize(
    ("jar", "severity", "words"),
    [
        (None, "error", "ClassNotFoundException"),
        (Jar(place="/opt/grasshopper-spark.jar", fault="it does not exist"), "error", "spark.jar: it does not exist"),
        (Jar(place="/opt/grasshopper-spark.jar", version="0.0.9"), "warning", "is 0.0.9, this Python package"),
        (Jar(place="hdfs:///lib/grasshopper-spark.jar"), "note", "cannot be read from here"),
    ],
)
def test_a_jar_that_is_not_there_or_of_another_version_is_told(jar, severity, words) -> None:
    """The commonest mistake at the first start."""
    ((found, check, told),) = bad(replace(HEALTHY, jar=jar))
    assert (found, check) == (severity, "jar")
    assert words in told


@pytest.mark.parametrize(
    ("change", "severity", "check", "words"),
    [
        ({"hosts": ("a",)}, "warning", "places", "one executor"),
        ({"hosts": ("a", "a")}, "note", "places", "one host"),
        ({"last_heard_s": 42.0}, "error", "reports", "42 s ago"),
        ({"mode": Mode.SHADOW}, "note", "mode", "shadow counts"),
        ({"shim_version": "0.0.9"}, "warning", "jar", "0.0.9"),
        ({"verdicts": (("unsafe", "foreach writes where it likes", 1),)}, "note", "sinks", "1 stage so far: foreach"),
    ],
)
def test_what_the_server_says_of_a_live_session_is_told(change, severity, check, words) -> None:
    """What it sees goes before what the configuration lets one guess."""
    seen = replace(LIVE, plane=replace(LIVE.plane, attached=replace(ATTACHED, **change)))
    ((found_severity, found_check, told),) = bad(seen)
    assert (found_severity, found_check) == (severity, check)
    assert words in told


def test_a_session_that_the_server_does_not_know_is_an_error() -> None:
    """All settings may be right, and a firewall in between."""
    assert bad(replace(LIVE, plane=HEALTHY.plane)) == [
        ("error", "reports", "the server has not heard from spark:app-1")
    ]


def test_a_shim_that_has_switched_itself_off_is_an_error() -> None:
    """Spark goes on as stock, so nothing else shows it."""
    assert "switched itself off" in bad(replace(LIVE, shim_is_on=False))[0][2]


def test_a_session_without_the_shim_is_told_so_and_not_that_a_jar_is_missing() -> None:
    """One cause, one error."""
    plain = with_conf(LIVE, spark_plugins="", spark_jars="")
    plain = replace(plain, shim_is_on=None, jar=None)
    assert [found[:2] for found in bad(plain)] == [("error", "way in")]
    assert [found for found in diagnose(plain) if found.check == "jar"] == []


@pytest.mark.parametrize(("version", "fits"), [("3.5.9", True), ("4.3.0", True), ("3.4.4", False), ("5.0.0", False)])
def test_the_version_of_spark_is_judged(version, fits) -> None:
    """One jar serves 3.5 and 4.x."""
    assert (bad(replace(HEALTHY, spark_version=version)) == []) is fits


def test_a_connect_session_is_one_clear_error() -> None:
    """There is no SparkContext in that process, so nothing else can be looked at."""
    session = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    ((severity, check, told),) = bad(examine_session(session))
    assert (severity, check) == ("error", "session")
    assert "Spark Connect" in told


def test_the_token_is_never_told() -> None:
    """What the doctor prints is pasted into tickets."""
    seen = with_conf(spark_grasshopper_token="hush-hush")
    assert "hush-hush" not in str(diagnose(seen))


def test_a_jar_is_found_where_the_configuration_or_sparks_home_has_it(tmp_path) -> None:
    """By name, whatever else is there."""
    (tmp_path / "jars").mkdir()
    jar = tmp_path / "jars" / "grasshopper-spark-0.1.0.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\r\nImplementation-Version: 7.1\r\n")
    assert find_jar({}, None) is None
    assert find_jar({"spark.jars": "/a.jar, /my/other-spark.jar"}, None) is None
    assert find_jar({}, str(tmp_path)) == Jar(place=str(jar), version="7.1")
    assert find_jar({"spark.jars": f"/a.jar, file://{jar}"}, None) == Jar(place=f"file://{jar}", version="7.1")
    assert find_jar({"spark.driver.extraClassPath": f"/a:{jar}"}, None) == Jar(place=str(jar), version="7.1")
    assert read_jar("hdfs:///lib/grasshopper-spark.jar") == Jar(place="hdfs:///lib/grasshopper-spark.jar")
    assert read_jar("/nowhere/grasshopper-spark.jar").fault == "it does not exist"


def test_other_jars_that_do_not_exist_are_told(tmp_path) -> None:
    """Spark goes on without them, and what they hold is missing later; patterns and other disks are not looked at."""
    (there := tmp_path / "there.jar").touch()
    named = (
        f"{there}, /nowhere/udfs.jar, file:///nowhere/b.jar, hdfs:///c.jar, /nowhere/*.jar, /no/grasshopper-spark.jar"
    )
    assert missing_jars({"spark.jars": named}) == ("/nowhere/udfs.jar", "file:///nowhere/b.jar")
    seen = examine({**CONF, "spark.jars": "/nowhere/grashoper.jar", f"{PREFIX}server": ""})
    told = [told for _, check, told in bad(seen) if check == "jar"]
    assert any("/nowhere/grashoper.jar, which does not exist" in each for each in told)


def test_a_token_file_that_cannot_be_read_is_told_without_a_server() -> None:
    """It keeps the shim out, whatever the server would say."""
    seen = examine({**CONF, f"{PREFIX}server": "", f"{PREFIX}token.file": "/nowhere/token"})
    ((severity, told),) = ((severity, told) for severity, check, told in bad(seen) if check == "token")
    assert severity == "error"
    assert "token.file cannot be read: [Errno 2]" in told


def test_properties_are_read_as_spark_reads_them() -> None:
    """Blanks, `=` and `:` part a key from its value; values keep theirs."""
    text = "# a\n\n! b\nspark.master   spark://h:7077\nspark.x = a=b c\nspark.y: z\nspark.alone\n"
    assert read_properties(text) == {"spark.master": "spark://h:7077", "spark.x": "a=b c", "spark.y": "z"}


def test_a_live_session_is_read_through_its_context() -> None:
    """Its configuration, its application and what the shim says of itself; a class that is not there is a package."""

    def missing() -> str:
        raise TypeError("'JavaPackage' object is not callable")

    def session(status, local=MappingProxyType({})) -> SimpleNamespace:
        package = SimpleNamespace(GrasshopperPlugin=SimpleNamespace(status=status))
        jvm = SimpleNamespace(io=SimpleNamespace(grasshopper=SimpleNamespace(spark=package)))
        conf = SimpleNamespace(getAll=lambda: [("spark.master", "local[2]")])
        context = SimpleNamespace(getConf=lambda: conf, applicationId="app-7", getLocalProperty=local.get)
        return SimpleNamespace(sparkContext=context, version="4.3.0", _jvm=jvm)

    seen = examine_session(session(lambda: '{"on": false}'))
    assert (seen.conf, seen.application, seen.shim_is_on) == ({"spark.master": "local[2]"}, "app-7", False)
    assert examine_session(session(missing)).shim_is_on is None
    assert examine_session(session(lambda: "{}")).shim_is_on is None
    local = {f"{PREFIX}deadline": "banana", "spark.job.description": "mine"}
    assert examine_session(session(lambda: "{}", local)).local == {"deadline": "banana"}


@pytest.mark.parametrize(
    ("name", "value", "counts"),
    [
        ("deadline", "banana", "none"),
        ("deadline", "0s", "none"),
        ("deadline", "11575d", "none"),
        ("weight", "0", "1"),
        ("weight", "1e3", "1"),
        ("copies.enabled", "no", "false"),
        ("mode", "on", "off"),
        ("error.bound", "10%", "0"),
        ("error.bound", "nan", "0"),
        ("late.job", "end", "keep"),
        ("speculator", "fifo+shed-plus", "none"),
    ],
)
def test_a_local_property_of_the_thread_that_counts_as_another_value_is_told(name, value, counts) -> None:
    """All was ok while the jobs of the thread had no deadline."""
    ((severity, check, message),) = bad(replace(LIVE, local={name: value}))
    assert (severity, check) == ("warning", "settings")
    assert message == f"this thread's local property {PREFIX}{name}={value} counts as {counts}"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("deadline", text) for text in ("90s", " 5MIN ", "1500us", "90000", "2h", "11574d")),
        ("weight", "1000"),
        ("copies.enabled", "False"),
        ("mode", "Shadow"),
        ("error.bound", "0.1"),
        ("late.job", "KILL"),
        ("speculator", "shed-plus"),
    ],
)
def test_a_local_property_that_the_shim_reads_stays_unmentioned(name, value) -> None:
    assert bad(replace(LIVE, local={name: value})) == []


@pytest.mark.checkout
def test_the_local_properties_are_those_that_the_shim_reads() -> None:
    """A new one has a reading here, too."""
    java = (ROOT / "jvm-shim/shim-spark/src/main/java/io/grasshopper/spark/JobKey.java").read_text()
    listed = re.search(r"OPTIONS = .*?asList\((.*?)\)\)", java, re.DOTALL)[1]
    assert set(re.findall(r'"([a-z.]+)"', listed)) == LOCAL_READINGS.keys()


def test_what_a_notebook_shows_below_the_table_is_one_line(monkeypatch) -> None:
    """It prints the value of a cell's last line, which repeated every finding."""
    monkeypatch.setitem(doctor.__globals__, "examine_session", lambda *_, **__: replace(LIVE, local={"mode": "on"}))
    found = doctor(None)
    assert repr(found) == f"<{len(found)} findings: 1 warning, {len(found) - 1} ok>"
    assert found[0].severity is Severity.WARNING
