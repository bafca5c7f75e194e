"""What does GRASS say, and do our simulations say so, too? Its figures, as far as GS and RAS alone can try them."""

from functools import partial

from controlplane.simulator.experiments.experiment import Experiment, experiment
from controlplane.simulator.experiments.grass import figures
from controlplane.simulator.experiments.grass.world import METHOD, STAND_IN

figure = partial(experiment, "grass", "GRASS (NSDI'14)", method=METHOD, stand_in=STAND_IN)

EXPERIMENTS: tuple[Experiment, ...] = (
    figure(
        "Figure 5",
        "6.2.1",
        "With deadlines jobs are 34 to 40 % more accurate in Hadoop and 43 to 47 % in Spark, large ones most.",
        judge=figures.figure_5,
        points=figures.figure_5_points,
        tried="both policies in two frameworks and three worlds. Most of these jobs run in one wave; alone on 50 "
        "slots, in 2, 5 and 10 waves, GS does 12, 26 and 34 % more of the tasks than LATE.",
    ),
    figure(
        "Figure 6a",
        "6.2.1",
        "Tight and lenient deadlines gain nearly the same.",
        judge=figures.figure_6a,
        points=figures.figure_6a_points,
        tried="five slacks, the same for all jobs.",
    ),
    figure(
        "Figure 6b",
        "6.2.2",
        "Exact jobs are 34 % faster; large error bounds leave less to gain.",
        judge=figures.figure_6b,
        points=figures.figure_6b_points,
        tried="five error bounds, the same for all jobs.",
    ),
    figure(
        "Figure 7",
        "6.2.2",
        "With error bounds jobs are 33 to 37 % faster in Spark and 24 to 30 % in Hadoop.",
        judge=figures.figure_7,
        points=figures.figure_7_points,
        tried="both policies in two frameworks and three worlds; exact jobs gain most (Figure 6b).",
    ),
    figure(
        "Figure 8",
        "6.2.3",
        "GRASS is as good as an optimal scheduler.",
        judge=figures.figure_8,
        points=figures.figure_8_points,
        tried="a clairvoyant with the same three attempts, which knows what no estimate can.",
    ),
    figure(
        "Figure 9",
        "6.2.4",
        "Gains are steady over the length of the DAG.",
        judge=figures.figure_9,
        points=figures.figure_9_points,
        tried="jobs of two to six phases.",
    ),
    figure(
        "Figure 10",
        "6.3.1",
        "GS is better for small jobs, RAS for large ones.",
        judge=figures.figure_10,
        points=figures.figure_8_points,
        tried="both policies, deadlines and error bounds; the two differ by less than their errors.",
    ),
)
