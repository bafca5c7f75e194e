"""Our own index for copies and originals: may it be the default, and how does it fare with bounds?"""

from controlplane.simulator.experiments.experiment import Experiment
from controlplane.simulator.experiments.unified import accuracy, cells, deadlines

EXPERIMENTS: tuple[Experiment, ...] = (cells.EXPERIMENT, deadlines.EXPERIMENT, accuracy.EXPERIMENT)
