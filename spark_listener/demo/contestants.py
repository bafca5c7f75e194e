"""Who competes? Four ways to schedule the same jobs, as configuration only."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class StockSetting:
    """A way to run stock Spark; `quantile` None means without speculation."""

    scheduler: str = "FIFO"
    quantile: float | None = None
    multiplier: float = 1.5

    @property
    def title(self) -> str:
        """Its name in tables."""
        speculation = "no speculation" if self.quantile is None else f"q={self.quantile} m={self.multiplier}"
        return f"{self.scheduler}, {speculation}"

    def spark_conf(self) -> dict[str, str]:
        """Spark's configuration."""
        conf = {"spark.scheduler.mode": self.scheduler, "spark.speculation": "false"}
        if self.quantile is not None:
            conf |= {
                "spark.speculation": "true",
                "spark.speculation.interval": "100ms",
                "spark.speculation.minTaskRuntime": "100ms",
                "spark.speculation.quantile": str(self.quantile),
                "spark.speculation.multiplier": str(self.multiplier),
            }
        return conf


@dataclass(frozen=True, slots=True, kw_only=True)
class Contestant:
    """A name, Spark settings, and the policy pair and settings of the control plane that it runs under, if any."""

    name: str
    title: str
    spark_conf: dict[str, str] = field(default_factory=dict)
    allocator: str | None = None
    speculator: str | None = None
    engine: dict[str, str] = field(default_factory=dict)
    """Engine settings of its control plane, where they are not the defaults, by name."""

    @property
    def variables(self) -> dict[str, str]:
        """The engine settings as the environment variables that set them.

        >>> grasshopper("hopper", "ras", max_copies_per_task="1").variables
        {'GRASSHOPPER__ENGINE__MAX_COPIES_PER_TASK': '1'}
        """
        return {f"GRASSHOPPER__ENGINE__{name.upper()}": value for name, value in self.engine.items()}


# The winner of `python -m spark_listener.demo.tune_stock` for the small demo; docs/demo.md shows the sweep.
BEST_STOCK = StockSetting(scheduler="FAIR", quantile=0.1, multiplier=1.1)


def grasshopper(allocator: str, speculator: str, **engine: str) -> Contestant:
    """A Grasshopper contestant: the Spark settings are the ones `attach` makes, nothing else."""
    name = f"{allocator}+{speculator}"
    return Contestant(name=name, title=f"Grasshopper {name}", allocator=allocator, speculator=speculator, engine=engine)


def contestants(tuned: StockSetting = BEST_STOCK) -> tuple[Contestant, ...]:
    """The demo's four, in the order of the table; `tuned` is stock Spark's best setting for it."""
    stock = StockSetting()
    return (
        Contestant(name="stock", title=f"stock Spark ({stock.title})", spark_conf=stock.spark_conf()),
        Contestant(name="stock-tuned", title=f"stock Spark ({tuned.title})", spark_conf=tuned.spark_conf()),
        grasshopper("hopper", "ras"),
        grasshopper("unified", "unified"),
    )
