"""How does a chart look? One SVG per chart, coloured by the page's style sheet, so that it follows light and dark."""

from collections.abc import Callable, Sequence
from html import escape
from math import ceil, floor, isfinite, log10, nan

from controlplane.simulator.experiments.experiment import Chart, Series

WIDTH, HEIGHT = 460, 300
LEFT, RIGHT, TOP, BOTTOM = 58, 20, 30, 46
COLOURS = 6
"""Classes line0 to line5 of the style sheet."""

Axis = Callable[[float], float]


def svg(chart: Chart) -> str:
    """The chart as an <svg> element; its legend is the page's."""
    x_values = [x for one in chart.series for x in one.x]
    y_values = [y for one in chart.series for y in one.y]
    x_ticks, x_at = _axis(x_values, chart.log_x, LEFT, WIDTH - RIGHT)
    y_ticks, y_at = _axis(y_values, chart.log_y, HEIGHT - BOTTOM, TOP)
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(chart.title, quote=True)}">',
        f'<text class="title" x="{LEFT}" y="16">{escape(chart.title)}</text>',
    ]
    for tick in y_ticks:
        y = y_at(tick)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="tick" x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
    for tick in x_ticks:
        x = x_at(tick)
        parts.append(f'<text class="tick" x="{x:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{tick:g}</text>')
    middle = (TOP + HEIGHT - BOTTOM) / 2
    parts.append(_label(chart.x_label, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8))
    parts.append(_label(chart.y_label, 14, middle, f' transform="rotate(-90 14 {middle:.1f})"'))
    parts += [_line(one, number % COLOURS, x_at, y_at) for number, one in enumerate(chart.series)]
    return "".join([*parts, "</svg>"])


def _label(text: str, x: float, y: float, more: str = "") -> str:
    return f'<text class="label" x="{x:.1f}" y="{y:.1f}" text-anchor="middle"{more}>{escape(text)}</text>'


def _line(series: Series, colour: int, x_at: Axis, y_at: Axis) -> str:
    """Its path, broken at gaps; marks and error bars of two standard errors if it has errors."""
    path, pen, marks = [], "M", []
    for row, value in enumerate(series.y):
        x, y = x_at(series.x[row]), y_at(value)
        if not (isfinite(x) and isfinite(y)):
            pen = "M"
            continue
        path.append(f"{pen}{x:.1f} {y:.1f}")
        pen = "L"
        if series.error:
            spread = 2.0 * series.error[row]
            ends = [end if isfinite(end) else y for end in (y_at(value - spread), y_at(value + spread))]
            marks.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6"/>')
            marks.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{ends[0]:.1f}" y2="{ends[1]:.1f}"/>')
    dash = " dashed" if series.dashed else ""
    return f'<g class="line{colour}{dash}"><path d="{"".join(path)}"/>{"".join(marks)}</g>'


def _axis(values: Sequence[float], logarithmic: bool, start: float, end: float) -> tuple[list[float], Axis]:
    """The ticks, and where a value lies between start and end; what has no place lies at not-a-number."""
    known = [value for value in values if isfinite(value) and (value > 0 or not logarithmic)] or [1.0]
    ticks = _log_ticks(min(known), max(known)) if logarithmic else _ticks(min(known), max(known))
    edges = (min(known), max(known)) if logarithmic else (ticks[0], ticks[-1])

    def scaled(value: float) -> float:
        if logarithmic:
            return log10(value) if value > 0 else nan
        return value

    low, span = scaled(edges[0]), scaled(edges[1]) - scaled(edges[0]) or 1.0
    return ticks, lambda value: start + (end - start) * (scaled(value) - low) / span


def _ticks(low: float, high: float) -> list[float]:
    """Four to eight round numbers from at most low to at least high.

    >>> _ticks(0.1, 0.9)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    width = (high - low) or abs(low) or 1.0
    power = 10.0 ** floor(log10(width))
    step = next(power * share for share in (0.1, 0.2, 0.5, 1.0, 2.0) if width / (power * share) <= 6)
    return [round(step * number, 12) for number in range(floor(low / step), ceil(high / step) + 1)]


def _log_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten between low and high; powers only where that makes many.

    >>> _log_ticks(10.0, 120.0)
    [10.0, 20.0, 50.0, 100.0]
    """
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    shares = (1.0, 2.0, 5.0) if len(powers) <= 3 else (1.0,)
    ticks = [share * 10.0**power for power in powers for share in shares]
    return [tick for tick in ticks if low * 0.999 <= tick <= high * 1.001]
