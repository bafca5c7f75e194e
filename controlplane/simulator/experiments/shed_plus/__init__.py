"""What does Shed+ say, and do our simulations say so, too? Its figures and its table, with its baselines."""

from controlplane.simulator.experiments.experiment import Experiment, experiment
from controlplane.simulator.experiments.shed_plus import figures
from controlplane.simulator.experiments.shed_plus.world import METHOD, STAND_IN

PAPER, TITLE = "shed-plus", "Shed+"

EXPERIMENTS: tuple[Experiment, ...] = (
    experiment(
        PAPER,
        TITLE,
        "Figure 2",
        "VI.A",
        "More than five attempts of each task shorten jobs little.",
        METHOD,
        figures.figure_2,
        figures.figure_2_points,
        stand_in=STAND_IN,
    ),
    experiment(
        PAPER,
        TITLE,
        "Figure 4",
        "VI.B",
        "At 40 % load Shed+ meets up to 100 % of deadlines, Shed around 80, Dolly 60; the lead grows with the jobs.",
        METHOD,
        figures.figure_4,
        figures.figure_4_points,
        stand_in=STAND_IN,
    ),
    experiment(
        PAPER,
        TITLE,
        "Figure 5",
        "VI.B",
        "All meet more deadlines as these relax, and Shed+ nearly every one.",
        METHOD,
        figures.figure_5,
        figures.figure_5_points,
        stand_in=STAND_IN,
    ),
    experiment(
        PAPER,
        TITLE,
        "Figure 6",
        "VI.B",
        "Shed+ is ahead at every load, up to 98 % where Shed meets 68; at a low one Shed is as good.",
        METHOD,
        figures.figure_6,
        figures.figure_6_points,
        stand_in=STAND_IN,
    ),
    experiment(
        PAPER,
        TITLE,
        "Figure 8",
        "VI.B",
        "Shed keeps about 75 % of the cluster busy, Hadoop, Dolly and Hopper 55, Shed+ more.",
        METHOD,
        figures.figure_8,
        figures.figure_8_points,
        stand_in=STAND_IN,
    ),
    experiment(
        PAPER,
        TITLE,
        "Figure 9",
        "VI.B",
        "Jobs take 330 s under Shed+, 345 under Shed, 378 under Hadoop and 402 under Dolly.",
        METHOD,
        figures.figure_9,
        figures.figure_8_points,
        stand_in=STAND_IN,
    ),
    experiment(
        PAPER,
        TITLE,
        "Table II",
        "VI.B",
        "A first check at 30 % of progress, and few checks, do as well; checking too often is as bad as Hadoop.",
        METHOD,
        figures.table_2,
        figures.table_2_points,
        stand_in=STAND_IN,
    ),
)
