"""Do Hopper's two jobs end when the paper says, under best effort, under a budget and under Hopper itself?"""

import json
from math import inf
from pathlib import Path

import pytest

from controlplane.policies.registry import allocator, speculator
from tests.golden.event_loop import EventLoop, Task

pytestmark = pytest.mark.unit

TABLE = json.loads(Path(__file__).with_name("hopper_table_1.json").read_text())
CASES = {case["name"]: case for case in TABLE["cases"]}
every_case = pytest.mark.parametrize("name", CASES)
every_figure = pytest.mark.parametrize("name", [name for name, case in CASES.items() if "schedule" in case])


def run(name):
    """The moments at which A and B end, and their tasks."""
    case = CASES[name]
    tasks = [
        Task(job, original_s, TABLE["copy_s"]) for job, all_s in TABLE["original_s"].items() for original_s in all_s
    ]
    loop = EventLoop(
        slots=TABLE["slots"],
        tasks=tasks,
        allocator=allocator(case["allocator"]),
        settings=case["settings"],
        speculator=speculator("ras"),
        seen_after_s=TABLE["seen_after_s"],
        tail_index=TABLE["tail_index"],
        anticipates=case["allocator"] == "hopper",
    )
    return loop.run(), tasks


def schedule(name):
    """(slot, start, end) of each attempt, by its name. Each takes the first free slot of its own kind, else any."""
    _, tasks = run(name)
    attempts, busy_until_s = [], dict.fromkeys(range(1, TABLE["slots"] + 1), 0)
    for job in TABLE["original_s"]:
        for number, task in enumerate((task for task in tasks if task.job == job), start=1):
            attempts.append((task.started_s, False, f"{job}{number}", task.ended_s))
            if task.copied_s < inf:
                attempts.append((task.copied_s, True, f"{job}{number}+", task.ended_s))
    placed = {}
    for start_s, is_copy, attempt, end_s in sorted(attempts, key=lambda each: each[:1]):
        free = [slot for slot, until_s in busy_until_s.items() if until_s <= start_s]
        own = [slot for slot in free if (slot in CASES[name]["copy_slots"]) == is_copy]
        slot = (own or free)[0]
        placed[attempt], busy_until_s[slot] = [slot, start_s, end_s], end_s
    return placed


@every_case
def test_the_jobs_end_when_the_figures_say(name):
    """Only the scheduler that holds one slot for A's copy, and gives it back, serves both jobs."""
    assert run(name)[0] == CASES[name]["ends_s"]


@every_case
def test_the_straggler_of_a_gets_its_copy_when_a_slot_is_there(name):
    """It shows after 2 time units; best effort has no slot for it until the first tasks end at 10."""
    assert run(name)[1][3].copied_s == CASES[name]["a4_copied_s"]


@every_figure
def test_attempts_stand_in_the_figures_slots(name):
    """A copy and its original end together; a budget keeps three slots for copies, Hopper one until 2."""
    assert schedule(name) == CASES[name]["schedule"]


@every_figure
def test_the_axis_names_moments_at_which_attempts_start_or_end(name):
    """The last of them is the end of the last job."""
    moments = {moment for _, *span in schedule(name).values() for moment in span}
    assert set(CASES[name]["axis_s"]) <= moments
    assert max(CASES[name]["axis_s"]) == max(moments)


def test_under_the_budget_two_slots_lie_fallow():
    """Slots 6 and 7, from 0 to 12, for no task needs a second copy."""
    assert {
        min(start_s for at, start_s, _ in schedule("budgeted, 3 of 7").values() if at == slot) for slot in (6, 7)
    } == {12}


def test_footnote_2_the_straggler_has_twice_as_long_to_go_as_a_copy_takes():
    """At 10 its t_rem is 30 - 10 = 20, more than the 10 of a copy, which ends at 20 with it."""
    a4 = run("best effort")[1][3]
    assert (a4.started_s + a4.original_s - a4.copied_s, a4.copy_s, a4.ended_s) == (20, 10, 20)


def test_hopper_has_the_best_mean():
    """Means of 25, 22 and 17 time units."""
    means = [sum(run(name)[0].values()) / 2 for name in ("best effort", "budgeted, 3 of 7", "hopper")]
    assert means == [25, 22, 17]
