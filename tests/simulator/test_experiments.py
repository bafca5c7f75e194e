"""Are experiments judged by numbers alone, kept when a run is killed, and shown on one page?"""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from math import nan
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import pytest
from typer.testing import CliRunner

from controlplane.cli.experiments import app
from controlplane.simulator.experiments import EXPERIMENTS, journal
from controlplane.simulator.experiments.drawing import svg
from controlplane.simulator.experiments.experiment import (
    Chart,
    Claim,
    Experiment,
    Finding,
    Results,
    Scale,
    Series,
    Verdict,
)
from controlplane.simulator.experiments.points import Point
from controlplane.simulator.experiments.report import page
from controlplane.simulator.provenance import provenance

BY_ID = {one.id: one for one in EXPERIMENTS}


measured_pairs: list[tuple[int, int]] = []


@dataclass(frozen=True, kw_only=True)
class Square(Point):
    """A point that tells when it is measured."""

    side: int

    def measure(self, seed: int) -> dict[str, int]:
        measured_pairs.append((self.side, seed))
        return {"area": self.side**2}


def squares(name: str, sides: list[int]) -> Experiment:
    return Experiment(
        id=f"geometry/{name}",
        source="Elements, book I",
        statement="Squares <grow>.",
        method="by multiplication",
        points=lambda scale: [Square(side=side, runs=2) for side in sides],
        judge=lambda results: Finding(claims=[_claim(results(Square(side=sides[0], runs=2)) == [{"area": 4}] * 2)]),
    )


def _claim(held: bool) -> Claim:
    return Claim(statement="A claim.", held=held, numbers="4")


def run(experiments: list[Experiment], folder: Path) -> None:
    for point, seed in journal.missing(experiments, Scale.SMOKE, folder):
        journal.keep(point, seed, point.measure(seed), Scale.SMOKE, folder)


@pytest.mark.unit
def test_a_verdict_counts_claims():
    """All, some or none held."""
    verdicts = [
        Finding(claims=[_claim(held) for held in claims]).verdict
        for claims in ([True, True], [None, True], [False, None])
    ]
    assert verdicts == [Verdict.REPRODUCED, Verdict.PARTLY, Verdict.NOT]


@pytest.mark.unit
@pytest.mark.parametrize(
    ("claims", "verdict"),
    [
        ([True, True], Verdict.STAND_IN_HOLDS),
        ([True, None], Verdict.STAND_IN_PARTLY),
        ([False], Verdict.STAND_IN_FAILS),
        ([], Verdict.NONE),
    ],
)
def test_a_stand_in_reproduces_nothing(claims, verdict):
    """Another system than the paper's was measured, whatever it comes to; and what claims nothing has no verdict."""
    one = replace(
        squares("one", [2]),
        judge=lambda results: Finding(claims=[_claim(held) for held in claims], notes=["A note."]),
        stand_in="Squares stand for cubes.",
    )
    found = one.finding(Results(Scale.SMOKE, {}))
    assert found.verdict is verdict
    text = page([(one, found)], Scale.SMOKE)
    assert "Squares stand for cubes." in text
    assert "<li>A note.</li>" in text


@pytest.mark.unit
def test_points_are_measured_once_and_kept(tmp_path):
    """Two experiments share a point; a second run has nothing to do, another scale has."""
    measured_pairs.clear()
    both = [squares("one", [2, 3]), squares("two", [3, 4])]
    run(both, tmp_path)
    run(both, tmp_path)
    assert measured_pairs == [(side, seed) for side in (2, 3, 4) for seed in (1, 2)]
    assert [found.verdict for _, found in journal.findings(both, Scale.SMOKE, tmp_path)] == [
        Verdict.REPRODUCED,
        Verdict.NOT,
    ]
    assert len(journal.missing(both, Scale.FULL, tmp_path)) == 6


@pytest.mark.unit
def test_a_killed_run_goes_on_where_it_was(tmp_path):
    """A line torn by the kill is measured again, and spoils neither the lines before nor those after."""
    measured_pairs.clear()
    one = [squares("one", [2, 3])]
    for seed in (1, 2):
        journal.keep(Square(side=2, runs=2), seed, {"area": 4}, Scale.SMOKE, tmp_path)
    path = tmp_path / "smoke.jsonl"
    path.write_text(path.read_text()[:-20])
    run(one, tmp_path)
    assert measured_pairs == [(2, 2), (3, 1), (3, 2)]
    assert journal.missing(one, Scale.SMOKE, tmp_path) == []


@pytest.mark.unit
@pytest.mark.parametrize(
    "strange", [b"\xff\xfe{", b"7", b"[]", b'{"code": "x"}', b'{"code": 1, "point": [], "seed": "1", "result": 0}']
)
def test_a_line_that_is_none_of_ours_is_passed_over(tmp_path, strange):
    """A disk fault or an editor has left it; sorting drops it."""
    one = [squares("one", [2])]
    run(one, tmp_path)
    path = tmp_path / "smoke.jsonl"
    path.write_bytes(path.read_bytes() + b"\n" + strange)
    assert journal.missing(one, Scale.SMOKE, tmp_path) == []
    journal.sort(Scale.SMOKE, tmp_path)
    assert len(path.read_text().splitlines()) == 2


@pytest.mark.unit
def test_two_runs_in_one_folder_keep_each_others_results(tmp_path):
    """One ends, again and again, and puts the sorted journal in the place of what the other appends to."""
    many = Square(side=2, runs=300)
    with ThreadPoolExecutor() as threads:
        other = threads.submit(lambda: [journal.keep(many, seed, 4, Scale.SMOKE, tmp_path) for seed in many.seeds])
        while not other.done():
            journal.sort(Scale.SMOKE, tmp_path)
    kept = [json.loads(line)["seed"] for line in (tmp_path / "smoke.jsonl").read_text().splitlines() if line]
    assert sorted(kept) == list(many.seeds)


@pytest.mark.unit
def test_results_of_other_code_do_not_count(tmp_path):
    """A number is only as good as the program that made it."""
    run([squares("one", [2])], tmp_path)
    path = tmp_path / "smoke.jsonl"
    path.write_text(path.read_text().replace(provenance().code, "0" * 16))
    assert len(journal.missing([squares("one", [2])], Scale.SMOKE, tmp_path)) == 2


@pytest.mark.unit
def test_ids_are_unique_and_say_their_paper():
    """They are what one types, and what links on the page point to."""
    assert len(BY_ID) == len(EXPERIMENTS)
    wanted = ["table-i", *(f"figure-{number}" for number in range(2, 11))]
    assert {f"redundancy/{what}" for what in wanted} <= set(BY_ID)


@pytest.mark.unit
@pytest.mark.parametrize(
    ("name", "held"),
    [
        ("figure-2", [None]),
        ("table-i", [True, False]),
        ("equation-7", [True, False]),
        ("equation-10", [False]),
        ("equation-12", [True, False]),
    ],
)
def test_formulas_are_judged_as_the_errata_have_it(name, held):
    """Where the print is wrong, the claim does not hold, and what was not tried never does."""
    found = BY_ID[f"redundancy/{name}"].judge(Results(Scale.SMOKE, {}))
    assert [claim.held for claim in found.claims] == held


@pytest.fixture(scope="module")
def smoke() -> Iterator[tuple[Path, float]]:
    """Where `experiment run --scale smoke` has left everything, and the seconds of processor time that it took warm."""
    with TemporaryDirectory() as folder:
        run([BY_ID["hopper/table-1"], BY_ID["redundancy/equation-4"]], Path(folder))
        before_s = process_time()
        told = CliRunner().invoke(app, ["run", "--scale", "smoke", "--folder", folder])
        assert told.exit_code == 0, told.output
        yield Path(folder), process_time() - before_s


@pytest.mark.soak
def test_everything_is_computed_judged_and_reported_in_four_minutes(smoke, record_property):
    """Warm, that is, once the kernels are compiled; by processor time, for others may run on the machine, too."""
    folder, took_s = smoke
    record_property("smoke_cpu_s", round(took_s))
    told = CliRunner().invoke(app, ["report", "--scale", "smoke", "--folder", str(folder)])
    assert told.exit_code == 0, told.output
    text = (folder / "smoke.html").read_text()
    found = journal.findings(EXPERIMENTS, Scale.SMOKE, folder)
    assert len(found) == len(EXPERIMENTS)
    for one, finding in found:
        assert f'<section id="{one.id}">' in text
        assert all(claim.numbers for claim in finding.claims)
        assert one.tried or finding.verdict in (Verdict.REPRODUCED, Verdict.STAND_IN_HOLDS, Verdict.NONE), one.id
    checked = Checked()
    checked.feed(text)
    assert (checked.open, checked.loads) == ([], [])
    assert took_s < 240


@pytest.mark.soak
def test_the_redundancy_paper_comes_out_but_for_its_errata_and_its_agent(smoke):
    """Every claim a small run can decide: the paper's own, less the printed errors and the learning agent's."""
    chosen, folder = [one for one in EXPERIMENTS if one.paper == "redundancy"], smoke[0]
    found = {one.id.partition("/")[2]: found for one, found in journal.findings(chosen, Scale.SMOKE, folder)}
    held = {name: [claim.held for claim in one.claims] for name, one in found.items()}
    assert held["equation-4"] == [False, True]
    assert held["equation-13"] == [True, False, True]
    assert held["figure-3"] == [True, True, True, None]
    assert held["figure-4"] == [True, None]
    assert held["figure-6"][:4] == [True] * 4
    assert held["figure-7"] == [None, True, True]
    assert held["figure-8"][1:] == [True, True]
    assert held["figure-9"] == [True]
    assert held["figure-10"] == [True, True]
    assert held["truncation"] == [True]
    assert held["estimates"] == held["cancelling"] == [True, True]
    assert held["contention"] == [False, False, True]
    assert held["requests"] == [False, True, True, True]
    assert held["heavy-tails"][:2] == [True, True]
    text = page(journal.findings(chosen, Scale.SMOKE, folder), Scale.SMOKE)
    assert text.count("<svg") == sum(len(one.charts) for one in found.values()) > 20


class Checked(HTMLParser):
    """Collects what a page would load, and checks that its elements close."""

    VOID = {"meta", "br", "path", "line", "circle"}

    def __init__(self) -> None:
        super().__init__()
        self.open, self.loads = [], []

    def handle_starttag(self, tag, attrs) -> None:
        self.loads += [value for name, value in attrs if name in ("src", "srcset", "data", "action")]
        self.loads += [value for name, value in attrs if name == "href" and not value.startswith("#")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag) -> None:
        assert tag in self.VOID or self.open.pop() == tag


@pytest.mark.unit
def test_a_report_is_one_page_that_loads_nothing():
    """It can be mailed; what a paper says is text, never markup."""
    one = squares("one", [2])
    chart = Chart(
        title="a < b", x_label="x", y_label="y", series=[Series(label="<i>", x=[1, 2], y=[1, nan], error=[0.1, nan])]
    )
    text = page([(one, Finding(claims=[_claim(True)], charts=[chart]))], Scale.SMOKE)
    checked = Checked()
    checked.feed(text)
    assert (checked.open, checked.loads) == ([], [])
    assert "Squares &lt;grow&gt;." in text
    assert "<grow>" not in text
    assert "unstable" in text
    assert "prefers-color-scheme: dark" in text
    assert provenance().code in text
    assert "@import" not in text
    assert "url(" not in text


@pytest.mark.unit
@pytest.mark.parametrize(("held", "shown"), [(True, False), (False, True)])
def test_a_report_says_what_was_tried_where_it_did_not_come_out(held, shown):
    """A reader who doubts the verdict sees how hard it was looked for; where it came out there is nothing to excuse."""
    one = replace(squares("one", [2]), tried="two <sides>.")
    text = page([(one, Finding(claims=[_claim(held)]))], Scale.SMOKE)
    assert ("Tried: two &lt;sides&gt;." in text) is shown


@pytest.mark.unit
def test_a_series_may_be_several_lines():
    """Where x is not a number one line ends; that row is none of the numbers, and nothing was unstable there."""
    series = Series(label="s", x=[0, 2, nan, 3, 4], y=[1.0, 1.0, nan, 2.0, 2.0])
    chart = Chart(title="t", x_label="x", y_label="y", series=[series])
    path = svg(chart).split('<path d="')[1].split('"')[0]
    assert (path.count("M"), path.count("L")) == (2, 2)
    table = page([(squares("one", [2]), Finding(claims=[_claim(True)], charts=[chart]))], Scale.SMOKE).split(
        "<details>"
    )[1]
    assert table.count("<td>s</td>") == 4
    assert "unstable" not in table


@pytest.mark.unit
def test_a_chart_leaves_gaps_where_there_is_no_number():
    """A line through what was unstable would claim what nobody saw."""
    series = Series(label="s", x=[1, 2, 3, 4, 5], y=[1.0, 2.0, nan, 4.0, 5.0])
    drawn = svg(Chart(title="t", x_label="x", y_label="y", series=[series]))
    path = drawn.split('<path d="')[1].split('"')[0]
    assert (path.count("M"), path.count("L")) == (2, 2)
    assert "nan" not in drawn


@pytest.mark.unit
@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("y", [[3.0, 3.0], [nan, nan], [0.0, 1e-4], [1e-3, 1e6]])
def test_any_numbers_can_be_drawn(y, log):
    """Equal ones, none, none above zero on a logarithmic axis."""
    chart = Chart(title="t", x_label="x", y_label="y", series=[Series(label="s", x=[1, 10], y=y, error=[0.5, 0.5])])
    drawn = svg(replace(chart, log_x=log, log_y=log))
    assert drawn.endswith("</svg>")
    assert "nan" not in drawn
    assert "inf" not in drawn


@pytest.mark.unit
def test_a_journal_is_read_by_anybody(tmp_path):
    """A line is one JSON object with its point and its code, and the same again the next time."""
    run([squares("one", [2])], tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "smoke.jsonl").read_text().splitlines() if line]
    assert [(line["seed"], line["result"]) for line in lines] == [(1, {"area": 4}), (2, {"area": 4})]
    assert {"point", "seed", "version", "commit", "code", "result"} == set(lines[0])
