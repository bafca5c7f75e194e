"""Does two hours of work cost more memory than one minute of it?"""

import gc
from pathlib import Path

import pytest

from tests.plane import attached, ended, message, running, started

pytestmark = pytest.mark.integration

FACTS_PER_S = 2000
HOURS = 2
N_SOURCES = 20
TASKS_PER_STAGE = 40
STEP_S = 1.0
GROWTH_LIMIT_BYTES = 10 * 2**20


def resident_bytes():
    """What this process holds of real memory, after everything that is not used was let go."""
    gc.collect()
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) * 1024


class Driver:
    """A source that runs one stage after the other: every second some attempts start and some end, some as copies."""

    def __init__(self, number):
        self.source = f"app-{number}"
        self.sequence = 0
        self.stage = 0
        self.attempt = 0

    def attach(self):
        self.sequence += 1
        hosts = [
            {"type": "executor_added", "executor": str(n), "host": f"host-{n}", "slots": TASKS_PER_STAGE}
            for n in range(4)
        ]
        return message(self.sequence, [attached(self.source), *hosts], full=True, source=self.source)

    def step(self):
        """One job of one stage, from its submission to its end: 2 facts a task, 4 more around them."""
        self.sequence += 1
        self.stage += 1
        job = f"job-{self.stage}"
        place = {"stage": self.stage, "stage_attempt": 0}
        attempts = range(self.attempt, self.attempt + TASKS_PER_STAGE)
        self.attempt += TASKS_PER_STAGE
        size = {"input_bytes": [10**6 + n for n in range(TASKS_PER_STAGE)], "n_tasks": TASKS_PER_STAGE}
        facts = [
            {"type": "job_submitted", "job": job, "stages": [self.stage]},
            {"type": "stage_submitted", "job": job, "kind": "shuffle_map", **place, **size},
        ]
        for index, attempt in enumerate(attempts):
            more = {"stage": self.stage, "index": index, "host": index % 4}
            facts.append(started(attempt, age_ms=900, **more))
            facts.append(ended(attempt, duration_ms=500 + 10 * index, bytes_read=10**6, **more))
        facts += [{"type": "stage_ended", **place}, {"type": "job_ended", "job": job}]
        return message(self.sequence, facts, source=self.source)


def test_two_hours_of_facts_grow_memory_by_less_than_ten_megabytes(tmp_path):
    """2,000 facts a second through the real endpoint, time moved by hand; counted after the first minute."""
    drivers = [Driver(number) for number in range(N_SOURCES)]
    after_a_minute = None
    n_facts = 0
    with running(tmp_path, store={"keep_rows": 20_000, "sweep_every_s": 5.0}) as plane:
        for driver in drivers:
            plane.reply(driver.attach())
        steps_per_s = FACTS_PER_S / (N_SOURCES * (2 * TASKS_PER_STAGE + 4))
        n_steps = int(HOURS * 3600 * steps_per_s)
        for step in range(n_steps):
            plane.clock.advance(1 / steps_per_s)
            for driver in drivers:
                body = driver.step()
                n_facts += len(body["facts"])
                plane.reply(body)
            if plane.clock.now_s - 1000 >= 60 and after_a_minute is None:
                after_a_minute = resident_bytes()
            if step % 500 == 0:
                print(step, n_steps, resident_bytes() / 2**20)
        growth = resident_bytes() - after_a_minute
    assert n_facts >= 0.99 * FACTS_PER_S * HOURS * 3600
    assert plane.runtime.failures == 0
    assert growth < GROWTH_LIMIT_BYTES
