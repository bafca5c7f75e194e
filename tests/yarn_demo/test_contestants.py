"""Is the YARN demo fair? Same world, jobs and YARN for all; only order, policy and speculation differ."""

import pytest

from controlplane.yarn_demo import contestants as demo
from controlplane.yarn_demo.applications import ALLOCATION_CONF, MASTER_CONF
from spark_listener.demo.application import COMMON_CONF
from spark_listener.demo.contestants import BEST_STOCK
from yarn_bridge.install_conf import ORDERING_POLICY

pytestmark = pytest.mark.unit
MASTERS_MB = 3 * 320
POLICY_KEY = "yarn.scheduler.capacity.root.default.ordering-policy"


def test_contestants_are_two_stock_orders_and_two_policy_pairs() -> None:
    orders = {one.name: demo.order_of(one)[POLICY_KEY] for one in demo.contestants()}
    assert orders == {
        "stock-fifo": "fifo",
        "stock-fair": "fair",
        "fair+late": ORDERING_POLICY,
        "hopper+ras": ORDERING_POLICY,
    }


def test_stock_speculates_at_its_best_and_no_contestant_changes_anything_else() -> None:
    """Otherwise a contestant could win by something that is not scheduling."""
    fifo, fair, late, hopper = demo.contestants()
    assert fifo.spark_conf == fair.spark_conf == BEST_STOCK.spark_conf()
    assert late.spark_conf == hopper.spark_conf == {}
    assert not set(fifo.spark_conf) & {*COMMON_CONF, *ALLOCATION_CONF, *MASTER_CONF}


def test_jobs_are_of_different_sizes_and_arrive_together() -> None:
    jobs = demo.workload().jobs
    assert [job.arrival_s for job in jobs] == [0.0, 0.0, 0.0]
    assert len({job.tasks for job in jobs}) == 3


def test_every_node_has_room_for_one_executor_wherever_masters_are() -> None:
    """Else how masters happen to be placed would decide how many slots there are."""
    assert demo.EXECUTOR_MB + MASTERS_MB <= demo.NODE_MB < 2 * demo.EXECUTOR_MB


def test_rounds_differ_in_their_seed_only() -> None:
    first, second = demo.worlds(first_seed=7, rounds=2)
    assert (first.seed, second.seed) == (7, 8)
    assert first.sick_host == second.sick_host == demo.SICK_HOST
