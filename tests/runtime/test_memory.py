"""Does two hours of work cost more memory than one minute of it?"""

import asyncio
import gc
from pathlib import Path

import msgspec
import pytest

from controlplane import main, settings
from tests.plane import Clock, attached, ended, message, started

pytestmark = pytest.mark.soak

FACTS_PER_S = 2000
HOUR_S = 3600
N_SOURCES = 20
TASKS_PER_STAGE = 120
PROGRESS_REPORTS = 6
FACTS_PER_STAGE = TASKS_PER_STAGE * (2 + PROGRESS_REPORTS) + 4
STAGE_S = N_SOURCES * FACTS_PER_STAGE / FACTS_PER_S
GROWTH_LIMIT_BYTES = 10 * 2**20


def resident_bytes():
    """What this process holds of real memory, after everything that is not used was let go."""
    gc.collect()
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) * 1024


class Driver:
    """A source that runs one job of one stage after the other, and reports its tasks' progress in between."""

    def __init__(self, number):
        self.source = f"app-{number}"
        self.sequence = 0
        self.stage = 0

    def attach(self):
        hosts = [
            {"type": "executor_added", "executor": str(n), "host": f"host-{n}", "slots": TASKS_PER_STAGE}
            for n in range(4)
        ]
        return self.message([attached(self.source), *hosts], full=True)

    def stage_messages(self):
        """The messages of one stage, in order; every fourth task starts on each host."""
        self.stage += 1
        job, place = f"job-{self.stage}", {"stage": self.stage, "stage_attempt": 0}
        first = self.stage * TASKS_PER_STAGE
        tasks = [(first + n, {"stage": self.stage, "index": n, "host": n % 4}) for n in range(TASKS_PER_STAGE)]
        size = {"input_bytes": [10**6 + n for n in range(TASKS_PER_STAGE)], "n_tasks": TASKS_PER_STAGE}
        yield self.message(
            [
                {"type": "job_submitted", "job": job, "stages": [self.stage]},
                {"type": "stage_submitted", "job": job, "kind": "shuffle_map", **place, **size},
                *(started(attempt, **more) for attempt, more in tasks),
            ]
        )
        for step in range(1, PROGRESS_REPORTS + 1):
            done = [step * (10**6 + n) // 7 for n in range(TASKS_PER_STAGE)]
            yield self.message([], progress={"attempt": [attempt for attempt, _ in tasks], "bytes_read": done})
        took_ms = int(STAGE_S * 1000)
        yield self.message(
            [
                *(ended(attempt, duration_ms=took_ms, bytes_read=10**6, **more) for attempt, more in tasks),
                {"type": "stage_ended", **place},
                {"type": "job_ended", "job": job},
            ]
        )

    def message(self, facts, **more):
        self.sequence += 1
        return message(self.sequence, facts, source=self.source, **more)


async def post(app, body):
    """One exchange through the whole application, without a socket."""
    content = msgspec.json.encode(body)
    headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/shim/v1/sync", "headers": headers, "client": ("127.0.0.1", 1)}
    sent = []

    async def receive():
        return {"type": "http.request", "body": content}

    async def send(part):
        sent.append(part)

    await app(scope, receive, send)
    assert sent[0]["status"] == 200, sent
    return len(body["facts"]) + len(body.get("progress", {}).get("attempt", []))


async def work(app, clock, seconds):
    """Lives through these seconds; returns the number of facts, and how many bytes came after the first minute."""
    drivers = [Driver(number) for number in range(N_SOURCES)]
    n_facts = sum([await post(app, driver.attach()) for driver in drivers])
    start_s, after_a_minute = clock.now_s, 0
    while clock.now_s - start_s < seconds:
        for bodies in zip(*(driver.stage_messages() for driver in drivers), strict=True):
            clock.advance(STAGE_S / (PROGRESS_REPORTS + 2))
            n_facts += sum(await asyncio.gather(*(post(app, body) for body in bodies)))
        if not after_a_minute and clock.now_s - start_s >= 60:
            after_a_minute = resident_bytes()
    return n_facts, resident_bytes() - after_a_minute


@pytest.mark.parametrize("seconds", [HOUR_S // 3, pytest.param(2 * HOUR_S, marks=pytest.mark.full)])
def test_facts_without_end_grow_memory_by_less_than_ten_megabytes(tmp_path, seconds):
    """2,000 facts a second, the store writing, its old rows going: only the clock is moved by hand."""
    chosen = {
        "engine": {"mode": "control"},
        "runtime": {"cycle_gap_ms": 0},
        "store": {"url": str(tmp_path / "plane.db"), "keep_rows": 20_000, "sweep_every_s": 5.0},
    }
    clock = Clock()

    async def live():
        app = main.build_app(settings.load(None, chosen), clock=clock)
        async with app.router.lifespan_context(app):
            n_facts, growth = await work(app, clock, seconds)
            assert app.state.runtime.failures == 0
            return n_facts, growth

    n_facts, growth = asyncio.run(live())
    print(f"{n_facts} facts, {growth / 2**20:.1f} MB")
    assert n_facts >= FACTS_PER_S * seconds
    assert growth < GROWTH_LIMIT_BYTES
