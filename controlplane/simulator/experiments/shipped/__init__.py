"""How much does what is shipped gain? The live engine decides, as set up by default and with equal caps for all."""

from controlplane.simulator.experiments.experiment import Experiment
from controlplane.simulator.experiments.shipped import gains

EXPERIMENTS: tuple[Experiment, ...] = gains.EXPERIMENTS
