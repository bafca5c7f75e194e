"""Which figures and tables of the papers are tried here? A file per paper, each with its EXPERIMENTS."""

from controlplane.simulator.experiments import hopper, redundancy
from controlplane.simulator.experiments.experiment import Experiment

EXPERIMENTS: tuple[Experiment, ...] = redundancy.EXPERIMENTS + hopper.EXPERIMENTS
