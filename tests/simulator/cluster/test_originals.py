"""Do the originals of a simulated phase start in the order that a speculator wants?"""

from dataclasses import replace

import numpy as np
import pytest

from controlplane.policies.seen import Seen
from controlplane.simulator.cluster import events, originals
from controlplane.simulator.cluster.inputs import with_inputs
from controlplane.simulator.cluster.originals import order_originals, see_originals
from controlplane.simulator.cluster.scenario import ClusterScenario
from controlplane.simulator.cluster.state import empty_state
from tests.simulator.cluster.test_scenario import Later

pytestmark = pytest.mark.unit

SCENARIO = ClusterScenario(
    policy="fair+none", jobs=2, machines=4, slots_per_machine=1, launch_s=0.5, slowdown_tail_index=2.0,
    workload=Later(original_s=((9.0, 4.0, 6.0, 5.0), (8.0, 7.0)), copy_s=1.0),
)  # fmt: skip


def plain(kernel):
    """It as plain Python."""
    return getattr(kernel, "py_func", kernel)


class Waiting:
    """Two jobs of four and of two tasks, of which the first two of the one have started."""

    def __init__(self, scenario: ClusterScenario, monkeypatch: pytest.MonkeyPatch) -> None:
        self.work, self.world = scenario.workload.workload(1, scenario.jobs), scenario.world(1)
        self.policy = scenario._policy(self.work.phase_tasks)._replace(orders_waiting=True, orders_bounded=False)
        with np.errstate(over="ignore"):
            self.state = with_inputs(empty_state(4, 2), self.work, self.world, is_ordered=True)
            for _ in range(2):
                events.arrive(self.work, self.world, self.policy, self.state)
        self.state.jobs["n_started"][self.state.active[0]] = 2
        self.seen = None
        monkeypatch.setattr(originals, "order_waiting", self.order_waiting)

    def order(self, named: list[int], score: list[float]) -> list[list[int]]:
        """What the two jobs' orders are, where a speculator gives these answers, by row of what it is shown."""
        self.named, self.score = named, score
        with np.errstate(over="ignore"):
            shown = plain(see_originals)(self.work, self.world, self.policy, self.state)
            plain(order_originals)(self.work, self.policy, self.state, Seen(waiting=shown))
        return [part.tolist() for part in np.split(self.state.start_order, self.state.first_order[1:-1])]

    def order_waiting(self, _code, seen, _settings, answer):
        self.seen = seen.waiting.copy()
        answer["named"][self.named], answer["score"][: len(self.score)] = True, self.score


def test_named_originals_go_first_the_highest_score_before_the_others(monkeypatch):
    """Those that run keep their places; what is not named follows by its number."""
    waiting = Waiting(SCENARIO, monkeypatch)
    assert waiting.order(named=[1, 2, 3], score=[9.0, 1.0, 5.0, 6.0]) == [[0, 1, 3, 2], [1, 0]]
    assert waiting.order(named=[], score=[]) == [[0, 1, 2, 3], [0, 1]]


def test_of_equal_scores_the_lower_number_goes_first(monkeypatch):
    """As the engine has it."""
    assert Waiting(SCENARIO, monkeypatch).order(named=[0, 1, 2, 3], score=[1.0] * 4) == [[0, 1, 2, 3], [0, 1]]


def test_originals_of_jobs_without_a_bound_are_not_shown_to_who_orders_bounded_ones(monkeypatch):
    """The second job has a deadline; its tasks are the only ones that are shown."""
    waiting = Waiting(SCENARIO, monkeypatch)
    waiting.policy = waiting.policy._replace(orders_bounded=True)
    waiting.work.deadline_s[1] = 9.0
    assert waiting.order(named=[1], score=[0.0, 1.0]) == [[0, 1, 2, 3], [1, 0]]
    assert waiting.seen["job"].tolist() == [waiting.state.active[1]] * 2


@pytest.mark.parametrize(
    ("speculator", "t_new_s"), [("none", [2.5] * 4), ("clairvoyant", [6.5, 5.5, 8.5, 7.5])]
)  # fmt: skip
def test_what_an_original_will_take_is_its_phases_mean_unless_it_is_foreseen(speculator, t_new_s, monkeypatch):
    """1 s at least and twice that on average, and half a second to launch; who foresees knows each task's own."""
    waiting = Waiting(replace(SCENARIO, policy=f"fair+{speculator}"), monkeypatch)
    waiting.order(named=[], score=[])
    assert waiting.seen["t_new_s"].tolist() == t_new_s
    assert waiting.seen["index"].tolist() == [2, 3, 0, 1]
    assert waiting.seen["local_hosts"].tolist() == [0] * 4


def test_free_slots_beside_the_input_are_shown(monkeypatch):
    """Two machines hold each input; of the four, one has no free slot."""
    waiting = Waiting(replace(SCENARIO, replicas=2), monkeypatch)
    waiting.state.free_on[1] = 0
    waiting.order(named=[], score=[])
    homes = waiting.state.homes[[2, 3, 4, 5]]
    assert waiting.seen["local_hosts"].tolist() == [2] * 4
    assert waiting.seen["local_free_slots"].tolist() == (homes != 1).sum(axis=1).tolist()
