"""Which seeds are run, and how is what they come to written down? What the commands of all simulators share."""

from typing import Any

from controlplane.model.errors import BadSetting

MOST_SEEDS = 10_000
LARGEST_SEED = 2**53
"""What JSON can hold exactly."""


def parse_seeds(text: str) -> list[int]:
    """The seeds meant by "7", "1,5,9" or "1..20". Raises BadSetting, also for one that is there twice.

    The same run again is no further evidence: it would only make standard errors look smaller.

    >>> parse_seeds("1..3,9")
    [1, 2, 3, 9]
    """
    seeds: list[int] = []
    try:
        for part in text.split(","):
            first, dots, last = part.partition("..")
            low, high = int(first), int(last if dots else first)
            if not 0 <= low <= high <= LARGEST_SEED or high - low + len(seeds) >= MOST_SEEDS:
                raise ValueError
            seeds.extend(range(low, high + 1))
        if len(set(seeds)) < len(seeds):
            raise ValueError
    except ValueError:
        want = f'numbers, each once, as in "1..20" or "1,5,9", at most {MOST_SEEDS} of them'
        raise BadSetting("seeds", got=text, want=want) from None
    return seeds


def jsonable(value: Any) -> Any:
    """The same with "inf" for infinity and null for what is not a number.

    >>> jsonable({"threshold_s": float("inf"), "errors": [float("nan"), 1.0]})
    {'threshold_s': 'inf', 'errors': [None, 1.0]}
    """
    match value:
        case dict():
            return {name: jsonable(one) for name, one in value.items()}
        case list() | tuple():
            return [jsonable(one) for one in value]
        case float() if value != value:
            return None
        case float() if value in (float("inf"), float("-inf")):
            return str(value)
    return value
