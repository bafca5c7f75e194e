"""Where does every setting come from, and is it allowed?

One YAML file, then the environment (`GRASSHOPPER__SECTION__KEY`), then the command line; a later layer wins. Secrets
may be given in files. The sections `engine`, `runtime` and `store` are made from the dataclasses that their users
define, so no default or range is written twice.
"""

import contextlib
import dataclasses
import ipaddress
import itertools
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    SecretStr,
    ValidationError,
    create_model,
)
from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsConfigDict

from controlplane.engine.steering import Steering
from controlplane.model.errors import BadSetting, BadSettings
from controlplane.model.facts import Mode, lowest
from controlplane.model.parameters import EngineSettings
from controlplane.processes import LONGEST_TOKEN, is_loopback, read_token
from controlplane.runtime.parameters import RuntimeSettings
from controlplane.settings_file import parse, placed, read
from controlplane.store.database import shown_url, usable
from controlplane.store.parameters import StoreSettings

ENV_PREFIX = "GRASSHOPPER__"
COMMAND_LINE = "command line"
"""Origin of values given there."""
HIDDEN = "..."
"""Shown in place of a value that may be a secret."""
SHORTEST_TOKEN, FEWEST_KINDS = 16, 8
"""Characters of a token, and different ones among them; random hexadecimal digits of that length have that many."""
_TOGETHER = tuple((name, f"{name}_settings") for name in ("allocator", "speculator", "copy_budget"))
"""Engine settings that are only valid together."""
_SECRET_SECTIONS = frozenset({"auth", "store"})
_CLIENT_KEYS = frozenset({"SERVER", "TOKEN", "TOKEN_FILE"})
"""Variables that the command line reads by itself when it talks to a running control plane."""
_NO_SUCH_NAME = "extra_forbidden"
_LIST, _NAMES = 'a list, as in ["one", "two"]', 'values by name, as in {"name": 1}'
_OWN_WORDS = {
    "missing": "a value",
    _NO_SUCH_NAME: "a name that exists",
    "json_invalid": "JSON",
    "list_type": _LIST,
    "dict_type": _NAMES,
    "mapping_type": _NAMES,
    "model_type": _NAMES,
}
_PYDANTIC_WORDS = re.compile(r"^\w+ should (be|have) |^Value error, |, unable to .*$")
"""Pydantic's words around the wanted value, as in "Input should be a valid integer, unable to parse string"."""


def _no_truth(value: Any) -> Any:
    """Refuses True and False, which Python takes for 1 and 0 but which are never meant as numbers."""
    if isinstance(value, bool):
        raise ValueError("a number")
    return value


def _network(text: str) -> str:
    """Refuses what is neither an address nor a network: uvicorn would take it for a name that no caller has."""
    try:
        ipaddress.ip_network(text)
    except ValueError:
        raise ValueError("an address or a network, as in 10.0.0.0/8") from None
    return text


Network = Annotated[str, AfterValidator(_network)]
Whole = Annotated[int, BeforeValidator(_no_truth)]
Real = Annotated[float, BeforeValidator(_no_truth)]
_NUMBERS: dict[Any, Any] = {int: Whole, float: Real, Mapping[str, float]: Mapping[str, Real]}
"""A dataclass's type, and the one in its place that takes no truth value."""


class Section(BaseModel):
    """Base of all sections: no unknown names, and no changes after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _section(name: str, source: type) -> Any:
    """A section with the fields, defaults and ranges of a settings dataclass."""
    hints = get_type_hints(source)
    fields: dict[str, Any] = {}
    for field in dataclasses.fields(source):
        about: dict[str, Any] = {"description": field.metadata.get("about")}
        if "low" in field.metadata:
            about |= {"ge": field.metadata["low"], "le": field.metadata["high"]}
        if field.default is not dataclasses.MISSING:
            about["default"] = field.default
        else:
            about["default_factory"] = field.default_factory
        kind = hints[field.name]
        fields[field.name] = (_NUMBERS.get(kind, kind), Field(**about))
    return create_model(name, __base__=Section, **fields)


if TYPE_CHECKING:
    EngineSection = Section
    RuntimeSection = Section
    StoreSection = Section
else:
    EngineSection = _section("EngineSection", EngineSettings)
    RuntimeSection = _section("RuntimeSection", RuntimeSettings)
    StoreSection = _section("StoreSection", StoreSettings)


class ServerSection(Section):
    """Where the control plane listens and how much one request may carry."""

    host: str = Field(default="127.0.0.1", description="Address to listen on; beyond loopback only with tokens.")
    port: Whole = Field(default=7272, ge=0, le=65535, description="Port to listen on.")
    max_body_bytes: Whole = Field(
        default=16 * 2**20, ge=1024, le=2**30, description="Largest body, after decompression."
    )
    max_bodies_bytes: Whole = Field(
        default=64 * 2**20, ge=1024, le=2**34, description="All bodies together that have not been answered yet."
    )
    max_connections: Whole = Field(
        default=20_000, ge=1, le=1_000_000, description="Open connections, if file limits allow."
    )
    max_connections_per_address: Whole = Field(
        default=4000, ge=1, le=1_000_000, description="Open connections from one address."
    )
    trusted_proxies: list[Network] = Field(
        default=[], description="Addresses or networks of proxies whose X-Forwarded-For is believed."
    )
    demo_report: Path = Field(default=Path("build/demo.json"), description="The demo's results, for its page.")
    drain_s: Real = Field(default=3.0, ge=0.0, le=600.0, description="How long open requests may take at shutdown.")

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the address."""
        return is_loopback(self.host)


class AuthSection(Section):
    """Bearer tokens. Operating includes reading; the shim's role is separate. Without tokens: loopback only."""

    read_token: SecretStr | None = Field(default=None, description="For readers of pages and REST.")
    read_token_file: Path | None = Field(default=None, description="A file that holds it.")
    operate_token: SecretStr | None = Field(default=None, description="For operators, who may also make changes.")
    operate_token_file: Path | None = Field(default=None, description="A file that holds it.")
    shim_token: SecretStr | None = Field(default=None, description="For drivers and resource managers.")
    shim_token_file: Path | None = Field(default=None, description="A file that holds it.")

    def token(self, role: str) -> str | None:
        """The token of `read`, `operate` or `shim`, from its value or its file."""
        if secret := getattr(self, f"{role}_token"):
            return secret.get_secret_value()
        path = getattr(self, f"{role}_token_file")
        return _read_secret(f"auth.{role}_token_file", path) if path else None

    def field(self, role: str) -> str:
        """The setting that the token of a role is from."""
        return f"{role}_token" if getattr(self, f"{role}_token") else f"{role}_token_file"

    def tokens(self) -> dict[str, str]:
        """Token by role; one token may stand for several roles."""
        return {role: token for role in ("read", "operate", "shim") if (token := self.token(role))}


class LogSection(Section):
    """What is logged and how."""

    level: Literal["debug", "info", "warning", "error"] = Field(default="info", description="The lowest level logged.")
    format: Literal["json", "console"] = Field(default="json", description="JSON object per line, or text for people.")


class Settings(BaseSettings):
    """Everything that can be set. Made by `load`."""

    model_config = SettingsConfigDict(extra="forbid", frozen=True)

    server: ServerSection = ServerSection()
    auth: AuthSection = AuthSection()
    engine: EngineSection = EngineSection()
    runtime: RuntimeSection = RuntimeSection()
    store: StoreSection = StoreSection()
    log: LogSection = LogSection()
    _origins: dict[str, str] = PrivateAttr(default_factory=dict)
    _source: tuple[Path | None, dict[str, Any]] = PrivateAttr(default=(None, {}))

    @classmethod
    def settings_customise_sources(cls, settings_cls: Any, init_settings: Any, *_: Any, **__: Any) -> Any:
        """The layers are merged by `load`, which also keeps their origins."""
        return (init_settings,)

    @property
    def origins(self) -> dict[str, str]:
        """Where each value came from, by dotted name; a missing name has its default."""
        return self._origins

    def again(self) -> "Settings":
        """The settings that the same file, environment and command line give now; raises `BadSettings`."""
        return load(*self._source)

    def shown(self) -> dict[str, Any]:
        """Every value by its dotted name, secrets masked."""
        values = dict(leaves(self.model_dump(mode="json")))
        return values | {"store.url": shown_url(self.store_settings().url)}

    def engine_settings(self) -> EngineSettings:
        """The engine's part, as the engine takes it."""
        return EngineSettings(**self.engine.model_dump())

    def runtime_settings(self) -> RuntimeSettings:
        """The live driver's part."""
        return RuntimeSettings(**self.runtime.model_dump())

    def store_settings(self) -> StoreSettings:
        """The store's part."""
        return StoreSettings(**self.store.model_dump())


SECTIONS = tuple(Settings.model_fields)


def load(path: Path | str | None = None, overrides: Mapping[str, Any] | None = None) -> Settings:
    """Settings from file, environment and command line (`overrides` nests like the file); raises `BadSettings`."""
    path = None if path is None else Path(path)
    text = "" if path is None else read(path)
    layers = [
        (str(path), parse(path, text)),
        ("environment", _read_environment()),
        (COMMAND_LINE, dict(overrides or {})),
    ]
    merged: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for origin, layer in layers:
        merged = _overlay(merged, layer)
        origins |= {name: origin for name, _ in leaves(layer)}
    try:
        settings = Settings(**merged)
        check(settings)
    except ValidationError as error:
        raise BadSettings(placed(bad_settings(error.errors(), model=Settings), path, text, origins)) from None
    except BadSettings as error:
        raise BadSettings(placed(error.problems, path, text, origins)) from None
    settings._origins.update(origins)
    settings._source = (path, dict(overrides or {}))
    return settings


def check(settings: Settings) -> None:
    """Checks that no single field can make: known policies, a usable store, and tokens wherever others can reach us."""
    check_engine(settings.engine_settings())
    url = settings.store_settings().url
    if not usable(url):
        want = "the path of an SQLite file (no file: or :memory:), or an SQLAlchemy URL whose driver is installed"
        raise BadSettings((BadSetting("store.url", shown_url(url), want),))
    tokens = settings.auth.tokens()
    weak = [settings.auth.field(role) for role, token in tokens.items() if not is_strong(token)]
    if weak:
        want = (
            f"at least {SHORTEST_TOKEN} characters, {FEWEST_KINDS} of them different: `openssl rand -hex 32` makes such"
        )
        raise BadSettings(tuple(BadSetting(f"auth.{field}", HIDDEN, want) for field in weak))
    if not settings.server.loopback and not tokens:
        want = "a loopback address, or tokens in `auth`: without tokens only this machine is served"
        raise BadSettings((BadSetting("server.host", settings.server.host, want),))


def is_strong(token: str) -> bool:
    """Whether a token is too long to be guessed, judging by its length and letters.

    >>> is_strong("a"), is_strong("aaaaaaaaaaaaaaaaaaaaaaaa"), is_strong("6c1f0d3b9e7a4825")
    (False, False, True)
    """
    return len(token) >= SHORTEST_TOKEN and len(set(token)) >= FEWEST_KINDS


def check_engine(engine: EngineSettings) -> None:
    """Refuses unknown policies and their settings out of range."""
    try:
        Steering(engine)
    except BadSetting as error:
        raise BadSettings((error,)) from None


def change_engine(engine: EngineSettings, change: Mapping[str, Any]) -> EngineSettings:
    """The engine's settings with some of them changed; refused whole, by `BadSettings`, if one is not allowed."""
    current = {field.name: getattr(engine, field.name) for field in dataclasses.fields(engine)}
    try:
        section = EngineSection.model_validate(current | dict(change))
    except ValidationError as error:
        raise BadSettings(tuple(bad_settings(error.errors(), "engine", EngineSection))) from None
    changed = EngineSettings(**section.model_dump())
    check_engine(changed)
    return changed


def in_force(settings: Settings, changed: Mapping[str, Any], chosen: Mode | None) -> EngineSettings:
    """The engine's settings: file and environment, then what was changed at run time, then the command line.

    A mode that an operator has chosen holds until another one is chosen; one from the command line limits it.
    So a kill switch survives a restart whatever the command line says, and a start with `--mode off` is off.
    """
    configured = settings.engine_settings()
    mode = chosen or configured.mode
    if "mode" in _from_command_line(settings):
        mode = lowest(mode, configured.mode)
    return change_engine(configured, holding(settings, changed) | {"mode": mode})


def holding(settings: Settings, changed: Mapping[str, Any]) -> dict[str, Any]:
    """The settings changed at run time that still hold, by name.

    Left out are settings that were reset (None), that the command line gives, or that no longer fit the file; in the
    last case only that one setting is left out, or a policy together with its own settings.
    """
    names = [field.name for field in dataclasses.fields(EngineSettings) if field.name != "mode"]
    wanted = {
        name: changed[name]
        for name in names
        if changed.get(name) is not None and name not in _from_command_line(settings)
    }
    engine, held = settings.engine_settings(), dict[str, Any]()
    for together in _TOGETHER + tuple((name,) for name in names if name not in itertools.chain(*_TOGETHER)):
        part = {name: wanted[name] for name in together if name in wanted}
        with contextlib.suppress(BadSettings):
            engine = change_engine(engine, part)
            held |= part
    return held


def _from_command_line(settings: Settings) -> set[str]:
    """Names of the engine's settings that the command line gives."""
    return {name.split(".")[1] for name, origin in settings.origins.items() if origin == COMMAND_LINE and "." in name}


def leaves(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted names and values of nested settings.

    >>> list(leaves({"server": {"port": 80}}))
    [('server.port', 80)]
    """
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _overlay(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        nested = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = _overlay(merged[key], value) if nested else value
    return merged


def _read_environment() -> dict[str, Any]:
    for name in os.environ:
        section, _, key = name.upper().removeprefix(ENV_PREFIX).partition("__")
        known = key in _CLIENT_KEYS if section == "CLIENT" else section.lower() in SECTIONS
        if name.upper().startswith(ENV_PREFIX) and not known:
            raise BadSettings((BadSetting(name, HIDDEN, f"one of {', '.join(SECTIONS)} after the prefix"),))
    return _Environment(Settings, env_prefix=ENV_PREFIX, env_nested_delimiter="__")()


class _Environment(EnvSettingsSource):
    """Takes lists and mappings as JSON. Text that is not JSON stays as it is, and is then refused by its name."""

    def decode_complex_value(self, field_name: str, field: Any, value: Any) -> Any:
        try:
            return super().decode_complex_value(field_name, field, value)
        except (ValueError, RecursionError):
            return value


def _read_secret(field: str, path: Path) -> str:
    try:
        secret = read_token(path)
    except (OSError, UnicodeDecodeError):
        want = f"a readable file of text, {LONGEST_TOKEN:,} characters at most"
        raise BadSettings((BadSetting(field, str(path), want),)) from None
    if not secret:
        raise BadSettings((BadSetting(field, str(path), "a file that holds a token"),))
    return secret


def bad_settings(
    problems: Iterable[Mapping[str, Any]], prefix: str = "", model: type[BaseModel] | None = None
) -> Iterator[BadSetting]:
    """What pydantic found wrong, in our words: the field, the given value, and what the field wants.

    An unknown name comes with the name of the model that may have been meant.
    """
    for problem in problems:
        place, kind = ([prefix] if prefix else []) + [str(part) for part in problem["loc"]], problem["type"]
        given = _Absent() if kind == "missing" else _shown(place, problem["input"], kind == _NO_SUCH_NAME)
        want = _OWN_WORDS.get(kind) or _PYDANTIC_WORDS.sub("", problem["msg"])
        near = _near(model, problem["loc"]) if model and kind == _NO_SUCH_NAME else []
        yield BadSetting(".".join(place), given, f"{want}, perhaps {near[0]}" if near else want)


def _near(model: type[BaseModel], place: Sequence[str]) -> list[str]:
    """The section's name that is most like an unknown one, if any is."""
    fields: Any = model.model_fields
    for section in place[:-1]:
        fields = fields[section].annotation.model_fields
    return get_close_matches(place[-1], fields, n=1)


class _Absent:
    """The value shown for a missing field."""

    def __repr__(self) -> str:
        return "nothing"


def _shown(place: list[str], value: Any, unknown: bool) -> Any:
    """A refused value as it may be shown: it may be a secret that was put in the wrong place."""
    if value is None:
        return None
    harmless = isinstance(value, int | float) or (isinstance(value, str) and place[0] not in _SECRET_SECTIONS)
    return value if harmless and not unknown else HIDDEN
