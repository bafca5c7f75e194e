"""What does GRASS say, and do our simulations say so, too? Its figures, as far as GS and RAS alone can try them."""

from controlplane.simulator.experiments.experiment import Experiment, experiment
from controlplane.simulator.experiments.grass import figures
from controlplane.simulator.experiments.grass.world import METHOD, STAND_IN

PAPER, TITLE = "grass", "GRASS (NSDI'14)"

EXPERIMENTS: tuple[Experiment, ...] = (
    experiment(
        PAPER,
        TITLE,
        "Figure 5",
        "6.2.1",
        "With deadlines jobs are 34 to 40 % more accurate in Hadoop and 43 to 47 % in Spark, large ones most.",
        METHOD,
        figures.figure_5,
        figures.figure_5_points,
        stand_in=STAND_IN,
    ),
    experiment(
        PAPER,
        TITLE,
        "Figure 6a",
        "6.2.1",
        "Tight and lenient deadlines gain nearly the same.",
        METHOD,
        figures.figure_6a,
        figures.figure_6a_points,
        stand_in=STAND_IN,
    ),
    experiment(
        PAPER,
        TITLE,
        "Figure 6b",
        "6.2.2",
        "Exact jobs are 34 % faster; large error bounds leave less to gain.",
        METHOD,
        figures.figure_6b,
        figures.figure_6b_points,
        stand_in=STAND_IN,
    ),
    experiment(
        PAPER,
        TITLE,
        "Figure 7",
        "6.2.2",
        "With error bounds jobs are 33 to 37 % faster in Spark and 24 to 30 % in Hadoop.",
        METHOD,
        figures.figure_7,
        figures.figure_7_points,
        stand_in=STAND_IN,
    ),
    experiment(
        PAPER,
        TITLE,
        "Figure 8",
        "6.2.3",
        "GRASS is as good as an optimal scheduler.",
        METHOD,
        figures.figure_8,
        figures.figure_8_points,
        stand_in=STAND_IN,
    ),
    experiment(
        PAPER,
        TITLE,
        "Figure 9",
        "6.2.4",
        "Gains are steady over the length of the DAG.",
        METHOD,
        figures.figure_9,
        figures.figure_9_points,
        stand_in=STAND_IN,
    ),
    experiment(
        PAPER,
        TITLE,
        "Figure 10",
        "6.3.1",
        "GS is better for small jobs, RAS for large ones.",
        METHOD,
        figures.figure_10,
        figures.figure_8_points,
        stand_in=STAND_IN,
    ),
)
