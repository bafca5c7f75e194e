"""What is stock Spark's best setting in the demo's world? A sweep, then the best few again on other seeds.

Run it with `python -m spark_listener.demo.tune_stock` (the small size takes half an hour on an idle machine).  It
prints a table in Markdown.  Every run is appended to build/tune-stock.jsonl, and runs found there are not repeated, so
it may be stopped and started at any time; delete a line to repeat a run.  The seeds are not those of the demo, so the
winner is not fitted to what it is shown on.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console

from controlplane.processes import exit_on_signals
from spark_listener.demo.application import run_application
from spark_listener.demo.contestants import Contestant, StockSetting
from spark_listener.demo.world import KINDS, SIZES
from spark_listener.local_cluster import LocalCluster

SWEEP_SEED = 1001
FINAL_SEEDS = (1002, 1003)
FINALISTS = 4
SETTINGS = [
    StockSetting(scheduler=scheduler, quantile=quantile, multiplier=multiplier)
    for scheduler, quantile, multiplier in itertools.product(("FIFO", "FAIR"), (0.1, 0.25, 0.5, 0.75), (1.1, 1.5, 3.0))
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One measured run; `load` is the machine's one-minute load at its end, which says how far to trust it."""

    scheduler: str
    quantile: float
    multiplier: float
    size: str
    kind: str
    seed: int
    mean_job_s: float
    copies_launched: int
    copies_won: int
    losing_core_s: float
    load: float

    @property
    def setting(self) -> StockSetting:
        """The setting that it ran under."""
        return StockSetting(scheduler=self.scheduler, quantile=self.quantile, multiplier=self.multiplier)


class Sweep:
    """Measures settings on one cluster and remembers every run in a file."""

    def __init__(self, size: str, kind: str, build_dir: Path, cluster: LocalCluster) -> None:
        self._size, self._kind = size, kind
        self._cluster = cluster
        self._work_dir = build_dir / "tune-stock"
        self._record = build_dir / "tune-stock.jsonl"
        self._workload = SIZES[size].workload()
        self._inputs = self._workload.write_inputs(self._work_dir / "inputs")
        lines = self._record.read_text().splitlines() if self._record.exists() else []
        runs = (Run(**json.loads(line)) for line in lines)
        self.runs = [run for run in runs if (run.size, run.kind) == (size, kind)]

    def measure(self, setting: StockSetting, seed: int) -> None:
        """Run the jobs once under a setting, unless that run is on record."""
        if any(run.setting == setting and run.seed == seed for run in self.runs):
            return
        outcome = run_application(
            Contestant(name="stock", title=setting.title, spark_conf=setting.spark_conf()),
            world=SIZES[self._size].world(seed=seed, kind=self._kind),
            jobs=self._workload.jobs,
            inputs=self._inputs,
            cluster=self._cluster,
            server=None,
            work_dir=self._work_dir / "last-run",
            on_event=lambda _: None,
        )
        run = Run(
            scheduler=setting.scheduler,
            quantile=setting.quantile or 0.0,
            multiplier=setting.multiplier,
            size=self._size,
            kind=self._kind,
            seed=seed,
            mean_job_s=statistics.fmean(outcome.job_s.values()),
            copies_launched=outcome.copies.launched,
            copies_won=outcome.copies.won,
            losing_core_s=outcome.copies.losing_core_s,
            load=outcome.load,
        )
        self.runs.append(run)
        with self._record.open("a") as record:
            record.write(json.dumps(asdict(run)) + "\n")


def by_setting(runs: Iterable[Run]) -> dict[StockSetting, list[Run]]:
    """Settings that ran on more seeds first, then by mean job time."""
    groups: dict[StockSetting, list[Run]] = {}
    for run in runs:
        groups.setdefault(run.setting, []).append(run)
    order = sorted(groups, key=lambda setting: (-len(groups[setting]), mean(groups[setting], "mean_job_s")))
    return {setting: groups[setting] for setting in order}


def mean(runs: list[Run], field: str) -> float:
    """The mean of one field."""
    return statistics.fmean(getattr(run, field) for run in runs)


def markdown(runs: Iterable[Run]) -> str:
    """A table with a row for each setting."""
    lines = [
        "| scheduler | quantile | multiplier | seeds | mean job s | copies | won | lost core-s | load |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for setting, group in by_setting(runs).items():
        fields = ("copies_launched", "copies_won", "losing_core_s", "load")
        cells = [setting.scheduler, setting.quantile, setting.multiplier, len(group)]
        cells += [f"{mean(group, 'mean_job_s'):.2f}", *(f"{mean(group, field):.1f}" for field in fields)]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def main() -> None:
    """Run or resume the sweep, and print its table."""
    parser = argparse.ArgumentParser(description="Find stock Spark's best speculation setting.")
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--world", choices=KINDS, default="independent")
    parser.add_argument("--build-dir", type=Path, default=Path("build"))
    chosen = parser.parse_args()
    exit_on_signals()
    console = Console()
    cores = SIZES[chosen.size].cores_per_worker
    with LocalCluster(cores_per_worker=cores, log_dir=chosen.build_dir / "tune-stock" / "cluster") as cluster:
        sweep = Sweep(chosen.size, chosen.world, chosen.build_dir, cluster)
        for number, setting in enumerate(SETTINGS, start=1):
            console.print(f"{number} of {len(SETTINGS)}: {setting.title}", highlight=False)
            sweep.measure(setting, SWEEP_SEED)
        swept = [run for run in sweep.runs if run.seed == SWEEP_SEED]
        for setting in list(by_setting(swept))[:FINALISTS]:
            for seed in FINAL_SEEDS:
                sweep.measure(setting, seed)
    print(markdown(sweep.runs))


if __name__ == "__main__":
    main()
