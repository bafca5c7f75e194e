"""What is measured of the master-worker system?"""

from dataclasses import dataclass
from typing import Any

import msgspec

from controlplane.simulator.experiments.points import Point
from controlplane.simulator.masterworker.scenario import MasterWorkerScenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs(Point):
    """One scenario."""

    scenario: MasterWorkerScenario

    def measure(self, seed: int) -> Any:
        """A Summary."""
        return msgspec.to_builtins(self.scenario.simulate(seed))
