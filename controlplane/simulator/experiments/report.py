"""How are findings shown? One HTML page without other files, light and dark, with the numbers behind each picture."""

from collections.abc import Sequence
from math import isnan

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from controlplane.simulator.experiments.drawing import COLOURS, svg
from controlplane.simulator.experiments.experiment import OWN_SYSTEM, STAND_IN, Experiment, Finding, Scale, Verdict
from controlplane.simulator.provenance import provenance

SCALES = {
    Scale.SMOKE: "a small run that shows how it works; close calls may fall either way",
    Scale.FULL: "as many jobs and runs as the papers took",
}
SIGNS = {
    **dict(zip(OWN_SYSTEM, ("good", "warn", "bad"), strict=True)),
    **dict(zip(STAND_IN, ("soft", "soft", "bad"), strict=True)),
    Verdict.NONE: "soft",
}

HELD = {True: ("good", "held"), False: ("bad", "did not hold"), None: ("soft", "not tried")}


def page(findings: Sequence[tuple[Experiment, Finding]], scale: Scale) -> str:
    """The whole page."""
    environment = Environment(
        loader=PackageLoader(__package__, "."), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    return environment.get_template("report.html").render(
        findings=findings,
        scale=scale,
        scale_in_words=SCALES[scale],
        counts=", ".join(f"{sum(found.verdict is one for _, found in findings)} {one}" for one in Verdict),
        source=provenance(with_engine=any(point.with_engine for one, _ in findings for point in one.points(scale))),
        colours=COLOURS,
        svg=lambda chart: Markup(svg(chart)),  # noqa: S704  # which escapes its texts
        verdict=lambda found: _sign(SIGNS[found.verdict], found.verdict.value),
        sign=lambda claim: _sign(*HELD[claim.held]),
        is_reproduced=lambda found: found.verdict is Verdict.REPRODUCED,
        is_number=lambda value: not isnan(value),
        number=_number,
    )


def _sign(style: str, text: str) -> Markup:
    return Markup('<b class="{}">{}</b>').format(style, text)


def _number(value: float) -> str:
    """Five digits; a gap in a line is told as what made it.

    >>> _number(29.955710)
    '29.956'
    """
    return "unstable" if isnan(value) else f"{value:.5g}"
