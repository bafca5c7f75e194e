"""How are numbers written for people? Few digits, a unit, and a dash where nothing is known."""

import math
from dataclasses import dataclass

from controlplane.api.paths import segment

NOTHING = "—"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One number of the strip below a headline."""

    name: str
    value: str
    beside: str = ""


def seconds(value: float | None) -> str:
    """A duration with the unit that reads best.

    >>> [seconds(v) for v in (0.034, 0.1, 2.51, 75, 7300, None)]
    ['34 ms', '0.1 s', '2.5 s', '1 min 15 s', '2 h 1 min', '—']
    """
    if value is None or not math.isfinite(value):
        return NOTHING
    if value < 0.1:
        return f"{value * 1000:.0f} ms"
    if value < 59.95:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def number(value: float | None) -> str:
    """A plain number: without decimals if it is whole, else with three significant digits.

    >>> [number(v) for v in (12.0, -0.0, 1.23456, 12345678, float("nan"))]
    ['12', '0', '1.23', '12,345,678', '—']
    """
    if value is None or not math.isfinite(value):
        return NOTHING
    if value == int(value) or abs(value) >= 1000:
        return f"{int(value):,}"
    return f"{value:.3g}"


def quantity(name: str, value: float | None) -> str:
    """A decision's input, by the unit that its name ends in.

    >>> quantity("t_rem_s", 4.25), quantity("bytes_read", 2_500_000), quantity("rate", 4e6), quantity("saving_s", -2)
    ('4.2 s', '2.5 MB', '4 M/s', '-2.0 s')
    >>> quantity("cost_core_s", 12.0)
    '12 core-s'
    """
    if name.endswith("_core_s"):
        return f"{number(value)} core-s"
    if name.endswith("_s"):
        return f"-{seconds(-value)}" if value is not None and value < 0 else seconds(value)
    if "bytes" in name:
        return size(value)
    if name.endswith("rate") and value is not None and value >= 1000:
        return f"{size(value).replace('B', '').strip()}/s"
    return number(value)


def input_name(name: str) -> str:
    """An input's name without the unit, which follows its value.

    >>> input_name("t_rem_s"), input_name("sibling_rate"), input_name("losing_core_s")
    ('t_rem', 'sibling rate', 'losing')
    """
    bare = name.removesuffix("_core_s").removesuffix("_s")
    return bare if bare.startswith("t_") else words(bare)


def size(value: float | None) -> str:
    """Bytes in decimal units; negative means that the host does not know.

    >>> [size(v) for v in (-1, 999, 64_000_000)]
    ['—', '999 B', '64 MB']
    """
    if value is None or not value >= 0:
        return NOTHING
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if value < 1000 or unit == "TB":
            return f"{value:.3g} {unit}"
        value /= 1000
    raise AssertionError("unreachable: TB takes every size")


def share(part: float, whole: float) -> str:
    """A percentage, 0 of 0 being 0.

    >>> share(1, 3), share(0, 0)
    ('33 %', '0 %')
    """
    return f"{100 * part / whole:.0f} %" if whole else "0 %"


def words(label: str) -> str:
    """A code as words: `launch_copy` reads `launch copy`."""
    return label.replace("_", " ")


def counted(count: float, noun: str) -> str:
    """A count with its noun.

    >>> counted(1, "copy"), counted(3, "copy"), counted(2, "slot")
    ('1 copy', '3 copies', '2 slots')
    """
    plural = noun if count == 1 else noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{number(count)} {plural}"


def job_path(source: str, job: str, *, epoch: int = 0, attempt: int = -1) -> str:
    """Address of a job's page, and there of one run of its source and of one attempt; ids are the users' own text.

    >>> job_path("spark:app-1", "a/b?")
    '/jobs/spark%3Aapp-1/a%2Fb%3F'
    >>> job_path("spark:app-1", "j", epoch=7, attempt=3)
    '/jobs/spark%3Aapp-1/j?epoch=7&attempt=3#why'
    """
    chosen = [f"epoch={epoch}"] * (epoch > 0) + [f"attempt={attempt}"] * (attempt >= 0)
    query = "?" + "&".join(chosen) if chosen else ""
    return f"/jobs/{segment(source)}/{segment(job)}{query}{'#why' if attempt >= 0 else ''}"


_FUNCTIONS = (seconds, number, quantity, size, share, words, counted, input_name, job_path)
FILTERS = {function.__name__: function for function in _FUNCTIONS}
"""What templates may call, by name."""
