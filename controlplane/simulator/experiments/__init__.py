"""What is tried here? Figures and tables of the papers, and claims of our own; each has a file with its EXPERIMENTS."""

from controlplane.simulator.experiments import grass, hopper, redundancy, shed_plus, shipped, unified
from controlplane.simulator.experiments.experiment import Experiment

EXPERIMENTS: tuple[Experiment, ...] = (
    redundancy.EXPERIMENTS
    + hopper.EXPERIMENTS
    + grass.EXPERIMENTS
    + shed_plus.EXPERIMENTS
    + unified.EXPERIMENTS
    + shipped.EXPERIMENTS
)
