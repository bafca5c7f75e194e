"""How long does each job take where the live engine itself decides?"""

from dataclasses import dataclass
from typing import Any, ClassVar

from controlplane.simulator.experiments.points import Point
from controlplane.simulator.live.scenario import EngineScenario


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineTimes(Point):
    """One scenario, job by job."""

    with_engine: ClassVar[bool] = True
    scenario: EngineScenario

    def measure(self, seed: int) -> Any:
        """Every job's response time in order of arrival, s, to a tenth of a millisecond."""
        return self.scenario.run(seed)[1].response_s.round(4).tolist()
