"""Which figures, tables and equations of "redundancy and relaunch" are tried?"""

from functools import partial

from controlplane.simulator.experiments.experiment import Experiment, experiment
from controlplane.simulator.experiments.redundancy import formulas, relaunching, spare_tasks
from controlplane.simulator.experiments.redundancy.points import (
    ALL_THREE,
    ALL_TWICE,
    NONE,
    RELAUNCH,
    SMALL,
    SMALL_THREE,
    by_load,
    common_factor,
    plan,
    small_up_to,
)

SIMULATED = "means over runs of the master-worker simulator"
_experiment = partial(experiment, "redundancy", "Redundancy and relaunch")
EXPERIMENTS: tuple[Experiment, ...] = (
    _experiment(
        "Figure 2",
        "III, Figure 2",
        "How fast Deep Q-learning settles down on a policy depends on the load.",
        "not at all: Grasshopper has no learning agent; its policies are formulas.",
        spare_tasks.figure_2,
    ),
    _experiment(
        "Figure 3",
        "III, Figure 3",
        "Redundant-all is best at low load and destabilises the system beyond 0.6; Redundant-small adapts.",
        f"{SIMULATED}; in place of the learned policy, Redundant-small with three spare tasks and d* by (11).",
        spare_tasks.figure_3,
        by_load(NONE, ALL_THREE, SMALL_THREE),
    ),
    _experiment(
        "Figure 4",
        "III, Figure 4",
        "The tail of the slowdowns is lightest under Redundant-all at low load.",
        "one run for each line, as in the paper; in place of the learned policy as for figure 3.",
        spare_tasks.figure_4,
        spare_tasks.figure_4_points,
    ),
    _experiment(
        "Figure 5",
        "III, Figure 5",
        "The learned policy adds fewer tasks for larger demand and higher load.",
        "the best threshold d* by (11), r = 2, in place of the learned policy.",
        spare_tasks.figure_5,
    ),
    _experiment(
        "Table I",
        "IV, Table I",
        "E[S_n:k] is approximated within 10 % by (6) even for small k.",
        "(5) and (6), 192 cells.",
        formulas.table_1,
    ),
    _experiment(
        "Equation 4",
        "IV, Equation 4",
        "The mean cost under Redundant-small is the mean over K of conditional means.",
        f"(3) and (4) as printed, the second expression of the section, and {SIMULATED}.",
        formulas.equation_4,
        lambda scale: [plan(scale, offered_load=0.3, **small_up_to(50.0))],
    ),
    _experiment(
        "Equation 7",
        "IV, Equation 7",
        "Expanding jobs at a rate below 1 / (1 - a^-a) lowers the mean cost.",
        "(5) with whole numbers of tasks.",
        formulas.equation_7,
    ),
    _experiment(
        "Equation 10",
        "IV, Equation 10",
        "At large scale the probability of queueing is the load.",
        "(9) for more and more servers.",
        formulas.equation_10,
    ),
    _experiment(
        "Figure 6",
        "IV, Figure 6",
        "E[T] over the threshold d is followed by the M/G/c approximation, whose d* is right.",
        f"{SIMULATED}, r = 2; (11) with (9) and with (10).",
        spare_tasks.figure_6,
        spare_tasks.figure_6_points,
    ),
    _experiment(
        "Figure 7",
        "IV, Figure 7",
        "Redundant-small with d* by (11) performs as well as the learned policies.",
        f"{SIMULATED}; the learned policies are not part of Grasshopper.",
        spare_tasks.figure_7,
        by_load(NONE, ALL_TWICE, SMALL),
    ),
    _experiment(
        "Equation 12",
        "V, Equation 12",
        "Relaunching at b sqrt(E[S_k:k]) minimises a job's latency, approximately.",
        "the exact mean latency, with the best time found numerically.",
        relaunching.equation_12,
    ),
    _experiment(
        "Equation 13",
        "V, Equation 13",
        "Moments of latency and cost of a relaunched job.",
        f"as printed, as corrected, and {SIMULATED}, w = 2.",
        relaunching.equation_13,
        lambda scale: [plan(scale, offered_load=0.5, relaunch_factor=2.0, **RELAUNCH)],
    ),
    _experiment(
        "Figure 8",
        "V, Figure 8",
        "E[T] under Straggler-relaunch falls with w and rises again beyond about 4; M/G/c follows it.",
        f"{SIMULATED}; (11) with the corrected moments.",
        relaunching.figure_8,
        relaunching.figure_8_points,
    ),
    _experiment(
        "Figure 9",
        "V, Figure 9",
        "Setting w for each job or one w for all makes almost no difference.",
        f"{SIMULATED}; w by E[Latency] for each size, or by (11) for all.",
        relaunching.figure_9,
        by_load(RELAUNCH, common_factor),
    ),
    _experiment(
        "Figure 10",
        "V, Figure 10",
        "Redundancy beats relaunching up to a load of 0.8 and loses slightly at very high load.",
        f"{SIMULATED}; both policies at their best by (11).",
        relaunching.figure_10,
        by_load(SMALL, common_factor),
    ),
)
