"""Is the M/G/c approximation Erlang's for whole numbers of servers, and sound at its limits?"""

from dataclasses import replace
from math import exp, factorial, fsum, inf, isinf

import pytest

from controlplane.policies.redundancy.theory.execution import Execution
from controlplane.policies.redundancy.theory.queue import (
    busy_share,
    queueing_probability,
    response_time_s,
)
from controlplane.policies.redundancy.theory.redundant_small import redundant_small
from controlplane.policies.redundancy.theory.system import System, arrival_rate

pytestmark = pytest.mark.unit

SYSTEM = System()


def erlang_c(servers: int, busy: float) -> float:
    """The textbook sum."""
    work = servers * busy
    last = work**servers / factorial(servers) / (1 - busy)
    return last / (fsum(work**i / factorial(i) for i in range(servers)) + last)


@pytest.mark.parametrize("busy", [0.05, 0.5, 0.95])
@pytest.mark.parametrize("servers", [1, 2, 7, 60])
def test_whole_servers_queue_as_erlang_says(servers, busy):
    """Equation (9) is the same sum, in gamma functions."""
    assert queueing_probability(servers, busy) == pytest.approx(erlang_c(servers, busy), rel=1e-8)


def test_servers_need_not_be_whole_nor_few():
    """The paper's c is a ratio of means; 5,000 servers overflow e^x and x^c unless reckoned in logarithms."""
    assert erlang_c(8, 0.8) < queueing_probability(7.5, 0.8) < erlang_c(7, 0.8)
    assert 0 < queueing_probability(5000, 0.99) < 1
    assert queueing_probability(5000, 0.5) == pytest.approx(0.0, abs=1e-100)


def test_queueing_vanishes_at_large_scale():
    """Equation (10) says that it tends to the load; with the load fixed it tends to 0."""
    chances = [queueing_probability(servers, 0.8) for servers in (1, 20, 200)]
    assert chances == [pytest.approx(0.8), pytest.approx(0.256, abs=5e-4), pytest.approx(1.4e-3, abs=5e-5)]
    assert queueing_probability(20, 0.999) == pytest.approx(0.999, abs=0.01)


def test_nothing_and_everything_busy():
    """An idle system never queues; a full one always does."""
    assert (queueing_probability(10, 0.0), queueing_probability(10, 1.0)) == (0.0, 1.0)


def test_one_server_of_exponential_jobs_is_the_textbook_queue():
    """M/M/1: E[T] = E[X] / (1 - rho)."""
    system = System(nodes=1, slots_per_node=1, max_tasks=1)
    mean_s = 22.5
    run = Execution(latency=mean_s, latency_squared=2 * mean_s**2, cost=mean_s)
    assert response_time_s(system, 0.75, run) == pytest.approx(mean_s / 0.25)


def test_all_jobs_expanded_is_stable_up_to_its_known_load():
    """r = 2: the paper finds instability beyond 0.6, the formula from 0.6304 on."""
    run = redundant_small(SYSTEM, 2.0, inf)
    limit = 1 / busy_share(SYSTEM, 1.0, run)
    assert limit == pytest.approx(0.6304, abs=5e-5)
    assert busy_share(SYSTEM, limit, run) == pytest.approx(1.0)
    assert response_time_s(SYSTEM, limit * 0.999, run) < inf
    assert isinf(response_time_s(SYSTEM, limit * 1.001, run))


def test_without_load_a_job_takes_its_latency():
    """Nobody waits."""
    run = redundant_small(SYSTEM, 2.0, 0.0)
    assert response_time_s(SYSTEM, 0.0, run) == run.latency


@pytest.mark.parametrize(
    "tails", [{"slowdown_tail_index": 2.0}, {"slowdown_tail_index": 0.9}, {"service_tail_index": 2.0}]
)
def test_waiting_is_infinite_where_a_moment_is(tails):
    """Equation (11) needs the second moment of latency."""
    system = replace(SYSTEM, **tails)
    run = redundant_small(system, 2.0, 0.0)
    assert isinf(response_time_s(system, 0.5, run))
    assert isinf(response_time_s(system, 0.0, run)), "without load, as with the least of it"


def test_the_offered_load_counts_first_copies_only():
    """rho0 is rho when no job is expanded."""
    assert busy_share(SYSTEM, 0.7, redundant_small(SYSTEM, 2.0, 0.0)) == pytest.approx(0.7)
    assert arrival_rate(SYSTEM, 0.7) == pytest.approx(0.7 * 200 / 76.8189, rel=1e-5)


def test_gamma_is_taken_where_it_is_defined():
    """A hundredth of a server at little load: e^x Gamma(c, x) / x^c, reckoned directly."""
    servers, busy = 0.5, 0.3
    work = servers * busy
    from scipy.integrate import quad

    upper = quad(lambda u: u ** (servers - 1) * exp(-u), work, inf)[0]
    direct = 1 / (1 + (1 - busy) * servers * exp(work) * upper / work**servers)
    assert queueing_probability(servers, busy) == pytest.approx(direct)
