"""Do the equations about spare tasks and waiting hold, and Table I? Reckoned, and where it helps simulated."""

from itertools import count

from controlplane.policies.redundancy.theory.execution import coded, plain
from controlplane.policies.redundancy.theory.order_statistics import (
    expanded_tasks,
    free_expansion_rate,
    order_statistic,
    order_statistic_for_many,
    slot_time,
)
from controlplane.policies.redundancy.theory.queue import queueing_probability
from controlplane.policies.redundancy.theory.redundant_small import redundant_small
from controlplane.policies.redundancy.theory.system import job_size_shares, service_moment
from controlplane.simulator.experiments.experiment import Chart, Claim, Finding, Results, Series
from controlplane.simulator.experiments.redundancy.points import SYSTEM, TAIL, agrees, small_up_to, took

TABLE_TASKS, TABLE_TAILS = (6, 10, 14, 18), range(2, 10)


def approximation_error(started: int, needed: int, tail_index: float) -> float:
    """How far (6) is off (5), in per cent of (5)."""
    exact = order_statistic(started, needed, tail_index)
    return 100.0 * abs(order_statistic_for_many(started, needed, tail_index) - exact) / exact


def table_1(results: Results) -> Finding:
    """The error of (6)."""
    cells = {
        (needed, started, tail): approximation_error(started, needed, tail)
        for needed in TABLE_TASKS
        for started in range(needed + 1, 2 * needed, 2)
        for tail in TABLE_TAILS
    }
    far = [cell for cell, error in cells.items() if error > 10.0]
    charts = [
        Chart(
            title=f"Error of (6), k = {needed}",
            x_label="n",
            y_label="error, %",
            series=[
                Series(
                    label=f"tail index {tail}",
                    x=list(range(needed + 1, 2 * needed, 2)),
                    y=[cells[needed, started, tail] for started in range(needed + 1, 2 * needed, 2)],
                )
                for tail in (2, 3, 5, 9)
            ],
        )
        for needed in TABLE_TASKS
    ]
    return Finding(
        claims=[
            Claim(
                statement="The printed table shows the error of (6) for k of 6, 10, 14 and 18 (k = 6, n = 7, tail "
                "index 2: 10.84; k = 18, n = 35, tail index 9: 0.15).",
                held=f"{cells[6, 7, 2]:.2f} {cells[18, 35, 9]:.2f}" == "10.84 0.15",
                numbers=f"{len(cells)} cells; these two are {cells[6, 7, 2]:.2f} and {cells[18, 35, 9]:.2f}",
            ),
            Claim(
                statement="The approximation is within 10 % even for small k.",
                held=not far,
                numbers=f"{len(far)} cells are off by more, all at n = k + 1; at worst by {max(cells.values()):.1f} %",
            ),
        ],
        charts=charts,
    )


def literal_conditioning(rate: float, threshold_s: float) -> tuple[float, float]:
    """E[Latency] and E[Cost] by equations (3) and (4) as printed, which weigh sizes as if no demand were known."""
    sizes, shares = range(1, SYSTEM.max_tasks + 1), job_size_shares(SYSTEM)
    below = [service_moment(SYSTEM, 0, up_to_s=threshold_s / k) for k in sizes]
    small = sum(share * part for share, part in zip(shares, below, strict=True))
    latency = cost = 0.0
    for k, share, part in zip(sizes, shares, below, strict=True):
        mean_low = service_moment(SYSTEM, up_to_s=threshold_s / k) / part if part else 0.0
        mean_high = service_moment(SYSTEM, above_s=threshold_s / k) / (1.0 - part)
        run, kept = coded(k, expanded_tasks(k, rate), TAIL), plain(k, TAIL)
        latency += share * (small * mean_low * run.latency + (1.0 - small) * mean_high * kept.latency)
        cost += share * (small * mean_low * run.cost + (1.0 - small) * mean_high * kept.cost)
    return latency, cost


def equation_4(results: Results) -> Finding:
    """The mean cost under Redundant-small, against a simulation with r = 2 and d = 50."""
    found = took(results, offered_load=0.3, **small_up_to(50.0))
    printed, right = literal_conditioning(2.0, 50.0)[1], redundant_small(SYSTEM, 2.0, 50.0).cost
    return Finding(
        claims=[
            agrees("E[Cost] by (3) and (4) as printed, d = 50", printed, found.cost_s),
            agrees("E[Cost] by the second expression, with Pr{B <= d/k} for each size", right, found.cost_s),
        ]
    )


def equation_7(results: Results) -> Finding:
    """When spare tasks lower the cost."""
    limit = free_expansion_rate(TAIL)
    first = next(k for k in count(1) if slot_time(k + 1, k, TAIL) < slot_time(k, k, TAIL))
    return Finding(
        claims=[
            Claim(
                statement="With a tail index of 3, expanding at a rate below 1.038 lowers the mean cost: for jobs of "
                "many tasks.",
                held=slot_time(1038, 1000, TAIL) < slot_time(1000, 1000, TAIL),
                numbers=f"limit {limit:.4f}; 1,000 tasks cost {slot_time(1038, 1000, TAIL) / 1000:.4f} each, not 1.5",
            ),
            Claim(
                statement="It does so for the jobs of the paper's system, of up to 10 tasks.",
                held=first <= SYSTEM.max_tasks,
                numbers=f"the first size for which one spare task lowers the cost is {first}",
            ),
        ]
    )


def equation_10(results: Results) -> Finding:
    """The probability of queueing at large scale."""
    servers = [1, 2, 5, 10, 20, 50, 100, 200, 500]
    chance = [queueing_probability(count, 0.8) for count in servers]
    return Finding(
        claims=[
            Claim(
                statement="Pr{Queueing} tends to rho as c rho grows with rho fixed.",
                held=abs(chance[-1] - 0.8) < 0.01,
                numbers=f"rho = 0.8: {chance[4]:.3f} for 20 servers, {chance[7]:.1e} for 200: it tends to 0",
            )
        ],
        charts=[
            Chart(
                title="Pr{Queueing} at rho = 0.8",
                x_label="servers",
                y_label="Pr{Queueing}",
                series=[Series(label="equation (9)", x=servers, y=chance, error=[0.0] * len(servers))],
                log_x=True,
            )
        ],
    )
