"""How long does a job stay, including waiting? The master-worker system as an M/G/c queue.

A job takes E[Cost] / E[Latency] slots on average, so the cluster is c = slots E[Latency] / E[Cost] servers, a number
that need not be whole. The approximation underestimates waiting, since it knows nothing of a head job that waits
for several slots at once; response times stay within 8 % of simulated ones in the paper's system.
"""

from math import inf, log, log1p

from scipy.special import expit, gammaincc, gammaln

from controlplane.policies.redundancy.theory.execution import Execution
from controlplane.policies.redundancy.theory.system import System, arrival_rate

FULL = 1.0 - 1e-12
"""A busy share from which on it is 1, but for rounding."""


def busy_share(system: System, offered_load: float, execution: Execution) -> float:
    """rho: the share of slots kept busy, including spare tasks; from 1 on the queue grows without bound.

    Source: Redundancy and relaunch, section IV, equation (2).
    """
    rate = arrival_rate(system, offered_load)
    return rate * execution.cost / system.slots if rate else 0.0


def queueing_probability(servers: float, busy: float) -> float:
    """Pr{Queueing}: Erlang's C for any positive number of servers, in logarithms so that thousands do not overflow.

    For a fixed load it tends to 0 as servers are added; that it tends to `busy`, equation (10), holds for one
    server only.
    Source: Redundancy and relaunch, section IV, equation (9).

    >>> round(queueing_probability(servers=2, busy=0.5), 9)
    0.333333333
    """
    if busy <= 0.0:
        return 0.0
    if busy >= 1.0:
        return 1.0
    work = servers * busy
    logarithm = (
        log1p(-busy) + log(servers) + work + gammaln(servers) + log(gammaincc(servers, work)) - servers * log(work)
    )
    return float(expit(-logarithm))


def response_time_s(system: System, offered_load: float, execution: Execution, at_large_scale: bool = False) -> float:
    """E[T], approximately; infinite if the system is unstable or a moment does not exist.

    `at_large_scale` puts the load for the probability of queueing, as the paper's "asymptotic" curves do.
    Source: Redundancy and relaunch, section IV, Claim 1, equation (11).
    """
    busy = busy_share(system, offered_load, execution)
    if not (busy < FULL and execution.latency_squared < inf):
        return inf
    if busy == 0.0:
        return execution.latency
    servers = system.slots * execution.latency / execution.cost
    queueing = busy if at_large_scale else queueing_probability(servers, busy)
    idle_rate = arrival_rate(system, offered_load) * (1.0 - busy)
    return execution.latency + execution.variation / 2.0 * queueing * busy / idle_rate
