"""Do the cluster's jobs follow the laws and the trace that they are named after?"""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from controlplane.simulator.cluster.scenario import ClusterScenario
from controlplane.simulator.cluster.summary import tasks_of
from controlplane.simulator.cluster.workloads import Facebook, Synthetic, bing_like
from controlplane.swim_trace import BLOCK_BYTES, blocks, parse_trace
from spark_listener.swim import TRACE_PATH

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("source", "least", "tail_index"),
    [(Synthetic(size_tail_index=1.1, most_tasks=100_000), 5, 1.1), (bing_like(phases=1), 2, 0.9)],
)
def test_synthetic_sizes_have_the_tail_they_are_told(source, least, tail_index):
    """Between the bounds, P(n > x) falls as x to the minus tail index."""
    tasks = tasks_of(source.workload(1, 50_000))
    shares = [np.mean(tasks >= size) for size in (10, 40)]
    assert tasks.min() == least
    assert np.log(shares[0] / shares[1]) / np.log(4.0) == pytest.approx(tail_index, abs=0.05)


def test_the_largest_job_has_1500_tasks(monkeypatch):
    """Hopper's synthetic jobs have no more, unless somebody says otherwise."""
    most = SimpleNamespace(random=np.ones, exponential=lambda mean, n: np.ones(n), choice=lambda weights, n: np.ones(n))
    monkeypatch.setattr(np.random, "default_rng", lambda seed: most)
    assert tasks_of(Synthetic().workload(1, 3)).tolist() == [1500] * 3


def test_every_job_has_its_place_in_every_column():
    """Those of begins have one more for the end."""
    work = Synthetic(phases=3).workload(1, 4)
    assert [len(column) for column in work] == [4, 4, 4, 4, 5, 12, 0, 5, 4, 4, 4]


def test_more_phases_spread_the_same_tasks():
    """A longer DAG is no bigger job."""
    one, four = (Synthetic(phases=phases).workload(1, 2000) for phases in (1, 4))
    assert len(four.phase_tasks) == 4 * len(one.phase_tasks)
    assert tasks_of(four).mean() == pytest.approx(tasks_of(one).mean(), rel=0.05)


def test_half_of_the_jobs_weigh_three_times_as_much_and_are_no_other_jobs_for_that():
    """Fair shares are what weights are for: the same jobs, the heavy ones end sooner and the light ones later."""
    even, uneven = (
        Synthetic(least_tasks=20, most_tasks=200),
        Synthetic(least_tasks=20, most_tasks=200, weights=(1.0, 3.0)),
    )
    light, heavy = (uneven.workload(1, 400).weight == one for one in (1.0, 3.0))
    assert (light | heavy).all()
    assert abs(heavy.mean() - 0.5) < 3 * 0.5 / np.sqrt(400)
    assert uneven.workload(1, 400).phase_tasks.tolist() == even.workload(1, 400).phase_tasks.tolist()
    ended_s = [
        ClusterScenario(policy="fair+none", workload=source, offered_load=0.9, jobs=400, machines=10)
        .run(1)[1]
        .response_s
        for source in (even, uneven)
    ]
    assert ended_s[1][heavy].mean() < ended_s[0][heavy].mean()
    assert ended_s[1][light].mean() > ended_s[0][light].mean()


def test_jobs_come_in_bursts_of_the_mean_size_they_are_told():
    """The same jobs at other times; a burst's size is geometric."""
    even, bursts = (Synthetic(burst_jobs=burst).workload(1, 40_000) for burst in (1.0, 10.0))
    assert even.phase_tasks.tolist() == bursts.phase_tasks.tolist()
    assert (np.diff(even.arrival_s) > 0).all()
    sizes = np.unique(bursts.arrival_s, return_counts=True)[1]
    assert abs(sizes.mean() - 10.0) < 3 * sizes.std() / len(sizes) ** 0.5
    assert np.mean(sizes == 1) == pytest.approx(0.1, abs=0.02)


def test_facebooks_largest_jobs_are_whole_unless_they_are_cut():
    """Two of them are a third of all tasks: what a comparison says of large jobs depends on them."""
    n_jobs = len(parse_trace(TRACE_PATH.read_text()))
    whole, cut = (tasks_of(source.workload(1, n_jobs)) for source in (Facebook(), Facebook(most_tasks=1500)))
    assert np.sort(whole)[-2:].sum() == pytest.approx(whole.sum() / 3, rel=0.1)
    assert (whole == 1).mean() == pytest.approx(0.73, abs=0.005)
    assert cut.max() == 3000


def test_facebook_jobs_are_the_rows_of_the_trace_in_order():
    """A map task for each block up to the most, a second phase where bytes are shuffled, gaps as published.

    A job that shuffles more than twice what it reads counts as one that shuffles twice as much.
    """
    rows, source = parse_trace(TRACE_PATH.read_text()), Facebook(most_tasks=300)
    work = source.workload(3, 200)
    maps = work.phase_tasks[work.first_phase[:-1]]
    wanted = np.array([min(blocks(row.map_input_bytes), 300) for row in rows])
    starts = [at for at in range(len(rows) - 200) if (wanted[at : at + 200] == maps).all()]
    assert len(starts) == 1
    mine = rows[starts[0] : starts[0] + 200]
    assert np.diff(work.first_phase).tolist() == [1 + (row.shuffle_bytes > 0) for row in mine]
    moved = [min(row.shuffle_bytes / max(row.map_input_bytes, BLOCK_BYTES), 2.0) for row in mine]
    assert work.transfer_ratio.tolist() == moved
    assert np.diff(work.arrival_s).tolist() == [b.submit_s - a.submit_s for a, b in pairwise(mine)]


@pytest.mark.parametrize("row", ["job1\t-5\t0\t1\t2\t3", "job1\t5\t0\t1\t2", "job1\t5\t0\t1\t2\tmany", ""])
def test_a_row_that_is_none_of_swims_is_named_by_its_line(row):
    """A simulation of negative bytes would end without a word."""
    with pytest.raises(ValueError, match=r"line 2: got .*, want a job's name and five whole numbers"):
        parse_trace(f"job0\t5\t0\t1\t2\t3\n{row}\n")
