"""Does today's engine decide what it decided in real runs? Both demos, on Spark and on YARN, as they were recorded.

`GRASSHOPPER__RUNTIME__RECORD_TO=FOLDER make demo` records one. Where a difference is meant, `python -m
tests.engine.test_recordings` puts today's decisions in place of those; say in the commit what has changed.
"""

import gzip
import math
from itertools import chain
from pathlib import Path

import msgspec
import pytest

from controlplane.model.orders import LaunchCopy
from controlplane.runtime.recorder import Decided
from tests.recording import encode, read, replay

pytestmark = [pytest.mark.unit, pytest.mark.checkout]

RECORDINGS = sorted(Path(__file__).with_name("recordings").iterdir())
SAME = {"rel_tol": 1e-9, "abs_tol": 1e-9}
"""Logarithms and exponentials differ in their last digits from one kind of processor to another."""


def differences(before, now, place=""):
    """Where two decisions, as plain values, are not the same."""
    match before, now:
        case dict(), dict():
            pairs = [(before.get(key), now.get(key), f"{place}.{key}") for key in sorted(before.keys() | now.keys())]
        case list(), list() if len(before) == len(now):
            pairs = [(*pair, f"{place}[{at}]") for at, pair in enumerate(zip(before, now, strict=True))]
        case (float(), float() | int()) | (int(), float()):
            return [] if math.isclose(before, now, **SAME) else [f"{place}: {before} became {now}"]
        case _:
            return [] if before == now else [f"{place}: {before} became {now}"]
    return list(chain.from_iterable(differences(*pair) for pair in pairs))


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name.partition(".")[0])
def test_decisions_are_those_that_were_recorded(path):
    """Orders, records, claims, and when the next cycle is due."""
    n_launched = 0
    for before, now in replay(read(path)):
        pair = msgspec.to_builtins(before), msgspec.to_builtins(now)
        assert differences(*pair, f"cycle {before.decision.cycle}") == []
        n_launched += sum(isinstance(each, LaunchCopy) for orders in now.decision.orders.values() for each in orders)
    assert n_launched > 0


def test_a_difference_is_named_by_its_place():
    before = {"orders": [{"target": 1.0, "job": "j"}], "cycle": 3}
    now = {"orders": [{"target": 1.0 + 1e-12, "job": "k"}], "cycle": 3}
    assert differences(before, now, "cycle 3") == ["cycle 3.orders[0].job: j became k"]
    assert differences(before, {"orders": []}) == [".cycle: 3 became None", f".orders: {before['orders']} became []"]


def decide_again(path: Path) -> None:
    """Put today's decisions into a recording in place of those that differ; all other lines stay as they are."""
    lines = gzip.decompress(path.read_bytes()).splitlines()
    decided = [at for at, entry in enumerate(read(path)) if isinstance(entry, Decided)]
    pairs = zip(decided, replay(read(path)), strict=True)
    differ = {at: now for at, pair in pairs if differences(*map(msgspec.to_builtins, pair)) for now in pair[1:]}
    if differ:
        lines = [encode(differ[at]) if at in differ else line for at, line in enumerate(lines)]
        path.write_bytes(gzip.compress(b"\n".join([*lines, b""]), mtime=0))


if __name__ == "__main__":
    for each in RECORDINGS:
        decide_again(each)
