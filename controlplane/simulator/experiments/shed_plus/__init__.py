"""What does Shed+ say, and do our simulations say so, too? Its figures and its table, with its baselines."""

from functools import partial

from controlplane.simulator.experiments.experiment import Experiment, experiment
from controlplane.simulator.experiments.shed_plus import figures, slots
from controlplane.simulator.experiments.shed_plus.world import METHOD, STAND_IN

figure = partial(experiment, "shed-plus", "Shed+", method=METHOD, stand_in=STAND_IN)

EXPERIMENTS: tuple[Experiment, ...] = (
    figure(
        "Figure 2",
        "VI.A",
        "More than five attempts of each task shorten jobs little.",
        judge=figures.figure_2,
        points=figures.figure_2_points,
    ),
    figure(
        "Figure 4",
        "VI.B",
        "At 40 % load Shed+ meets up to 100 % of deadlines, Shed around 80, Dolly 60; the lead grows with the jobs.",
        judge=figures.figure_4,
        points=figures.figure_4_points,
        tried="three sizes and three worlds, with byte offsets and without. Where estimates are off, "
        "Shed+ orders as few copies as they ask for, and Shed orders more.",
    ),
    figure(
        "Figure 5",
        "VI.B",
        "All meet more deadlines as these relax, and Shed+ nearly every one.",
        judge=figures.figure_5,
        points=figures.figure_5_points,
        tried="three tail indices, three worlds and five deadlines.",
    ),
    figure(
        "Figure 6",
        "VI.B",
        "Shed+ is ahead at every load, up to 98 % where Shed meets 68; at a low one Shed is as good.",
        judge=figures.figure_6,
        points=figures.figure_6_points,
        tried="five loads and three worlds.",
    ),
    figure(
        "Figure 7",
        "VI.B",
        "Shed always fills the cluster, Shed+ when needed, and has fewer jobs in it.",
        judge=slots.figure_7,
        points=slots.figure_7_points,
        tried="five loads; every policy with the same six attempts.",
    ),
    figure(
        "Figure 8",
        "VI.B",
        "Shed keeps about 75 % of the cluster busy, Hadoop, Dolly and Hopper 55, Shed+ more.",
        judge=slots.figure_8,
        points=slots.figure_8_points,
        tried="every policy with the same six attempts: Shed+ meets its deadlines with fewer copies than "
        "Shed and Dolly order.",
    ),
    figure(
        "Figure 9",
        "VI.B",
        "Jobs take 330 s under Shed+, nearly all within 350, 345 s under Shed, 378 under Hadoop, 402 under Dolly.",
        judge=slots.figure_9,
        points=slots.figure_9_points,
        tried="every policy with the same six attempts: Shed+ copies for the deadline alone, not to end sooner.",
    ),
    figure(
        "Table II",
        "VI.B",
        "A first check at 30 % of progress, and few checks, do as well; checking too often is as bad as Hadoop.",
        judge=figures.table_2,
        points=figures.table_2_points,
        tried="intervals of 0 to .6 of equation (17) and first checks at 5 to 30 %.",
    ),
)
