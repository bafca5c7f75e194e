"""Does GRASS's example of error bounds come out: GS is quicker under a loose one, RAS under a tight one?

The numbers are a reconstruction, which makes each choice that the paper describes, and are not the paper's. Its bounds
are numbers of tasks, as in the caption: that calls 40 % of six three, of which the engine makes four.
"""

import json
from pathlib import Path

import pytest

from tests.golden.grass_example import Example, Runs

pytestmark = pytest.mark.unit

FIGURE = json.loads(Path(__file__).with_name("grass_figure_2.json").read_text())


def example(policy: str, tasks: str) -> Example:
    """The job when T2 has ended."""
    begins_s = FIGURE["begins_s"]
    return Example(
        policy=policy,
        slots=FIGURE["slots"],
        done=FIGURE["done"],
        running=[Runs([begins_s + task["t_rem_s"]], task["t_new_s"]) for task in FIGURE["running"].values()],
        waiting_s=list(FIGURE["waiting_s"]),
        now_s=begins_s,
        wanted=int(tasks),
    )


@pytest.mark.parametrize("tasks", FIGURE["ends_s_by_tasks"])
@pytest.mark.parametrize("policy", ["gs", "ras"])
def test_figure_2(policy, tasks):
    """A copy of T3 ends sooner, and costs the slot time that the fourth task would have needed."""
    assert example(policy, tasks).play().now_s == FIGURE["ends_s_by_tasks"][tasks][policy]


def test_ras_copies_nothing_and_starts_what_a_tight_bound_still_needs():
    """7 - 2 * 4 < 0, so T4 gets the slot."""
    started = example("ras", "4")
    assert started._start_one()
    assert [len(task.ends_s) for task in started.running] == [1, 1, 1]


def test_under_a_loose_bound_ras_asks_for_nothing_and_a_host_may_start_what_it_likes():
    """T1 and T3 are enough. The pseudocode takes its share of the unfinished tasks, names T4, too, and then takes 11.

    So it does on a host: that starts originals which nobody named, once those that were have started.
    """
    started = example("ras", "3")
    assert not started._start_one()
    t_new_s = started.waiting_s.pop()
    started.running.append(Runs([started.now_s + t_new_s], t_new_s))
    assert started.play().now_s == 11.0


def test_gs_copies_the_task_of_the_highest_t_rem():
    """T3, under both bounds; T1 would end sooner than its copy."""
    for tasks in FIGURE["ends_s_by_tasks"]:
        started = example("gs", tasks)
        assert started._start_one()
        assert [len(task.ends_s) for task in started.running] == [1, 2]
