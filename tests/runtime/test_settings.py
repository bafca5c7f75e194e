"""Is every setting found where it was put, checked, and named when it is wrong?"""

import dataclasses
import re

import pytest

from controlplane import settings
from controlplane.model.errors import BadSetting, BadSettings
from controlplane.model.facts import Mode
from controlplane.model.parameters import EngineSettings
from controlplane.runtime.parameters import RuntimeSettings
from controlplane.store.parameters import StoreSettings

pytestmark = pytest.mark.unit


@pytest.fixture
def file(tmp_path):
    """A function that writes a YAML file."""

    def write(text):
        path = tmp_path / "grasshopper.yaml"
        path.write_text(text)
        return path

    return write


def problems(path=None, overrides=None):
    with pytest.raises(BadSettings) as error:
        settings.load(path, overrides)
    return [problem.field for problem in error.value.problems]


def test_without_anything_the_defaults_of_the_dataclasses_hold():
    """They are written once, where they are used."""
    found = settings.load()
    assert found.engine_settings() == EngineSettings()
    assert found.runtime_settings() == RuntimeSettings()
    assert found.store_settings() == StoreSettings()
    assert found.engine_settings().mode is Mode.SHADOW
    assert found.origins == {}


def test_a_later_layer_wins_and_every_value_knows_its_origin(file, monkeypatch):
    path = file("engine: {lease_ms: 1000, order_ttl_ms: 500, speculator: late}\nserver: {port: 1}\n")
    monkeypatch.setenv("GRASSHOPPER__ENGINE__LEASE_MS", "2000")
    monkeypatch.setenv("GRASSHOPPER__SERVER__PORT", "2")
    found = settings.load(path, {"server": {"port": 3}})
    assert (found.engine.order_ttl_ms, found.engine.lease_ms, found.server.port) == (500, 2000, 3)
    assert found.origins == {
        "engine.order_ttl_ms": str(path),
        "engine.speculator": str(path),
        "engine.lease_ms": "environment",
        "server.port": "command line",
    }


def test_off_in_a_file_is_the_mode(file):
    """Half of YAML's world takes it for False, and who switches off must not be told to say it in another way."""
    engine = settings.load(file("engine: {mode: off, drain_executors: true}")).engine_settings()
    assert (engine.mode, engine.drain_executors) == (Mode.OFF, True)
    assert settings.load(file("engine: {drain_executors: on}")).engine_settings().drain_executors


def test_policy_settings_come_from_the_environment_too(monkeypatch):
    monkeypatch.setenv("GRASSHOPPER__ENGINE__ALLOCATOR_SETTINGS__FAIRNESS_EPSILON", "0.3")
    assert settings.load().engine_settings().allocator_settings == {"fairness_epsilon": 0.3}


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("engine: {lease_ms: 1}", "engine.lease_ms"),
        ("engine: {lease_ms: soon}", "engine.lease_ms"),
        ("engine: {mode: fast}", "engine.mode"),
        ("engine: {allocator: magic}", "engine.allocator"),
        ("engine: {allocator_settings: {magic: 1}}", "engine.allocator_settings.magic"),
        ("engine: {allocator_settings: {fairness_epsilon: 7}}", "engine.allocator_settings.fairness_epsilon"),
        ("server: {port: 99999}", "server.port"),
        ("server: {port: true}", "server.port"),
        ("store: {keep_days: true}", "store.keep_days"),
        ("server: {prot: 1}", "server.prot"),
        ("sever: {port: 1}", "sever"),
        ("runtime: {cycle_share: 0}", "runtime.cycle_share"),
        ("runtime: {snapshot_age_s: -0.1}", "runtime.snapshot_age_s"),
        ("store: {keep_rows: 0}", "store.keep_rows"),
        ("log: {level: loud}", "log.level"),
        ("store: {url: 'nosuch://host/db'}", "store.url"),
        ("store: {url: 'postgresql+nosuch://host/db'}", "store.url"),
        ("store: {url: 'sqlite://['}", "store.url"),
        ("server: {trusted_proxies: [10.0.0.1, x]}", "server.trusted_proxies.1"),
        ("server: {trusted_proxies: ['10.0.0.0/99']}", "server.trusted_proxies.0"),
        ("server: {trusted_proxies: ['10.0.0.1/8']}", "server.trusted_proxies.0"),
        ("server: {trusted_proxies: ['*']}", "server.trusted_proxies.0"),
        ("client: {server: 'http://x'}", "client"),
        ("engine: [", "config"),
        ("just text", "config"),
        ("- a list", "config"),
        ("1: 2", "config"),
        ("[" * 5000, "config"),
        ("engine: !!python/object:os.system {}", "config"),
    ],
)
def test_a_bad_setting_is_named_in_full(file, text, field):
    assert problems(file(text)) == [field]


def test_a_proxy_is_an_address_or_a_network(file):
    """Anything else was taken for a name that no caller has: callers then seemed to be the proxy."""
    found = settings.load(file("server: {trusted_proxies: [10.0.0.1, 10.0.0.0/8, '::1', 'fd00::/8']}"))
    assert found.server.trusted_proxies == ["10.0.0.1", "10.0.0.0/8", "::1", "fd00::/8"]
    with pytest.raises(BadSettings, match=r"'10\.0\.0\.0/99', want an address or a network, as in 10\.0\.0\.0/8"):
        settings.load(file("server: {trusted_proxies: ['10.0.0.0/99']}"))


def test_a_setting_is_allowed_up_to_the_end_of_its_range(file):
    assert settings.load(file("runtime: {queue_reports: 1000000}")).runtime_settings().queue_reports == 1_000_000
    assert problems(file("runtime: {queue_reports: 1000001}")) == ["runtime.queue_reports"]


def test_a_bad_setting_is_told_with_its_line(file, monkeypatch):
    """Lines of the file only where the value is the file's."""
    path = file("server:\n  port: -1\nengine:\n  lease_ms: 1\n  allocator_settings:\n    magic: 1\n")
    with pytest.raises(BadSettings) as error:
        settings.load(path, {"engine": {"lease_ms": 2}})
    places = {problem.field: problem.place for problem in error.value.problems}
    assert places == {"server.port": f"{path}:2", "engine.lease_ms": ""}
    path = file("engine:\n  allocator_settings:\n    magic: 1\n")
    with pytest.raises(BadSettings, match=f"^{path}:3: engine.allocator_settings.magic"):
        settings.load(path)
    path = file("engine:\n  lease_ms: 1000\n bad: indent\n")
    with pytest.raises(BadSettings, match=f"^{path}:3: config"):
        settings.load(path)


def test_a_binary_file_and_a_folder_are_told(tmp_path):
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    assert problems(tmp_path / "binary") == problems(tmp_path) == ["config"]


SECRET = "hush-hush"


@pytest.mark.parametrize(
    "text",
    [
        f"auht: {{read_token: {SECRET}}}",
        f"auth: {{read_tokn: {SECRET}}}",
        f"auth: {SECRET}",
        f"auth: {{read_token: [{SECRET}]}}",
        f"stor: {{url: 'postgresql://u:{SECRET}@h/d'}}",
        f"store: 'postgresql://u:{SECRET}@h/d'",
        f"store: {{urll: 'postgresql://u:{SECRET}@h/d'}}",
        f"store: {{url: 'nosuch://u:{SECRET}@h/d'}}",
        f"store: {{url: 'nosuch://[u:{SECRET}@h/d'}}",
        f"engine: {{read_token: {SECRET}}}",
        f"auth:\n  read_token: {SECRET}\n bad: indent",
        f"auth: {{read_token: '{SECRET}",
    ],
)
def test_no_error_shows_a_secret_wherever_it_was_put(file, text):
    """A typing error in a name must not print the value: it may be a token, and errors are pasted into tickets."""
    with pytest.raises(BadSettings) as error:
        settings.load(file(text))
    assert SECRET not in str(error.value)


def test_a_secret_under_a_misspelt_variable_is_not_shown(monkeypatch):
    monkeypatch.setenv("GRASSHOPPER__AUHT__READ_TOKEN", SECRET)
    with pytest.raises(BadSettings) as error:
        settings.load()
    assert SECRET not in str(error.value)


def test_variables_of_the_command_line_are_no_settings_and_no_mistake(monkeypatch):
    monkeypatch.setenv("GRASSHOPPER__CLIENT__TOKEN", SECRET)
    settings.load()
    monkeypatch.setenv("GRASSHOPPER__CLIENT__TOKN", SECRET)
    assert problems() == ["GRASSHOPPER__CLIENT__TOKN"]


@pytest.mark.parametrize(
    ("variable", "value", "field"),
    [
        ("ENGINE__SPECULATOR_SETTINGS", "x", "engine.speculator_settings"),
        ("ENGINE__SPECULATOR_SETTINGS", "[1]", "engine.speculator_settings"),
        ("SERVER__TRUSTED_PROXIES", "::/0/1", "server.trusted_proxies"),
        ("SERVER__TRUSTED_PROXIES", "[" * 50_000, "server.trusted_proxies"),
        ("ENGINE", "x", "engine"),
        ("AUTH", SECRET, "auth"),
        ("AUTH", f'{{"read_token": "{SECRET}"', "auth"),
    ],
)
def test_what_should_be_json_in_the_environment_and_is_not_is_told_by_name(variable, value, field, monkeypatch):
    """pydantic_settings would raise an error of its own, which ends the command with a traceback."""
    monkeypatch.setenv(f"GRASSHOPPER__{variable}", value)
    with pytest.raises(BadSettings) as error:
        settings.load()
    assert re.match(rf"{field} = .*, want (a list|values by name), as in \S.*$", str(error.value))
    assert SECRET not in str(error.value)


def test_passwords_of_the_store_are_never_shown():
    found = settings.load(None, {"store": {"url": f"sqlite:///x.db?sslpassword={SECRET}"}})
    assert SECRET not in str(found.shown())


def test_all_bad_settings_are_told_at_once(file):
    assert problems(file("engine: {lease_ms: 1}\nserver: {port: -1}")) == ["server.port", "engine.lease_ms"]


@pytest.mark.parametrize(
    "text", ["engine: {mode: off}\nengine: {mode: shadow}", "engine:\n  mode: off\n  mode: shadow"]
)
def test_a_name_that_is_there_twice_is_refused(text, file):
    """YAML itself would keep the last one, and nobody would hear of the first."""
    with pytest.raises(BadSettings, match=r":[23]: config = .*: \w+ is there twice"):
        settings.load(file(text))


@pytest.mark.parametrize(
    ("text", "meant"), [("engin: {}", "engine"), ("engine: {max_copies_per_tsk: 1}", "max_copies_per_task")]
)
def test_of_a_misspelt_name_the_one_that_may_be_meant_is_told(text, meant, file):
    with pytest.raises(BadSettings, match=f"want a name that exists, perhaps {meant}$"):
        settings.load(file(text))


def test_a_missing_file_is_told(tmp_path):
    assert problems(tmp_path / "nothing.yaml") == ["config"]


def test_a_misspelt_section_in_the_environment_is_told(monkeypatch):
    monkeypatch.setenv("GRASSHOPPER__SEVER__PORT", "1")
    assert problems() == ["GRASSHOPPER__SEVER__PORT"]


def test_secrets_are_read_from_files_and_never_shown(tmp_path):
    secret = tmp_path / "token"
    secret.write_text("0123456789abcdef\n")
    found = settings.load(None, {"auth": {"read_token_file": str(secret), "operate_token": "operate-0123456789"}})
    assert found.auth.tokens() == {"read": "0123456789abcdef", "operate": "operate-0123456789"}
    assert "operate-0123456789" not in repr(found)
    assert "operate-0123456789" not in found.model_dump_json()


@pytest.mark.parametrize("content", [None, "", " \n", "0123456789abcdef" * 5000])
def test_a_secret_that_cannot_be_read_is_told_by_its_setting(tmp_path, content):
    path = tmp_path / "token"
    if content is not None:
        path.write_text(content)
    overrides = {"server": {"host": "0.0.0.0"}, "auth": {"shim_token_file": str(path)}}
    assert problems(None, overrides) == ["auth.shim_token_file"]


def test_a_file_that_never_ends_is_no_token():
    """It is not read until the memory is full."""
    assert problems(None, {"auth": {"shim_token_file": "/dev/zero"}}) == ["auth.shim_token_file"]


def test_engine_settings_are_changed_whole_or_not_at_all():
    before = EngineSettings()
    after = settings.change_engine(before, {"lease_ms": 500, "speculator": "late"})
    assert after == dataclasses.replace(before, lease_ms=500, speculator="late")
    with pytest.raises(BadSettings) as error:
        settings.change_engine(before, {"lease_ms": 500, "speculator": "magic", "order_ttl_ms": 1})
    assert all(isinstance(problem, BadSetting) for problem in error.value.problems)


@pytest.mark.parametrize(
    ("configured", "command_line", "chosen", "expected"),
    [
        ("control", None, None, "control"),
        ("control", None, "off", "off"),
        ("shadow", None, "control", "control"),
        ("control", "control", "off", "off"),
        ("control", "off", "control", "off"),
        ("control", "off", None, "off"),
        ("off", "control", None, "control"),
    ],
)
def test_a_chosen_mode_holds_and_the_command_line_is_the_most_it_may_be(
    file, configured, command_line, chosen, expected
):
    """A kill switch outlives any restart, and a start with `--mode off` is off."""
    told = {"engine": {"mode": command_line}} if command_line else {}
    found = settings.load(file(f"engine: {{mode: '{configured}'}}"), told)
    assert settings.in_force(found, {}, chosen and Mode(chosen)).mode.value == expected


def test_of_settings_changed_at_run_time_only_what_the_file_no_longer_goes_with_is_left_out(file):
    """An operator's limit holds whatever policy the file names later."""
    found = settings.load(file("engine: {allocator: fair, lease_ms: 1000}"), {})
    changed = {"max_copies_per_task": 0, "allocator_settings": {"fairness_epsilon": 0.3}, "gone": 1, "lease_ms": None}
    assert settings.holding(found, changed) == {"max_copies_per_task": 0}
    engine = settings.in_force(found, changed, None)
    assert (engine.max_copies_per_task, engine.allocator, engine.lease_ms) == (0, "fair", 1000)


def test_a_policy_changed_at_run_time_comes_back_with_its_settings(file):
    """Neither would be allowed alone beside the file's."""
    found = settings.load(file("engine: {allocator: fair}"), {})
    changed = {"allocator_settings": {"fairness_epsilon": 0.3}, "allocator": "hopper"}
    assert settings.holding(found, changed) == changed


def test_what_was_changed_at_run_time_goes_before_the_file_and_not_before_the_command_line(file):
    found = settings.load(file("engine: {lease_ms: 1000, order_ttl_ms: 500}"), {"engine": {"lease_ms": 2000}})
    engine = settings.in_force(found, {"lease_ms": 3000, "order_ttl_ms": 700, "choices": []}, None)
    assert (engine.lease_ms, engine.order_ttl_ms) == (2000, 700)
