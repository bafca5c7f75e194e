"""Are the files that deploy the control plane right, as far as that can be told without starting a container?"""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
import yaml

from controlplane.settings import load
from tests.docker.plain_image import steps
from yarn_bridge.install_conf import TOKEN_KEY, queue_properties, rm_properties
from yarn_bridge.site_files import text

ROOT = Path(__file__).parents[2]
DOCKER = ROOT / "docker"
PINNED = re.compile(r"^[a-z0-9.-]+==\S+", re.MULTILINE)

pytestmark = [pytest.mark.unit, pytest.mark.checkout]


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    """The compose file."""
    return yaml.safe_load((DOCKER / "compose.yaml").read_text())


@pytest.fixture(scope="module")
def image() -> dict[str, str]:
    """What the Dockerfile sets in the environment of every container."""
    (told,) = [step.text for step in steps(DOCKER / "Dockerfile") if step.name == "ENV"]
    return dict(word.split("=", 1) for word in told.split())


def run(*command: str) -> None:
    """A linter that has nothing to say."""
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def properties(file: str) -> dict[str, str]:
    """Names and values of one of the trial's Hadoop files."""
    elements = ET.parse(DOCKER / "yarn" / file).getroot().iter("property")
    return {str(element.findtext("name")): str(element.findtext("value")) for element in elements}


def test_the_linter_of_dockerfiles_has_nothing_to_say() -> None:
    """hadolint knows what a build daemon would refuse, and what it would regret."""
    run(str(Path(sys.executable).with_name("hadolint")), "--no-color", str(DOCKER / "Dockerfile"))


def test_the_compose_file_follows_its_specification() -> None:
    """A misspelled key would be refused by every `docker compose up`."""
    schema = ("--builtin-schema", "vendor.compose-spec")
    run(sys.executable, "-m", "check_jsonschema", *schema, str(DOCKER / "compose.yaml"))


@pytest.mark.parametrize("kind", ["secrets", "volumes"])
def test_what_a_service_uses_is_declared_and_what_is_declared_is_used(compose: dict[str, Any], kind: str) -> None:
    """The schema does not look across services."""
    used = {use.split(":")[0] for service in compose["services"].values() for use in service.get(kind, [])}
    assert {name for name in used if not name.startswith(".")} == set(compose[kind])


def test_files_that_compose_mounts_are_there(compose: dict[str, Any]) -> None:
    """Docker makes an empty folder of what it does not find. The jars come from `make jars`."""
    mounts = {use.split(":")[0] for service in compose["services"].values() for use in service.get("volumes", [])}
    folders = {mount for mount in mounts if mount.startswith(".")} - {"../yarn_bridge/jars"}
    assert folders == {"./etc", "./yarn"}
    assert all((DOCKER / folder).is_dir() for folder in folders)


def test_the_settings_that_a_container_gets_are_right(
    compose: dict[str, Any], image: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Every variable is a setting, every role has its token, and what is written lies on the volume."""
    service = compose["services"]["grasshopper"]
    for role in service["secrets"]:
        (tmp_path / role).write_text(f"0123456789abcdef-{role}\n")
    given = {name: value.replace("/run/secrets", str(tmp_path)) for name, value in service["environment"].items()}
    ours = {name: value for name, value in image.items() if name.startswith("GRASSHOPPER__")}
    for name, value in (ours | given).items():
        monkeypatch.setenv(name, value)
    settings = load(DOCKER / "etc" / "grasshopper.yaml")
    assert settings.auth.tokens() == {role: f"0123456789abcdef-{role}" for role in ("read", "operate", "shim")}
    assert not settings.server.loopback
    (volume,) = [step.text for step in steps(DOCKER / "Dockerfile") if step.name == "VOLUME"]
    assert f"state:{volume}" in service["volumes"]
    assert Path(settings.store_settings().url).is_relative_to(volume)
    assert Path(image["XDG_CACHE_HOME"]).is_relative_to(volume)


def test_only_what_the_steps_copy_reaches_the_build() -> None:
    """Tokens lie beside the Dockerfile; a context that takes everything would send them along."""
    copied = [step.words() for step in steps(DOCKER / "Dockerfile") if step.name == "COPY"]
    sources = {source.split("/")[0] for (*sources, _), flags in copied if "from" not in flags for source in sources}
    rules = (DOCKER / "Dockerfile.dockerignore").read_text().splitlines()
    assert {rule.removeprefix("!") for rule in rules if rule.startswith("!")} == sources
    assert "*" in rules


@pytest.mark.parametrize("lock", ["server.lock", "build.lock"])
def test_the_image_gets_the_versions_that_are_tested(lock: str) -> None:
    """The same pins as everywhere, without pyspark, which is most of what a checkout installs."""
    pins = {name: set(PINNED.findall((ROOT / "requirements" / name).read_text())) for name in (lock, "run.lock")}
    assert pins[lock] <= pins["run.lock"]
    assert not any(pin.startswith("pyspark==") for pin in pins[lock])


def test_the_trial_says_to_yarn_what_install_conf_prints() -> None:
    """One source of keys and classes; the token comes from the environment."""
    site = properties("yarn-site.xml")
    wanted = {name: text(value) for name, value in rm_properties("http://grasshopper:7272").items()}
    assert wanted.items() <= site.items()
    assert site[TOKEN_KEY] == "${env.GRASSHOPPER_SHIM_TOKEN}"
    assert queue_properties(("root.default",)).items() <= properties("capacity-scheduler.xml").items()


def test_every_variable_that_the_page_names_is_a_setting() -> None:
    """An operator copies it as it stands; an unknown one is refused at the start."""
    settings = {f"GRASSHOPPER__{name.upper().replace('.', '__')}" for name in load().shown()}
    page = (ROOT / "docs" / "deploy.md").read_text()
    named = {name.rstrip("_") for name in re.findall(r"GRASSHOPPER__\w+", page)}
    assert named - {"GRASSHOPPER__CLIENT__TOKEN_FILE"} <= settings
    assert len(named) > 4
