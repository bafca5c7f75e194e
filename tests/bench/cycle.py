"""How much CPU does one full scheduling cycle take at 1,000 jobs and 100,000 running tasks?

As in the server, what start-up left is frozen, so that no collection looks at it, and collections are as rare.
"""

import gc
import time

import numpy as np

from controlplane.engine.scheduler import Scheduler
from controlplane.main import GC_THRESHOLDS
from controlplane.model import facts as f
from controlplane.model.decisions import Report
from controlplane.model.parameters import EngineSettings
from tests.scenario import SPARK

N_JOBS, TASKS_PER_JOB, N_HOSTS = 1_000, 100, 500
INPUT_BYTES = 10**8
CYCLES = 60
GOAL_P99_MS = 20.0


def rows() -> list[dict]:
    """Benchmark rows `cycle-p50` and `cycle-p99` for `hopper+ras`, one pool with every task running and reporting."""
    scheduler = Scheduler(EngineSettings(mode=f.Mode.CONTROL))
    _start(scheduler)
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    rng = np.random.default_rng([1, 0])
    rate = INPUT_BYTES / (60.0 * (1 + rng.pareto(1.5, N_JOBS * TASKS_PER_JOB)))
    elapsed_ms = []
    for cycle in range(1, CYCLES + 1):
        now_s = 10.0 + cycle * 0.2
        some = np.arange(cycle % 5, N_JOBS * TASKS_PER_JOB, 5)
        progress = f.Progress(
            attempt=some.tolist(), bytes_read=np.minimum(rate[some] * now_s, INPUT_BYTES - 1).astype(int).tolist()
        )
        report = Report(source="spark:bench", epoch=1, received_s=now_s, facts=[], progress=progress)
        started = time.process_time()
        scheduler.handle([report], now_s)
        elapsed_ms.append((time.process_time() - started) * 1000)
    steady = np.array(elapsed_ms[10:])
    spread = [round(float(q), 2) for q in np.percentile(steady, [5, 95])]
    p50, p99 = np.percentile(steady, [50, 99])
    met = bool(p99 <= GOAL_P99_MS)
    base = {"unit": "ms", "peer": None, "ratio": None, "runs": len(steady), "spread": spread}
    return [
        {"name": "cycle-p50", "value": round(float(p50), 2), "goal": None, "met": None, **base},
        {
            "name": "cycle-p99",
            "value": round(float(p99), 2),
            "goal": GOAL_P99_MS,
            "met": met,
            **base,
        },
    ]


def _start(scheduler: Scheduler) -> None:
    facts: list[f.Fact] = [f.DriverAttached(application="bench", capabilities=SPARK)]
    slots = N_JOBS * TASKS_PER_JOB // N_HOSTS + 20
    facts += [f.ExecutorAdded(executor=str(i), host=f"host{i}", slots=slots) for i in range(N_HOSTS)]
    for job in range(N_JOBS):
        facts.append(f.JobSubmitted(job=f"job-{job}"))
        facts.append(
            f.StageSubmitted(
                job=f"job-{job}",
                stage=job,
                stage_attempt=0,
                n_tasks=TASKS_PER_JOB,
                input_bytes=[INPUT_BYTES] * TASKS_PER_JOB,
                kind="shuffle_map",
                name=f"stage {job % 50}",
            )
        )
        for index in range(TASKS_PER_JOB):
            attempt = job * TASKS_PER_JOB + index
            host = attempt % N_HOSTS
            facts.append(
                f.AttemptStarted(
                    attempt=attempt, stage=job, stage_attempt=0, index=index, executor=str(host), host=f"host{host}"
                )
            )
    scheduler.handle([Report(source="spark:bench", epoch=1, received_s=0.0, facts=facts, full=True)], 0.0)
