"""What does GRASS say, and do our numbers say so, too? Its theory, its figures, and what its learning is worth."""

from functools import partial

from controlplane.simulator.experiments.experiment import Experiment, experiment
from controlplane.simulator.experiments.grass import figures, formulas, learned, waves
from controlplane.simulator.experiments.grass.world import METHOD, STAND_IN

theory = partial(experiment, "grass", "GRASS (NSDI'14)")
figure = partial(theory, method=METHOD, stand_in=STAND_IN)
learned_figure = partial(figure, method=learned.METHOD)
TRIED = "both kinds of bounds, by size, with estimates that err, and with samples from before."

EXPERIMENTS: tuple[Experiment, ...] = (
    theory(
        "Figure 3",
        "3.2, Figure 3 and footnote 3",
        "The tail of task durations is Pareto, tail index 1.259: the Hill plot is flat over many scales, but not all.",
        "the live estimator on the longest of 50,000 drawn durations, of which a fifth are Pareto with that index and "
        "all others uniform below; a line by least squares on their log-log plot beside it.",
        formulas.figure_3,
        formulas.figure_3_points,
        "a thousandth to all of the durations.",
        "drawn durations stand for both traces': that theirs have this index is not tried.",
    ),
    theory(
        "Figure 4",
        "3.2, Figure 4",
        "RAS is near the best wait for jobs of two waves and more, GS for those of fewer.",
        "(3), integrated over a job's tasks; tail index 1.259, 100 slots, waits up to 5.",
        formulas.figure_4,
        tried="1 to 5 waves. The best wait lies between GS's and RAS's up to two waves. Shortly below two waves GS is "
        "further from it than RAS with one, so no share that is called near makes both statements true.",
    ),
    theory(
        "Theorem 1",
        "A, Theorem 1",
        "A few attempts of every task from the start are best in early waves, as many as fill the slots in the last.",
        "(2) against (1) with every number of attempts by hundredths; 100 slots, five tail indices.",
        formulas.theorem_1,
    ),
    theory(
        "Equation 3",
        "A, equation (3)",
        "In early waves copies of late tasks gain under heavy tails, and RAS more than GS.",
        "(3), first case; five tail indices.",
        formulas.equation_3,
        tried="tail indices of 2 to 3, where RAS still gains: the guideline is that of copies from the start.",
    ),
    figure(
        "Figure 5",
        "6.2.1",
        "With deadlines jobs are 34 to 40 % more accurate in Hadoop and 43 to 47 % in Spark, large ones most.",
        judge=figures.figure_5,
        points=figures.figure_5_points,
        tried="two frameworks and three worlds, two and three attempts, with kills and without. Most of these jobs run "
        "in one wave, and no scheduler does 40 % more of their tasks than LATE (Figure 8); others are in grass/waves.",
    ),
    figure(
        "Figure 6a",
        "6.2.1",
        "Tight and lenient deadlines gain nearly the same.",
        judge=figures.figure_6a,
        points=figures.figure_6a_points,
        tried="five slacks, the same for all jobs, in three worlds.",
    ),
    figure(
        "Figure 6b",
        "6.2.2",
        "Exact jobs are 34 % faster; large error bounds leave less to gain.",
        judge=figures.figure_6b,
        points=figures.figure_6b_points,
        tried="five error bounds, the same for all jobs, in three worlds.",
    ),
    figure(
        "Figure 7",
        "6.2.2",
        "With error bounds jobs are 33 to 37 % faster in Spark and 24 to 30 % in Hadoop.",
        judge=figures.figure_7,
        points=figures.figure_7_points,
        tried="two frameworks and three worlds, two and three attempts, with kills and without; exact jobs gain most "
        "(Figure 6b), and those of several waves (grass/waves).",
    ),
    figure(
        "Figure 8",
        "6.2.3",
        "GRASS is as good as an optimal scheduler.",
        judge=figures.figure_8,
        points=figures.figure_8_points,
        tried="a clairvoyant with the same three attempts, which knows what no estimate can; and bounds that no "
        "schedule passes that ends no attempt before its task, proven for each job as if it had the cluster to itself.",
    ),
    figure(
        "Figure 9",
        "6.2.4",
        "Gains are steady over the length of the DAG.",
        judge=figures.figure_9,
        points=figures.figure_9_points,
        tried="jobs of two to six phases, in three worlds.",
    ),
    learned_figure(
        "Figures 10 and 11",
        "6.3.1",
        "GRASS is 25 % more accurate and 20 % faster than the better of GS and RAS; GS suits small jobs, RAS large.",
        judge=learned.figure_10,
        points=learned.figure_10_points,
        tried=TRIED,
    ),
    learned_figure(
        "Figure 12",
        "6.3.2",
        "A switch at two waves has 66 to 73 % of the gains of learned switching.",
        judge=learned.figure_12,
        points=learned.figure_12_points,
        tried=TRIED,
    ),
    learned_figure(
        "Figure 13",
        "6.3.2",
        "Three factors are 18 to 30 % more accurate and 15 to 25 % faster than one; of single ones the bound is best.",
        judge=learned.figure_13,
        points=learned.figure_13_points,
        tried=TRIED,
    ),
    learned_figure(
        "Figure 14",
        "6.3.2",
        "Three factors are better than two; the bound counts most.",
        judge=learned.figure_14,
        points=learned.figure_13_points,
        tried=TRIED,
    ),
    learned_figure(
        "Figure 15",
        "6.3.3",
        "Exploring with 15 % of the jobs is best.",
        judge=learned.figure_15,
        points=learned.figure_15_points,
        tried=TRIED,
    ),
    Experiment(
        id="grass/waves",
        source="Grasshopper, our own",
        statement="Jobs of several waves gain much over LATE, and hardly anything by switching.",
        method=waves.METHOD,
        points=waves.points,
        judge=waves.judge,
        tried="2, 5 and 10 waves, two worlds, two and three attempts, with kills and without.",
    ),
)
