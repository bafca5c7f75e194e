"""How does a simulated job go from phase to phase? It arrives, opens each once its input is there, and ends.

As tasks end, their output moves to the next phase over a pipe of the job's own, which moves a whole phase's output in
`transfer_ratio` times a task's mean time; the next phase starts once it has all of its input, and holds no slots while
it waits. A first phase is over once its job's error bound is met, or gives up at its deadline.
"""

from math import inf, nan
from typing import NamedTuple

import numpy as np

from controlplane.compiled import rule
from controlplane.estimators.samples import add_sample
from controlplane.model.columns import Flags, Floats, Record
from controlplane.simulator.cluster.ends import end_attempts
from controlplane.simulator.cluster.originals import restore_order
from controlplane.simulator.cluster.pair import PolicyPair
from controlplane.simulator.cluster.state import (
    ORIGINAL,
    State,
    arrival_leaf,
    cycle_leaf,
    job_leaf,
    set_due,
    waiting,
)
from controlplane.simulator.cluster.world import Workload, World, attempt_work_s
from controlplane.simulator.draws import job_key


class JobResults(NamedTuple):
    """What became of the jobs, shape (n_jobs,); nan for those still live when the run was stopped."""

    response_s: Floats
    cost_s: Floats
    """Slot time, copies and clean-up included."""
    met_short: Flags
    """Whether virtual sizes, its own among them, exceeded the slots when it arrived."""
    done_share: Floats
    """Of its first phase's tasks."""


def no_results(n_jobs: int) -> JobResults:
    """Of a run that has not begun."""
    unknown = np.full((3, n_jobs), nan)
    return JobResults(unknown[0], unknown[1], np.zeros(n_jobs, dtype=np.bool_), unknown[2])


@rule
def arrive(work: Workload, world: World, policy: PolicyPair, state: State) -> None:
    """The next job is there."""
    counts = state.counts[0]
    row, at = state.active[counts["n_active"]], counts["next_job"]
    job = state.jobs[row]
    job["id"], job["key"], job["arrival_s"] = at, job_key(world.seed, at), counts["now_s"]
    job["phase"], job["n_phases"] = -1, work.first_phase[at + 1] - work.first_phase[at]
    job["first_task"] = job["n_tasks"] = job["n_started"] = job["n_done"] = 0
    job["running"] = job["copies"] = job["n_wanted"] = job["target"] = 0
    job["restarts_queued"] = job["restart_room"] = 0
    job["most_copies"] = -1
    job["capped"], job["cost_s"], job["foreseen_s"] = False, 0.0, 0.0
    if len(state.runs) > 0:
        state.runs[row] = 0.0
    if policy.foresees_jobs:
        job["foreseen_s"] = originals_s(work, world, job, 0)
    counts["n_active"] += 1
    counts["next_job"] += 1
    open_phase(work, world, state, row)
    last = counts["next_job"] == len(work.arrival_s)
    set_due(state, arrival_leaf(state), inf if last else work.arrival_s[counts["next_job"]])


@rule
def originals_s(work: Workload, world: World, job: Record, first: int) -> float:
    """What the job's originals take from task `first` on, counted over all phases."""
    n_tasks, sum_s = 0, 0.0
    for phase in range(work.first_phase[job["id"]], work.first_phase[job["id"] + 1]):
        n_tasks += work.phase_tasks[phase]
    for task in range(first, n_tasks):
        sum_s += attempt_work_s(work, world, job, task, 0)
    return sum_s


@rule
def job_due(work: Workload, world: World, policy: PolicyPair, state: State, row: int, results: JobResults) -> None:
    """The job's next phase opens, or its first one gives up at its deadline."""
    job = state.jobs[row]
    if job["n_done"] < job["n_tasks"]:
        leave_undone(work, world, state, row)
        end_phase(work, policy, state, row, results)
    else:
        open_phase(work, world, state, row)


@rule
def open_phase(work: Workload, world: World, state: State, row: int) -> None:
    """All of the next phase's input is there; its tasks wait until the allocator, at once, has been asked."""
    job = state.jobs[row]
    at = work.first_phase[job["id"]] + job["phase"]
    if job["phase"] >= 0:
        job["first_task"] += work.phase_tasks[at]
    job["phase"] += 1
    job["n_tasks"] = work.phase_tasks[at + 1]
    due_s = inf
    if world.gives_up and job["phase"] == 0:
        due_s = max(job["arrival_s"] + work.input_deadline_s[job["id"]], state.counts[0]["now_s"])
    set_due(state, job_leaf(state, row), due_s)
    job["n_started"] = job["n_done"] = job["n_finished"] = job["originals"] = 0
    job["finished_every"] = 1
    restore_order(state, job)
    job["transferred_s"] = state.counts[0]["now_s"]
    state.counts[0]["n_waiting"] += job["n_tasks"]
    set_due(state, cycle_leaf(state), state.counts[0]["now_s"])


@rule
def leave_undone(work: Workload, world: World, state: State, row: int) -> None:
    """Give up what is not done of the job's first phase, which is open."""
    job = state.jobs[row]
    for slot in range(len(state.slots)):
        if state.slots[slot]["use"] == ORIGINAL and state.slots[slot]["job"] == row:
            end_attempts(world, state, slot, -1)
    state.counts[0]["n_waiting"] -= waiting(job)
    job["n_tasks"] = job["n_started"] = job["n_done"]
    if job["foreseen_s"] > 0:
        job["foreseen_s"] = originals_s(work, world, job, work.phase_tasks[work.first_phase[job["id"]]])


@rule
def end_phase(work: Workload, policy: PolicyPair, state: State, row: int, results: JobResults) -> None:
    """The job's phase is over: the next one opens once all that is done has reached it; with nothing done it ends."""
    job = state.jobs[row]
    if job["phase"] == 0:
        n_tasks = work.phase_tasks[work.first_phase[job["id"]]]
        results.done_share[job["id"]] = job["n_done"] / n_tasks
        if len(state.runs) > 0:
            within_s, age_s = work.input_deadline_s[job["id"]], state.counts[0]["now_s"] - job["arrival_s"]
            tried, error = policy.explores[job["id"]], state.seen_pools[0]["foretold_error"]
            add_sample(state.samples, state.runs[row], tried, within_s, n_tasks, error, age_s, job["cost_s"])
    if job["phase"] + 1 < job["n_phases"] and job["n_done"] > 0:
        set_due(state, job_leaf(state, row), max(job["transferred_s"], state.counts[0]["now_s"]))
    else:
        end_job(state, row, results)


@rule
def end_job(state: State, row: int, results: JobResults) -> None:
    """The job's last task has ended, or been given up."""
    job, counts = state.jobs[row], state.counts[0]
    set_due(state, job_leaf(state, row), inf)
    results.response_s[job["id"]] = counts["now_s"] - job["arrival_s"]
    results.cost_s[job["id"]] = job["cost_s"]
    place = 0
    while state.active[place] != row:
        place += 1
    counts["n_active"] -= 1
    for at in range(place, counts["n_active"]):
        state.active[at] = state.active[at + 1]
    state.active[counts["n_active"]] = row
