"""Is the YARN demo fair? Same world, streams and YARN for all; only order, policy and speculation differ."""

import pytest

from controlplane.settings import load
from controlplane.yarn_demo import contestants as demo
from controlplane.yarn_demo.applications import ALLOCATION_CONF, MASTER_CONF
from spark_listener.demo.application import COMMON_CONF
from spark_listener.demo.contestants import BEST_STOCK
from spark_listener.swim import read_trace
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


def test_every_job_is_in_one_stream_and_streams_differ_in_size() -> None:
    """Orders of a queue have something to decide only between applications that differ."""
    jobs = demo.workload().jobs
    streams = demo.streams(jobs)
    assert sorted(job.job_id for stream in streams.values() for job in stream) == sorted(job.job_id for job in jobs)
    assert list(streams) == ["large", "medium", "small"], "in this order they are submitted"
    sizes = [sum(job.tasks for job in stream) for stream in streams.values()]
    assert sizes[0] > 2 * sizes[1] > 4 * sizes[2]
    assert all(len(stream) > 2 for stream in streams.values())


def test_jobs_shuffle_nothing() -> None:
    """An executor with shuffle output is kept until Spark has cleaned it, whatever the queue's order."""
    shuffled = {job.job_id: job.shuffle_bytes for job in read_trace()}
    assert not any(shuffled[job.job_id] for job in demo.workload().jobs)


def test_every_node_has_room_for_two_executors_wherever_masters_are() -> None:
    """Else how masters happen to be placed would decide how many slots there are."""
    assert 2 * demo.EXECUTOR_MB + MASTERS_MB <= demo.NODE_MB < 3 * demo.EXECUTOR_MB


def test_only_drivers_of_ours_are_told_to_let_executors_go(tmp_path, monkeypatch) -> None:
    """The setting is the control plane's, so a stock turn, which has none, cannot have it."""
    assert load(None, {}).engine_settings().drain_executors is False
    for contestant in demo.contestants():
        with monkeypatch.context() as patch:
            for name, value in contestant.variables.items():
                patch.setenv(name, value)
            assert load(None, {}).engine_settings().drain_executors is bool(contestant.allocator)


def test_rounds_differ_in_their_seed_only() -> None:
    first, second = demo.worlds(first_seed=7, rounds=2)
    assert (first.seed, second.seed) == (7, 8)
    assert first.sick_host == second.sick_host == demo.SICK_HOST
