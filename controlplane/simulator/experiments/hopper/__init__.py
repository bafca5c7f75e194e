"""Which figures and tables of Hopper (SIGCOMM'15) are tried on the simulated cluster?

The paper's prototypes ran on 200 machines with Facebook's and Bing's traces, which are not public. Where a figure is
theirs, its method says "prototype figure": the cluster model stands for the prototype, Facebook's public trace of 2009
with a model of tasks for the first workload, and a synthetic one for the second. The decentralized ones are not here.
"""

from functools import partial

from controlplane.simulator.experiments.experiment import Experiment, experiment
from controlplane.simulator.experiments.hopper import examples, fairness, gains

PROTOTYPE = (
    "prototype figure, here in the cluster model: 400 slots, estimates with noise 0.3; gains are of mean response times"
)
_experiment = partial(experiment, "hopper", "Hopper (SIGCOMM'15)")
EXPERIMENTS: tuple[Experiment, ...] = (
    _experiment(
        "Table 1",
        "3, Table 1 and Figures 1 and 2",
        "Best effort ends the two jobs at 20 and 30, a budget of three slots at 12 and 32, Hopper at 12 and 22.",
        "the printed durations, a cycle at every event.",
        examples.table_1,
        examples.table_1_points,
    ),
    _experiment(
        "Figure 3",
        "4.1, Figure 3",
        "The value of one more slot drops sharply at max(2 / beta, 1) slots per task.",
        "one job alone; the knee is where two straight lines through the speed, 1 / time, fit best. LATE has no cap.",
        examples.figure_3,
        examples.figure_3_points,
    ),
    _experiment(
        "Figure 6",
        "7.2 and 7.4, Figures 6 and 12",
        "Gains of 50 to 60 % at 60 % utilization, below 20 % from 80 % on, at most 14 % at 30 % and below.",
        f"{PROTOTYPE}. Tried: LATE and RAS, both baselines, both worlds, offered loads 0.4 to 1.4.",
        gains.figure_6,
        gains.figure_6_points,
    ),
    _experiment(
        "Figure 7",
        "7.2, Figure 7",
        "Small jobs gain 18 to 32 %, large ones over 50 %.",
        f"{PROTOTYPE}.",
        gains.figure_7,
        gains.figure_7_points,
    ),
    _experiment(
        "Figure 8a",
        "7.2, Figure 8a",
        "Gains exceed 70 % at high percentiles and reach 10 to 15 % at the 10th.",
        f"{PROTOTYPE}; each job against itself under Prio.",
        gains.figure_8a,
        gains.figure_8a_points,
    ),
    _experiment(
        "Figure 8b",
        "7.2 and 7.4, Figures 8b and 12",
        "Gains hold across lengths of the DAG.",
        f"{PROTOTYPE}; synthetic jobs whose tasks are spread over more and more pipelined phases.",
        gains.figure_8b,
        gains.figure_8b_points,
    ),
    _experiment(
        "Figure 9",
        "7.2, Figure 9",
        "Gains are similar with LATE, Mantri and GRASS.",
        f"{PROTOTYPE}; RAS stands for GRASS, and the baseline is SRPT with the same speculator.",
        gains.figure_9,
        gains.figure_9_points,
    ),
    _experiment(
        "Figure 10",
        "7.3, Figure 10",
        "Gains rise up to epsilon = 15 %; at 10 % fewer than 4 % of the jobs are slower than under absolute fairness.",
        f"{PROTOTYPE}; also epsilon = 1, no promise at all.",
        fairness.figure_10,
        fairness.figure_10_points,
    ),
    _experiment(
        "Guidelines",
        "7.2",
        "At 80 % utilization 53 % of the jobs are allocated by Guideline 2.",
        PROTOTYPE,
        fairness.guidelines,
        fairness.guidelines_points,
    ),
    _experiment(
        "Conditions",
        "7.1",
        "Gains come from coordination alone; nothing is said of tasks that are slow because of their data.",
        f"{PROTOTYPE}; one condition changed at a time.",
        gains.conditions,
        gains.conditions_points,
    ),
)
