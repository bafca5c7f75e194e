"""Are waiting originals ordered by what their policy is shown, and is the order said as often as a host needs it?"""

from dataclasses import replace

import numpy as np
import pytest

from controlplane.engine.waiting import MOST_NAMED, view_waiting
from controlplane.model import facts as f
from controlplane.model.decisions import ModeSet
from controlplane.model.orders import RunNext
from controlplane.model.parameters import EngineSettings
from controlplane.model.reasons import Action
from controlplane.policies import registry
from tests.scenario import SOURCE, SPARK, Scenario

pytestmark = pytest.mark.unit

TTL_MS = 6000


class Ordering:
    """A speculator that names what it is told to, the last index first, and keeps what it has been shown."""

    def __init__(self, patch: pytest.MonkeyPatch, speculator: str = "ras") -> None:
        self.wants, self.seen = np.isfinite, None
        plain = registry.speculator

        def ordering(name: str):
            policy = plain(name)
            return replace(policy, order_waiting=print, orders_bounded=False) if name == speculator else policy

        patch.setattr(registry, "speculator", ordering)
        patch.setattr("controlplane.policies.dispatch.order_waiting", self._order_waiting)

    def _order_waiting(self, _code, seen, _settings, answer):
        self.seen = seen
        answer["named"], answer["score"] = self.wants(seen.waiting["index"]), seen.waiting["index"]


@pytest.fixture
def policy(monkeypatch):
    """In place of RAS."""
    return Ordering(monkeypatch)


def begin(mode: f.Mode = f.Mode.CONTROL, n_tasks: int = 6, **more) -> tuple[Scenario, list[list[int]]]:
    """A driver with eight slots and a stage that waits whole."""
    scenario = Scenario(EngineSettings(mode=mode, grant_ttl_ms=TTL_MS), **more)
    return scenario, told(scenario.stage(n_tasks))


def told(decision) -> list[list[int]]:
    """The orders of one cycle."""
    return [order.indices for order in decision.orders.get(SOURCE, []) if isinstance(order, RunNext)]


def test_a_full_report_and_a_mode_that_allows_it_have_the_order_said_again(policy):
    """A driver that has started again holds none of its leases; one in shadow was never given any, so it is news."""
    scenario, first = begin()
    order = [[5, 4, 3, 2, 1, 0]]
    assert (first, told(scenario.tell())) == (order, [])
    everything = [scenario.attached, *scenario.executors, f.JobSubmitted(job="job")]
    stage = f.StageSubmitted(job="job", stage=1, stage_attempt=0, n_tasks=6, kind="shuffle_map", name="stage 1")
    assert told(scenario.tell([*everything, stage], full=True)) == order
    shadow, none = begin(f.Mode.SHADOW)
    shadow.handle(ModeSet(mode=f.Mode.CONTROL))
    assert (none, told(shadow.tell())) == ([], order)
    assert [each.order > 0 for each in shadow.records() if each.action is Action.RUN_NEXT] == [False, True]


def test_an_order_that_is_not_wanted_any_more_is_ended(policy):
    """An empty one takes its place at once, for the lease would go on for seconds; then there is nothing to say."""
    scenario, _ = begin()
    policy.wants = lambda indices: indices < 0
    assert [told(scenario.tell()), told(scenario.tell())] == [[[]], []]


def test_of_many_the_next_are_named_once_half_of_the_named_have_started(policy):
    """One order for each start would be a message for each task."""
    scenario, (first,) = begin(n_tasks=3 * MOST_NAMED, hosts=2, slots=MOST_NAMED)
    assert first == list(range(3 * MOST_NAMED - 1, 2 * MOST_NAMED - 1, -1))
    half = MOST_NAMED // 2
    assert told(scenario.tell([scenario.started(i, 0, index=i) for i in first[:half]])) == []
    (later,) = told(scenario.tell([scenario.started(first[half], 0, index=first[half])]))
    assert later == list(range(first[half] - 1, first[half] - 1 - MOST_NAMED, -1))


@pytest.mark.parametrize(
    "more",
    [
        {"capabilities": f.Capabilities(max_copies=4, named_host=True, kill_copy=True)},
        {"user_mode": f.Mode.OFF},
        {"n_tasks": 1},
    ],
    ids=["host-cannot", "off", "nothing-to-order"],
)
def test_no_policy_is_asked_where_its_order_would_change_nothing(policy, more):
    """A host that does not heed orders, a user who wants none, and a single task."""
    scenario, orders = begin(**more)
    assert (orders, policy.seen) == ([], None)
    assert Action.RUN_NEXT not in {record.action for record in scenario.records()}


def test_a_job_that_its_user_keeps_is_left_alone(policy):
    """The mode of one job."""
    scenario, _ = begin()
    scenario.tell([f.JobSubmitted(job="kept", mode=f.Mode.OFF)])
    scenario.stage(4, job="kept", stage=2)
    assert {int(row) for row in policy.seen.waiting["stage"]} == {
        scenario.scheduler.cluster.sources[SOURCE].stages[1, 0]
    }


def test_an_order_whose_stage_is_over_was_no_errors(policy):
    """No word of it came from the host; nobody is at fault."""
    scenario, _ = begin()
    scenario.tell([f.StageEnded(stage=1, stage_attempt=0)])
    scenario.now_s = 30.0
    (outcome,) = [each for each in scenario.tell().outcomes if each.kind == "run_next"]
    assert (outcome.result.value, outcome.reason) == ("moot", "what it was about has ended")


def test_a_waiting_task_is_shown_with_its_size_its_time_and_its_hosts(policy):
    """Tasks of 1,000 bytes took 2 s after 0.5 s of start-up; sizes, places and free slots are of each one's own."""
    scenario = Scenario(capabilities=SPARK, hosts=3, slots=2)
    sizes = [1000, 1000, 3000, -1, 500]
    hosts = [[], [], ["h0", "h1", "elsewhere"], ["h2"], []]
    scenario.stage(5, input_bytes=sizes, preferred_hosts=hosts)
    scenario.tell([scenario.started(0, 0), scenario.started(1, 0)])
    cluster = scenario.scheduler.cluster
    row = cluster.sources[SOURCE].stages[1, 0]
    cluster.stages.prior_duration_s[row], cluster.pools.startup_mean_s[0] = 2.0, 0.5
    view = view_waiting(cluster, cluster.stage_infos[row])
    mean = sum(size for size in sizes if size > 0) / 4
    assert view["index"].tolist() == [2, 3, 4]
    assert view["work"].tolist() == pytest.approx([3000, np.nan, 500], nan_ok=True)
    assert view["relative_size"].tolist() == pytest.approx([3000 / mean, 1.0, 500 / mean])
    assert view["t_new_s"].tolist() == pytest.approx([0.5 + 2.0 * size for size in (3000 / mean, 1.0, 500 / mean)])
    assert view["local_hosts"].tolist() == [2, 1, 0]
    assert view["local_free_slots"].tolist() == [2, 2, 0], "both slots of the first host are taken"
    cluster.stages.prior_duration_s[row] = np.nan
    assert np.isinf(view_waiting(cluster, cluster.stage_infos[row])["t_new_s"]).all()


def test_a_policy_that_goes_by_finished_attempts_is_shown_those_of_the_waiting_tasks_stage(monkeypatch):
    """GRASS samples what a fresh attempt takes from them."""
    policy = Ordering(monkeypatch, speculator="mantri")
    scenario = Scenario(EngineSettings(mode=f.Mode.CONTROL, speculator="mantri"))
    scenario.stage(4, input_bytes=1000)
    scenario.tell([scenario.started(0, 0)])
    scenario.now_s = 2.0
    scenario.tell([scenario.ended(0, 2.0, bytes_read=1000)])
    stage = policy.seen.stages[policy.seen.waiting["stage"][0]]
    finished = policy.seen.finished[stage["finished_from"] : stage["finished_to"]]
    assert (finished["duration_s"].tolist(), stage["done"]) == ([2.0], 1)
