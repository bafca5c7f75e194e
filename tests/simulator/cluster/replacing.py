"""How is a function of the simulated cluster watched? By another one in its place, wherever a module calls it."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from controlplane.simulator.cluster import ends, events, phases, starts

MODULES = (ends, events, phases, starts)
Functions = Mapping[str, Callable[..., Any]]


def replaced(monkeypatch: pytest.MonkeyPatch, others: Functions) -> Functions:
    """Put other functions in place of these, by name; returns the replaced ones."""
    plain = {}
    for name, other in others.items():
        for module in MODULES:
            if hasattr(module, name):
                plain[name] = getattr(module, name)
                monkeypatch.setattr(module, name, other)
    return plain
