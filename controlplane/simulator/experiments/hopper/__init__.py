"""Which figures and tables of Hopper (SIGCOMM'15) are tried on the simulated cluster?

The paper's prototypes ran on 200 machines with Facebook's and Bing's traces, which are not public. Where a figure is
theirs, its method says "prototype figure": the cluster model stands for the machines, Facebook's public trace of 2009
with a model of tasks for the first workload, and a synthetic one for the second. Figures 6 to 11 are the decentralized
prototype's, against Sparrow with SRPT: a centralized scheduler stands in for both, and its verdicts say so.
"""

from functools import partial

from controlplane.simulator.experiments.experiment import Experiment, experiment
from controlplane.simulator.experiments.hopper import claims, examples, fairness, gains, learned, locality, tried
from controlplane.simulator.experiments.hopper.conditions import AT_THE_MIDDLE, PROTOTYPE

STAND_IN = (
    "the paper's numbers are those of its decentralized prototype over Sparrow with SRPT; a centralized Hopper and a "
    "centralized SRPT, both with LATE, stand for them."
)
_experiment = partial(experiment, "hopper", "Hopper (SIGCOMM'15)")
EXPERIMENTS: tuple[Experiment, ...] = (
    _experiment(
        "Copies",
        "2.1",
        "A quarter of all tasks in Facebook's cluster are copies, with a fifth of the resources.",
        f"{PROTOTYPE}; {AT_THE_MIDDLE}; under both baselines, in both worlds, and under Prio without LATE's cap.",
        claims.copies,
        claims.copies_points,
        tried="both workloads, both worlds, both priorities of copies, LATE with its cap and without.",
        stand_in="the paper's numbers are those of Facebook's production cluster; the cluster model stands for it.",
    ),
    _experiment(
        "Slowest task",
        "1 and 2.2",
        "Speculation brings a job's slowest task from 8 (7) times the median's rate down to 1.08 (1.1) times.",
        "one job alone with two slots a task, exact estimates, tail index 1.5; medians over runs. A copy starts 0.25 s "
        "after its original at the earliest, and takes its draw of the same law.",
        claims.slowest,
        claims.slowest_points,
        "two sizes of job, three speculators, two and three attempts; slowdowns that are Pareto, or for nine tenths of "
        "the tasks within 15 % of 1, with tasks of 1 s and of 10 s.",
    ),
    _experiment(
        "Fair example",
        "3.1",
        "Similar inefficiencies occur under fair scheduling.",
        "Table 1's jobs under fair sharing, a cycle at every event.",
        claims.fair_example,
        claims.fair_example_points,
        "the example as printed; a budget under fair sharing was not.",
    ),
    _experiment(
        "Over fair",
        "4.3",
        "Nearly all jobs end earlier than under fair sharing, even at moderate epsilon.",
        f"{PROTOTYPE}; {AT_THE_MIDDLE}; Hopper and LATE with epsilon 10 % against fair sharing and LATE, job by job, "
        "and both baselines against it, too.",
        claims.over_fair,
        claims.over_fair_points,
        "both workloads, both worlds; what SRPT does against fair sharing stands beside it.",
        stand_in=STAND_IN,
    ),
    _experiment(
        "Transfer ratio",
        "6.3 and 7.2",
        "The transfer ratio, from earlier runs of the same job, is estimated with an accuracy of 92 %.",
        "the live estimator on Facebook's trace of 2009. It does not name recurring jobs: same input, same job.",
        learned.transfer,
        learned.transfer_points,
        "jobs that read as much as one before, and all that shuffle.",
    ),
    _experiment(
        "Tail index",
        "7.2",
        "The error of the tail index falls to 5 % or less after 6 % of the jobs.",
        "the live estimator on drawn durations of Facebook's jobs, tail index 1.2, prior 1.5; judged after 6 % of the "
        "jobs and from there on.",
        learned.tail_index,
        learned.tail_index_points,
        "tasks that start at once or run in many waves; the latest 512 durations, as the engine keeps of each "
        "application, and all.",
    ),
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
        "one job alone; the knee is where two straight lines through the mean completion times, from 0.5 slots a task "
        "on, fit best by least squares; its interval of 95 % is by 1,000 sets of runs drawn with replacement. LATE "
        "has no cap.",
        examples.figure_3,
        examples.figure_3_points,
        "LATE and RAS, two and three attempts, two tail indices, two lines, and the first place near the least.",
    ),
    _experiment(
        "Figure 6",
        "7.2, Figure 6",
        "Gains of 50 to 60 % at 60 % utilization, below 20 % from 80 % on, at most 14 % at 30 % and below.",
        f"{PROTOTYPE}; both baselines, both worlds.",
        gains.figure_6,
        gains.figure_6_points,
        "LATE and RAS, offered loads 0.4 to 1.4, two and three attempts, the conditions of the last row one by one.",
        stand_in=STAND_IN,
    ),
    _experiment(
        "Figure 7",
        "7.2, Figure 7",
        "Small jobs gain 18 to 32 %, large ones over 50 %.",
        f"{PROTOTYPE}; {AT_THE_MIDDLE}.",
        gains.figure_7,
        gains.figure_7_points,
        "LATE and RAS, both baselines, both worlds, both workloads.",
        stand_in=STAND_IN,
    ),
    _experiment(
        "Figure 8a",
        "7.2, Figure 8a",
        "Gains exceed 70 % at high percentiles and reach 10 to 15 % at the 10th.",
        f"{PROTOTYPE}; {AT_THE_MIDDLE}; each job against itself under both baselines, in both worlds.",
        gains.figure_8a,
        gains.figure_8a_points,
        "LATE and RAS, both workloads.",
        stand_in=STAND_IN,
    ),
    _experiment(
        "Figure 8b",
        "7.2, Figure 8b",
        "Gains hold across lengths of the DAG.",
        f"{PROTOTYPE}; {AT_THE_MIDDLE}; synthetic jobs whose tasks are spread over more and more pipelined phases.",
        gains.figure_8b,
        gains.figure_8b_points,
        "LATE and RAS, both baselines, both worlds.",
        stand_in=STAND_IN,
    ),
    _experiment(
        "Figure 9",
        "7.2, Figure 9",
        "Gains are similar with LATE, Mantri and GRASS.",
        f"{PROTOTYPE}; {AT_THE_MIDDLE}; RAS stands for GRASS, and the baselines are SRPT with the same speculator, "
        "copies at their job's priority (Prio) or after all originals (Last).",
        gains.figure_9,
        gains.figure_9_points,
        "three speculators, both worlds.",
        stand_in=STAND_IN,
    ),
    _experiment(
        "Figure 10",
        "7.3, Figure 10",
        "Gains rise up to epsilon = 15 %; at 10 % fewer than 4 % of the jobs are slower than under absolute fairness.",
        f"{PROTOTYPE}; {AT_THE_MIDDLE}; also epsilon = 1, no promise at all; over both baselines, in both worlds.",
        fairness.figure_10,
        fairness.figure_10_points,
        "seven values of epsilon, both worlds.",
        stand_in=STAND_IN,
    ),
    _experiment(
        "Figure 13",
        "7.4, Figure 13",
        "A locality allowance of 3 % is best, 7 % as good, more is worse; with one SRPT gains at most 20 %.",
        f"{PROTOTYPE}; inputs on three machines each, twice the time elsewhere.",
        locality.figure_13,
        locality.figure_13_points,
        "six allowances, two loads, both worlds.",
    ),
    _experiment(
        "Guidelines",
        "7.2",
        "At 80 % utilization 53 % of the jobs are allocated by Guideline 2.",
        f"{PROTOTYPE}; at the offered load whose measured busy share under Prio is nearest to 80 %. A job counts by "
        "the state that it meets when it arrives, its own virtual size included.",
        fairness.guidelines,
        fairness.guidelines_points,
        "both worlds.",
        stand_in=STAND_IN,
    ),
    _experiment(
        "Figure 12",
        "7.4, Figure 12",
        "The centralized prototypes gain about 50 %, single bins up to 80 %, small jobs less; over all lengths of the "
        "DAG.",
        f"{PROTOTYPE}; {AT_THE_MIDDLE}; synthetic jobs for the lengths of the DAG.",
        gains.figure_12,
        gains.figure_12_points,
        "both baselines, both worlds, both workloads, four lengths.",
    ),
    _experiment(
        "Equal caps",
        "1 and 2.2",
        "Gains come purely from the integration of speculation and scheduling, not from better speculation.",
        "SRPT and Hopper, each with LATE, with LATE without its cap on copies, and with RAS; all with the same most "
        "live attempts of a task, and all or none ends beaten attempts; synthetic jobs on 400 slots, and Facebook's.",
        tried.equal_caps,
        tried.equal_caps_points,
        "two workloads, two loads, both worlds, two and three attempts, with kills and without.",
    ),
    _experiment(
        "Conditions",
        "7.1",
        "No statement of the paper: what the gains of Figure 6 depend on here.",
        f"{PROTOTYPE}; one condition changed at a time, for all contestants, at an offered load of 0.8.",
        tried.conditions,
        tried.conditions_points,
    ),
)
