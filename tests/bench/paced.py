"""How slow is one attempt in the demo's world? The paced file system's pure function, for the simulated demo."""

from spark_listener.demo.world import World

BITS = 2**64 - 1
SHARE_IN_DATA = {"independent": 0.0, "half": 0.5, "data": 1.0}


def slowdown(world: World, file_name: str, split_start_bytes: int, attempt: int) -> float:
    """The factor, at least 1, by which an attempt at a split is slower than nominal.

    Source: jvm-shim/testkit, `World.slowdown`; both are held to tests/golden/paced_slowdowns.tsv.
    """
    state = _mix(world.seed)
    state = _mix(state ^ _string_hash(file_name))
    state = _mix(state ^ split_start_bytes)
    if _unit(_mix(~state & BITS)) > SHARE_IN_DATA[world.kind]:
        state = _mix(state ^ attempt)
    return float(min(world.max_slowdown, _unit(_mix(state)) ** (-1 / world.tail_index)))


def _string_hash(text: str) -> int:
    """Java's `String.hashCode`, sign-extended to 64 bits."""
    value = 0
    for character in text:
        value = (31 * value + ord(character)) % 2**32
    return (value - 2**32 * (value >= 2**31)) & BITS


def _mix(value: int) -> int:
    """SplitMix64's step."""
    z = (value + 0x9E3779B97F4A7C15) & BITS
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & BITS
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & BITS
    return z ^ (z >> 31)


def _unit(bits: int) -> float:
    """The upper 53 bits as a number in (0, 1]."""
    return ((bits >> 11) + 1) * 2.0**-53
