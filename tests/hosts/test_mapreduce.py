"""Does a MapReduce job get a copy in a container of its own, unless its user forbids that?"""

import pytest

from controlplane.model.facts import Capabilities, ExecutorLost
from controlplane.model.orders import LaunchCopy
from tests.scenario import Scenario

pytestmark = pytest.mark.unit


def job(executor_limit: int = 1_000) -> Scenario:
    """Eight containers, each with one attempt."""
    capabilities = Capabilities(max_copies=4, stop_job=True)
    source = "mapreduce:application_1_0001"
    return Scenario(source=source, hosts=8, slots=1, capabilities=capabilities, executor_limit=executor_limit)


def copies(scenario: Scenario, slow: int = 3, **stage: bool) -> list[LaunchCopy]:
    """Orders for a straggler among eight tasks; containers go with their attempts."""
    scenario.stage(8, input_bytes=1000, **stage)
    scenario.start_all(8)
    scenario.now_s = 3.5
    ends = [scenario.ended(index, 3.5, bytes_read=1000) for index in range(8) if index != slow]
    goes = [ExecutorLost(executor=f"e{index}") for index in range(8) if index != slow]
    decisions = [scenario.tell([*ends, *goes], progress={slow: 100})]
    for tenths in range(36, 50):
        scenario.now_s = tenths / 10
        decisions.append(scenario.tell(progress={slow: 3 * tenths}))
    orders = [order for one in decisions for order in one.orders.get(scenario.source, ())]
    return [order for order in orders if isinstance(order, LaunchCopy)]


def test_a_container_comes_for_a_copy_where_each_that_is_there_has_its_task() -> None:
    """Spark's rule would ask for none: its executors are fixed, or there is only this one."""
    assert len(copies(job())) == 1
    assert not copies(job(executor_limit=1))


def test_what_hadoop_may_not_speculate_on_is_not_copied() -> None:
    """mapreduce.map.speculative is the user's word on maps."""
    assert not copies(job(), copies_enabled=False)
