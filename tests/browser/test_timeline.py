"""Does the time axis show attempts where they were?"""

from itertools import pairwise

import pytest

from controlplane.api.page.allocation import allocation_chart, held_by
from controlplane.api.page.timeline import Timeline, layout, most_interesting
from controlplane.model.decisions import DecisionRecord
from controlplane.model.facts import Mode, Outcome
from controlplane.model.reasons import Action, Reason
from controlplane.runtime.history import AttemptRecord

pytestmark = pytest.mark.unit


def record(attempt: int, index: int, start_s: float, end_s: float | None = None, **more: object) -> AttemptRecord:
    """An attempt; ended ones were successful unless told."""
    fields = {
        "stage": 0,
        "stage_attempt": 0,
        "attempt_number": 0,
        "executor": "1",
        "host": "h1",
        "speculative": False,
        "order": 0,
        "outcome": None if end_s is None else Outcome.SUCCESS,
    }
    return AttemptRecord(attempt=attempt, index=index, start_s=start_s, end_s=end_s, **(fields | more))


def place(*records: AttemptRecord, now_s: float = 10.0, max_rows: int = 1000, **more: object) -> Timeline:
    """The layout of some attempts."""
    return layout(records, now_s=now_s, max_rows=max_rows, **({"begin_s": 0.0, "t_rem_s": {}, "sick_hosts": ()} | more))


def test_bars_stand_in_proportion_to_time() -> None:
    """The second attempt starts where the first one is half done."""
    timeline = place(record(0, 0, 0.0, 8.0), record(1, 1, 4.0, 8.0))
    first, second = (row.bars[0] for row in timeline.rows)
    assert first.x_pct == 0.0
    assert second.x_pct == pytest.approx(first.width_pct / 2, abs=0.01)
    assert second.x_pct + second.width_pct == pytest.approx(first.width_pct, abs=0.01)
    assert first.width_pct < 100.0


def test_races_come_first_then_what_runs_then_the_slowest() -> None:
    """Rows are sorted by what somebody on call asks about, not by id."""
    raced = (record(0, 0, 0.0, 2.0, outcome=Outcome.KILLED), record(1, 0, 1.0, 2.0, speculative=True))
    timeline = place(*raced, record(2, 1, 0.0, 3.0), record(3, 2, 0.0, 9.0), record(4, 3, 8.0))
    assert [row.index for row in timeline.rows] == [0, 3, 2, 1]
    assert most_interesting(timeline) == 1
    assert most_interesting(place(record(2, 1, 0.0, 3.0))) is None


def test_nothing_is_left_out_where_nothing_ran() -> None:
    """An empty axis says nothing of attempts that it does not show."""
    timeline = place()
    assert (timeline.rows, timeline.left_out) == ([], 0)


def test_a_reason_is_told_of_what_has_failed() -> None:
    """Hosts give one for a success, too; a kill without any has nothing after its time."""
    successful, killed = {"reason": "finished"}, {"outcome": Outcome.KILLED}
    ends = (successful, killed, killed | {"reason": "another won"})
    timeline = place(*(record(n, n, 0.0, 2.0, **end) for n, end in enumerate(ends)))
    labels = [row.bars[0].label for row in timeline.rows]
    assert [label.rsplit("after ")[1] for label in labels] == ["2.0 s", "2.0 s", "2.0 s: another won"]


def test_only_a_race_has_a_winner() -> None:
    """A task that ran once has finished; it has beaten nobody."""
    raced = place(record(0, 0, 0.0, 2.0, outcome=Outcome.KILLED), record(1, 0, 1.0, 2.0, speculative=True))
    assert [bar.won for bar in raced.rows[0].bars] == [False, True]
    assert not place(record(2, 1, 0.0, 3.0)).rows[0].bars[0].won


def test_attempts_of_one_task_never_overlap_on_the_page() -> None:
    """Each attempt has a lane of its own, and rows do not touch."""
    timeline = place(*(record(n, n // 3, 0.0, 5.0) for n in range(9)))
    tops = [bar.y_px for row in timeline.rows for bar in row.bars]
    assert tops == sorted(tops)
    assert min(b - a for a, b in pairwise(tops)) >= 12
    assert tops[-1] + 12 <= timeline.height_px


def test_the_window_ends_at_its_limit_and_says_what_is_left_out() -> None:
    """A job of 1,200 tasks does not draw 1,200 rows."""
    timeline = place(*(record(n, n, 0.0, 5.0) for n in range(1200)))
    assert len(timeline.rows) == 1000
    assert timeline.left_out == 200


def test_a_running_attempt_ends_at_present_with_its_estimate_dotted() -> None:
    """The estimate goes no further than the axis."""
    timeline = place(record(0, 0, 0.0), record(1, 1, 5.0), t_rem_s={0: 0.1, 1: 1e9})
    short, long = (row.bars[0] for row in timeline.rows)
    assert short.state == "running"
    assert 0 < short.ghost_pct < 2
    assert long.x_pct + long.width_pct + long.ghost_pct <= 100.001


def test_a_sick_host_is_named_in_words() -> None:
    """Colour is never the only sign."""
    (row,) = place(record(0, 0, 0.0, 1.0, host="h9"), sick_hosts={"h9"}).rows
    assert row.bars[0].sick
    assert "h9 (sick)" in row.bars[0].label


def test_no_attempts_make_an_empty_timeline() -> None:
    """A job that has just been submitted."""
    assert (place().rows, place().left_out) == ([], 0)


@pytest.mark.parametrize("span_s", [0.01, 0.5, 7.0, 59.0, 3000.0, 1e6])
def test_ticks_are_few_and_within_the_axis(span_s: float) -> None:
    """From a tenth of a second to weeks."""
    ticks = place(record(0, 0, 0.0, span_s)).ticks
    assert 2 <= len(ticks) <= 7
    assert all(0 <= x < 100 for x, _ in ticks)
    assert len({label for _, label in ticks}) == len(ticks)


def grant(at_s: float, target: float, virtual_size: float) -> DecisionRecord:
    """A grant in a pool of four slots."""
    return DecisionRecord(
        id=1,
        cycle=1,
        at_s=at_s,
        mode=Mode.CONTROL,
        policy="hopper+ras",
        action=Action.GRANT,
        reason=Reason.ALLOCATOR,
        source="spark:app-1",
        inputs={"slots": 4.0, "target": target, "virtual_size": virtual_size},
    )


def test_slots_step_where_they_changed_and_stay_inside_the_chart() -> None:
    """Held slots come from the attempts themselves; a virtual size beyond the pool is drawn at its edge."""
    attempts = [record(0, 0, 0.0, 5.0), record(1, 1, 0.0)]
    chart = allocation_chart(
        held_by(attempts, 0.0, 10.0), [grant(5.0, 1.0, 1.0), grant(0.0, 2.0, 9.0)], begin_s=0.0, span_s=10.0, now_s=10.0
    )
    assert chart.held == "M0.00 50.00H50.00V75.00H100.00V100H0Z"
    assert chart.target == "M0.00 50.00H50.00V75.00H100.00"
    assert chart.virtual_size == "M0.00 0.00H50.00V75.00H100.00"


def test_the_lines_end_at_the_present() -> None:
    """The axis may be longer."""
    chart = allocation_chart([(0.0, 1.0)], [grant(0.0, 2.0, 2.0)], begin_s=0.0, span_s=20.0, now_s=5.0)
    assert chart.target.endswith("H25.00")
