"""How do the schedules of Table 1 look? One SVG: a panel a schedule, a row a slot, a bar an attempt."""

from __future__ import annotations

from spark_listener.demo.table1 import SLOTS, Bar, Outcome

UNIT_PX, ROW_PX, LEFT_PX, TOP_PX, PANEL_GAP_PX = 16, 20, 58, 34, 44
BEFORE, AFTER = 2.0, 36.0
"""Units shown before and after time 0."""
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #333 } .title { font-weight: 600; font-size: 13px }
.A { fill: #5b8def } .B { fill: #e0913a } .earlier { fill: #b9b9b9 } .copy { stroke: #222; stroke-width: 1.5 }
.lost { fill-opacity: .45 } .axis { stroke: #999; stroke-width: 1 } .end { stroke-dasharray: 3 3 }
@media (prefers-color-scheme: dark) { text { fill: #ddd } .copy { stroke: #eee } .earlier { fill: #666 } }
"""


def svg(outcomes: list[Outcome]) -> str:
    """All panels below each other. Copies have an outline, attempts that were beaten are pale."""
    height = TOP_PX + len(outcomes) * (SLOTS * ROW_PX + PANEL_GAP_PX)
    width = LEFT_PX + (BEFORE + AFTER) * UNIT_PX
    told = "; ".join(f"{one.name}: A ends at {one.measured[0]:.1f}, B at {one.measured[1]:.1f}" for one in outcomes)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{told}">',
        f"<style>{STYLE}</style>",
    ]
    for number, one in enumerate(outcomes):
        parts += _panel(one, TOP_PX + number * (SLOTS * ROW_PX + PANEL_GAP_PX))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(one: Outcome, top_px: float) -> list[str]:
    """Title, rows, and a tick for each time at which a job ends, here and by the paper."""
    bottom_px = top_px + SLOTS * ROW_PX
    title = (
        f"{one.name} ({one.policy}): A ends at {one.measured[0]:.1f}, B at {one.measured[1]:.1f};"
        f" paper {one.paper[0]:g} and {one.paper[1]:g}"
    )
    parts = [f'<text class="title" x="{LEFT_PX}" y="{top_px - 8:g}">{title}</text>']
    parts += [f'<text x="4" y="{top_px + slot * ROW_PX + 14:g}">slot {slot + 1}</text>' for slot in range(SLOTS)]
    parts += [_bar(bar, top_px) for bar in sorted(one.bars, key=lambda bar: bar.won) if bar.end > -BEFORE]
    parts.append(f'<line class="axis" x1="{LEFT_PX}" x2="{_x(AFTER):g}" y1="{bottom_px:g}" y2="{bottom_px:g}"/>')
    for units in (0.0, *one.paper):
        parts.append(
            f'<line class="axis end" x1="{_x(units):g}" x2="{_x(units):g}" y1="{top_px:g}" y2="{bottom_px:g}"/>'
        )
        parts.append(f'<text x="{_x(units):g}" y="{bottom_px + 14:g}" text-anchor="middle">{units:g}</text>')
    return parts


def _bar(bar: Bar, top_px: float) -> str:
    """An attempt, cut where the panel ends, with its task's name if there is room for it."""
    start, end = max(bar.start, -BEFORE), min(bar.end, AFTER)
    kinds = ["earlier" if bar.task <= 0 else bar.job, *["copy"] * bar.copy, *["lost"] * (not bar.won)]
    y_px, width_px = top_px + bar.slot * ROW_PX, (end - start) * UNIT_PX
    name = f"{bar.job}{bar.task}{' copy' if bar.copy else ''}" if bar.task > 0 and width_px > 60 else ""
    place = f'x="{_x(start):g}" y="{y_px + 2:g}" width="{width_px:g}" height="{ROW_PX - 4}"'
    rect = f'<rect class="{" ".join(kinds)}" {place} rx="2"/>'
    return f'{rect}<text x="{_x(start) + 5:g}" y="{y_px + 14:g}">{name}</text>' if name else rect


def _x(units: float) -> float:
    return LEFT_PX + (units + BEFORE) * UNIT_PX
