"""Which parts of a cluster scenario can be set by name? Its numbers, and its policies' settings, as `name=value`."""

from collections.abc import Sequence
from dataclasses import MISSING, fields, replace
from math import inf
from typing import Any, get_type_hints

import msgspec

from controlplane.model.errors import BadSetting
from controlplane.policies.row import Kind
from controlplane.simulator.cluster.bounds import Bounds
from controlplane.simulator.cluster.scenario import ClusterScenario

HINTS = get_type_hints(ClusterScenario)
BOUND_HINTS = get_type_hints(Bounds)
DEADLINES = {"deadline_s": inf, "stock_times": None, "slack": None}
"""Kinds of deadlines, none of which is given."""
GROUPS = ", ".join(f"{group}.NAME" for group in (*Kind, "bounds"))
"""Settings of policies, by kind, and of the jobs' bounds."""
NAMES = tuple(one.name for one in fields(ClusterScenario) if one.default is not MISSING)
"""Fields of a ClusterScenario that hold one value."""


def parse_set(given: Sequence[str], usual: Bounds | None = None) -> dict[str, Any]:
    """The scenario's fields for these pairs, as in "detect_s=1" or "allocator.fairness_epsilon=0"; later ones win.

    Bounds that are not given are the usual ones; a deadline of one kind takes the place of one of another kind.

    Raises BadSetting for a name that there is none of, and for what is no value for it; whether the value is in range,
    and whether a policy knows the setting, the scenario says itself.

    >>> parse_set(["kill_s=2", "wanted_only=false", "allocator.fairness_epsilon=0"])
    {'kill_s': 2.0, 'wanted_only': False, 'allocator_settings': {'fairness_epsilon': 0.0}}
    >>> parse_set(["bounds.slack=0.02,0.2"])["bounds"].slack
    (0.02, 0.2)
    """
    found: dict[str, Any] = {}
    bounds: dict[str, Any] = {}
    for pair in given:
        name, _, text = pair.partition("=")
        kind, dot, setting = name.partition(".")
        if dot and kind in list(Kind):
            found.setdefault(f"{kind}_settings", {})[setting] = _value(name, text, float)
        elif kind == "bounds" and setting in BOUND_HINTS:
            bounds[setting] = _value(name, text.split(",") if "," in text else text, BOUND_HINTS[setting])
        elif name in NAMES:
            found[name] = _value(name, text, HINTS[name])
        else:
            raise BadSetting("set", got=pair, want=f"{GROUPS} or {', '.join(NAMES)}")
    if bounds.keys() & DEADLINES.keys():
        bounds = DEADLINES | bounds
    return found | ({"bounds": replace(usual or Bounds(), **bounds)} if bounds else {})


def _value(name: str, text: str | list[str], hint: Any) -> Any:
    try:
        return msgspec.convert(text, hint, strict=False)
    except msgspec.ValidationError:
        words = str(getattr(hint, "__name__", hint)).replace("None", "null")
        raise BadSetting(name, got=text, want=words) from None
