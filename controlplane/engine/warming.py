"""Are the kernels compiled? `python -m controlplane.engine.warming` compiles everything the live engine calls.

Compiling takes about a minute, loading compiled code a second. It holds the GIL, so a server calls `warm` before it
listens.
"""

import numpy as np

from controlplane.engine.scheduler import Scheduler
from controlplane.model import facts as f
from controlplane.model.decisions import Report
from controlplane.model.parameters import EngineSettings
from controlplane.policies.registry import TABLE
from controlplane.policies.row import Kind
from controlplane.policies.seen import CLAIMANT, JOB, POOL, RUNNING_TASK, STAGE, Seen

SOURCE = "spark:warming"


def warm() -> dict[str, str]:
    """Call every policy and every kernel of the engine once, on a cluster of two hosts and one straggler.

    Returns what policies raised, by their kind and name: they cost nobody anything until a pool has one of them.
    """
    raised: dict[str, str] = {}
    pools, jobs, stages, tasks = (np.zeros(1, dtype=dtype) for dtype in (POOL, JOB, STAGE, RUNNING_TASK))
    seen = Seen(pools=pools, jobs=jobs, stages=stages, tasks=tasks)
    for row in TABLE:
        try:
            if row.kind is Kind.SPECULATOR:
                row.speculate(seen)
                row.precedence(seen)
            else:
                ask = row.allocate if row.kind is Kind.ALLOCATOR else row.share_copies
                ask(1, np.zeros(1, dtype=CLAIMANT))
        except Exception as error:
            raised[f"{row.kind} {row.name}"] = f"{type(error).__name__}: {error}"
    scheduler = Scheduler(EngineSettings(mode=f.Mode.CONTROL))
    scheduler.handle([Report(source=SOURCE, epoch=1, received_s=0.0, facts=_facts(), full=True)], 0.0)
    for second in range(1, 6):
        progress = f.Progress(attempt=[0, 1], bytes_read=[second, 300 * second])
        report = Report(source=SOURCE, epoch=1, received_s=float(second), facts=[], progress=progress)
        scheduler.handle([report], float(second))
    scheduler.handle([Report(source=SOURCE, epoch=1, received_s=6.0, facts=[_end()])], 6.0)
    return raised


def _facts() -> list[f.AnyFact]:
    capabilities = f.Capabilities(max_copies=1, named_host=True, kill_copy=True, order_pending=True)
    hosts = [f.ExecutorAdded(executor=f"e{i}", host=f"h{i}", slots=4) for i in range(2)]
    sizes = [1000, 1000]
    job = f.JobSubmitted(job="job", deadline_ms=60_000)
    stage = f.StageSubmitted(job="job", stage=1, stage_attempt=0, n_tasks=2, kind="shuffle_map", input_bytes=sizes)
    started = [
        f.AttemptStarted(attempt=i, stage=1, stage_attempt=0, index=i, executor=f"e{i}", host=f"h{i}") for i in range(2)
    ]
    return [f.DriverAttached(application=SOURCE, capabilities=capabilities), *hosts, job, stage, *started]


def _end() -> f.AnyFact:
    return f.AttemptEnded(
        attempt=1,
        stage=1,
        stage_attempt=0,
        index=1,
        executor="e1",
        host="h1",
        outcome=f.Outcome.SUCCESS,
        duration_ms=6000,
    )


if __name__ == "__main__":
    warm()
