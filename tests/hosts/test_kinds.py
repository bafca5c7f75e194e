"""Is a kind of host a file and an entry in the table? One from elsewhere is driven through the engine."""

import pytest

from controlplane.hosts import KINDS
from controlplane.hosts.kind import Kind, Verdict
from controlplane.model.facts import StageSubmitted
from controlplane.model.reasons import Reason
from tests.scenario import Scenario

pytestmark = pytest.mark.unit

SINKS = {"shuffle_map": Verdict(Reason.NONE, "kept apart"), "result": Verdict(Reason.UNSAFE_OUTPUT, "a tape")}


def of_toys(stage: StageSubmitted) -> Verdict:
    """The other way around than Spark's: what it says of actions and writers is not asked."""
    return SINKS[stage.kind]


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its sources are `toys:...`."""
    monkeypatch.setitem(KINDS, "toys", Kind(name="toys", verdict=of_toys, python_operators=("Snake",)))


@pytest.mark.parametrize("kind", SINKS)
def test_whether_a_stage_may_run_twice_is_its_hosts_word(kind: str) -> None:
    scenario = Scenario(source="toys:box")
    scenario.stage(8, input_bytes=1000, kind=kind, action="collect", operators="SnakeEval")
    scenario.start_all(8)
    orders = scenario.go_on(3, 8, 4.0)
    (stage,) = scenario.scheduler.snapshot(scenario.now_s).pools[0].jobs[0].stages
    assert (stage.verdict_reason, len(orders) > 0) == (SINKS[kind].because, kind == "shuffle_map")
    (info,) = scenario.scheduler.cluster.stage_infos.values()
    assert info.in_python


def test_no_executor_comes_for_a_copy_where_the_host_does_not_say_so() -> None:
    """Spark's driver with one executor would get another one."""
    spark, toys = (Scenario(source=source, hosts=1, slots=8, executor_limit=4) for source in ("spark:a", "toys:a"))
    assert (len(spark.run_with_straggler()), len(toys.run_with_straggler())) == (1, 0)
