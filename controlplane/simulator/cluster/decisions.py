"""What does a cycle decide on the simulated cluster? Shows the policies their records, and keeps what they answer.

The policies are the engine's own kernels, called by code, and their records are filled in as the engine's are. One pass
over everything that runs asks the speculator, one over the live jobs the allocator, which is also asked when a phase
opens. Between cycles slots go by the answers of the last one (`turns`).
"""

from math import exp, inf, isnan, nan, pi, sqrt

from controlplane.compiled import kernel, rule
from controlplane.deciding.asking import ask_allocator, ask_speculator
from controlplane.deciding.bounds import needed_tasks
from controlplane.deciding.room import spare_room
from controlplane.deciding.standing import attempts_reason, see_attempt, without_attempts
from controlplane.estimators.shared_slowness import LEAST_LOG, kept_share, pair_evidence
from controlplane.estimators.transfer_ratio import transfer_ratio
from controlplane.model.columns import Floats, Record, Records
from controlplane.model.finished import MOST_FINISHED
from controlplane.policies.dispatch import share_copies
from controlplane.policies.seen import NO_WAITING, Seen
from controlplane.simulator.cluster.offsets import done_at, next_offset
from controlplane.simulator.cluster.originals import order_originals, see_originals
from controlplane.simulator.cluster.pair import PolicyPair
from controlplane.simulator.cluster.races import note_race, slowness_log, typical_s
from controlplane.simulator.cluster.state import ORIGINAL, State, waiting
from controlplane.simulator.cluster.wanted import keep_wanted, note_restart_room
from controlplane.simulator.cluster.world import Workload, World, attempt_work_s, mean_factor


@kernel
def run_cycle(work: Workload, world: World, policy: PolicyPair, state: State) -> None:
    """Ask the allocator, then, if a review is due, the speculator; the other way where shares count wanted copies."""
    state.counts[0]["cycles"] += 1
    is_review = state.counts[0]["now_s"] >= state.counts[0]["review_s"]
    if not policy.wanted_only:
        set_targets(work, world, policy, state)
    if is_review:
        review(work, world, policy, state, see_originals(work, world, policy, state))
    if policy.wanted_only:
        set_targets(work, world, policy, state)
    if is_review:
        note_restart_room(state)
    if policy.copy_budget >= 0:
        limit_copies(policy, state)
    list_asking(state)


@rule
def review(work: Workload, world: World, policy: PolicyPair, state: State, shown: Records) -> None:
    """Ask the speculator about all that runs, and show it these originals.

    They are made by its caller, a kernel: a rule would never free them.
    """
    counts = state.counts[0]
    view_groups(work, world, policy, state)
    n_tasks = view_tasks(work, world, policy, state)
    pools, jobs, stages, weights = state.seen_pools, state.seen_jobs, state.seen_stages, policy.speculator_weights
    tasks, finished = state.tasks[:n_tasks], state.finished
    seen = Seen(0, state.claimants[:0], pools, jobs, stages, tasks, finished, weights, shown)
    answer = state.speculation[:n_tasks]
    counts["is_lawful"] &= ask_speculator(policy.speculator, seen, policy.speculator_settings, answer)
    keep_wanted(state, n_tasks)
    if policy.orders_waiting:
        order_originals(work, policy, state, seen)


@rule
def set_targets(work: Workload, world: World, policy: PolicyPair, state: State) -> None:
    """Ask the allocator, and write the shares down with the jobs, whose order is the claimants'."""
    n_claimants = state.counts[0]["n_claimants"] = view_claimants(work, world, policy, state)
    shares = state.allocation[:n_claimants]
    seen = see_claimants(state, n_claimants, policy.allocator_weights)
    state.counts[0]["is_lawful"] &= ask_allocator(policy.allocator, seen, policy.allocator_settings, shares)
    row, total = 0, 0.0
    for place in range(state.counts[0]["n_active"]):
        job = state.jobs[state.active[place]]
        if job["n_tasks"] == job["n_done"]:
            continue
        share = shares[row]
        job["target"], job["originals"], job["capped"] = share["target"], share["originals"], share["cap"] >= 0
        job["size"], job["precedence"] = share["virtual_size"], share["precedence"]
        total += share["virtual_size"]
        row += 1
    state.counts[0]["is_short"] = total > len(state.slots)


@rule
def limit_copies(policy: PolicyPair, state: State) -> None:
    """Ask the copy budget about the jobs that the allocator was asked about, and write its answers down with them."""
    n_claimants = state.counts[0]["n_claimants"]
    budgets = state.copy_budgets[:n_claimants]
    seen = see_claimants(state, n_claimants, policy.copy_budget_weights)
    share_copies(policy.copy_budget, seen, policy.copy_budget_settings, budgets)
    row = 0
    for place in range(state.counts[0]["n_active"]):
        job = state.jobs[state.active[place]]
        if job["n_tasks"] != job["n_done"]:
            job["most_copies"] = budgets[row]["copies"]
            row += 1


@rule
def see_claimants(state: State, n_claimants: int, weights: Floats) -> Seen:
    """What an allocator and a copy budget see: claimants alone."""
    slots, claimants, pools, jobs = len(state.slots), state.claimants, state.seen_pools[:0], state.seen_jobs[:0]
    stages, tasks, finished = state.seen_stages[:0], state.tasks[:0], state.finished[:0]
    return Seen(slots, claimants[:n_claimants], pools, jobs, stages, tasks, finished, weights, NO_WAITING)


@rule
def view_groups(work: Workload, world: World, policy: PolicyPair, state: State) -> None:
    """Fill in the records of the pool, and of each live job and its open phase, in the job's row."""
    counts, pool, is_known = state.counts[0], state.seen_pools[0], len(state.finished) > 0
    pool["slots"], pool["copies"] = len(state.slots), counts["copies"]
    pool["idle"] = max(counts["n_free"] - counts["n_waiting"], 0)
    pool["executor_slots"] = len(state.slots) // world.machines
    pool["foretold_error"] = 0.0 if policy.foresees_attempts else world.noise * sqrt(2.0 / pi)
    pool["tail_index"] = inf if policy.foresees_attempts else policy.tail_index
    pool["kept_slowness"] = kept_share(counts["seen_log"], counts["kept_log"])
    pool["startup_s"], pool["tell_s"] = world.launch_s, world.launch_s + world.detect_s + policy.cycle_s
    pool["waiting_jobs"], pool["resumes"] = 0, world.resumes
    for place in range(counts["n_active"]):
        row = state.active[place]
        job, seen, stage = state.jobs[row], state.seen_jobs[row], state.seen_stages[row]
        age_s, is_input = counts["now_s"] - job["arrival_s"], job["phase"] == 0
        seen["tasks"], seen["error_bound"] = job["n_tasks"], work.error_bound[job["id"]]
        seen["age_s"], seen["deadline_s"] = age_s, work.deadline_s[job["id"]] - age_s
        seen["room"] = spare_room(job["target"] - job["running"], waiting(job), False)
        seen["waiting"] = waiting(job)
        seen["explores"] = policy.explores[job["id"]] if len(policy.explores) > 0 else -1
        pool["waiting_jobs"] += waiting(job) > 0
        stage["tasks"], stage["done"] = job["n_tasks"], job["n_done"]
        stage["needed"] = needed_tasks(job["n_tasks"], job["n_done"], seen["error_bound"] if is_input else 0.0)
        stage["deadline_s"] = work.input_deadline_s[job["id"]] - age_s if is_input else inf
        stage["prepared"] = policy.prepared[work.first_phase[job["id"]] + job["phase"]]
        stage["finished_from"] = row * MOST_FINISHED if is_known else -1
        stage["finished_to"] = stage["finished_from"] + job["n_finished"]


@rule
def view_tasks(work: Workload, world: World, policy: PolicyPair, state: State) -> int:
    """Fill in a record for each running task; returns how many there are."""
    n_tasks = 0
    for slot in range(len(state.slots)):
        original = state.slots[slot]
        if original["use"] != ORIGINAL:
            continue
        job, task = state.jobs[original["job"]], state.tasks[n_tasks]
        fresh_s = typical_s(work, world, job)
        see_attempts(world, policy, state, slot, fresh_s, task)
        task["job"] = task["stage"] = original["job"]
        task["running_attempts"], task["attempts_started"] = original["attempts"], original["n_started"]
        task["t_new_s"], task["sibling_rate"] = fresh_s, 1.0 / fresh_s
        if policy.foresees_attempts:
            next_s = attempt_work_s(work, world, job, original["task"], original["n_started"])
            task["t_new_s"] = world.launch_s + next_s
        if world.resumes:
            left = 1.0 - next_offset(world, state, slot, state.counts[0]["now_s"] + world.launch_s)
            task["t_new_s"] = world.launch_s + left * (task["t_new_s"] - world.launch_s)
        task["t_fresh_s"], task["likeness"] = task["t_new_s"], original["likeness"]
        task["expected_s"] = world.launch_s + work.service_s[job["id"]] * mean_factor(
            world.tail_index, world.tail_share
        )
        task["service_s"] = work.service_s[job["id"]]
        task["relative_size"] = task["work"] = 1.0
        state.task_slots[n_tasks] = slot
        n_tasks += 1
    return n_tasks


@rule
def see_attempts(world: World, policy: PolicyPair, state: State, slot: int, fresh_s: float, task: Record) -> None:
    """Bring a task's attempts down to one record, as the engine does: the least t_rem, the best rate, the oldest age.

    An attempt whose rate cannot be read yet counts as a typical one; with it the task is eligible only `at_start`.
    A speculator that foresees needs no readable rate.
    """
    now_s, original = state.counts[0]["now_s"], state.slots[slot]
    without_attempts(task)
    is_too_new, last, oldest_log, oldest_left, most_done = False, slot, nan, 0.0, -1.0
    seen, can_judge, at = True, True, original["newest"]
    while seen or at >= 0:
        attempt = state.slots[slot if seen else at]
        elapsed_s = now_s - attempt["started_s"]
        if policy.foresees_attempts:
            t_rem_s = attempt["end_s"] - now_s
        elif now_s >= attempt["readable_s"]:
            t_rem_s = (attempt["end_s"] - now_s) * attempt["noise"]
        else:
            t_rem_s, is_too_new = max(fresh_s - elapsed_s, 0.0), True
        is_readable, offset = now_s >= attempt["readable_s"], attempt["offset"]
        task["too_new"] &= not is_readable
        own_log = slowness_log(world, elapsed_s + t_rem_s, fresh_s, offset)
        done = done_at(attempt, world.launch_s, now_s)
        if t_rem_s < task["t_rem_s"]:
            task["slowness"], original["soonest"] = max(exp(own_log), 1.0), slot if seen else at
        if done > most_done:
            most_done, original["furthest"] = done, slot if seen else at
        if t_rem_s > task["worst_rem_s"]:
            last = slot if seen else at
        if seen:
            oldest_log, oldest_left = own_log if is_readable else nan, t_rem_s / (elapsed_s + t_rem_s)
        elif at == original["newest"] and is_readable and not isnan(oldest_log):
            if oldest_log >= LEAST_LOG:
                error = state.seen_pools[0]["foretold_error"]
                original["likeness"] = pair_evidence(oldest_log, own_log, policy.tail_index, error)
            if not (original["is_copy"] or original["compared"]):
                note_race(world, state, slot, oldest_log, oldest_left, own_log)
        rate = (1.0 - offset) / max(elapsed_s + t_rem_s, 1e-9)
        see_attempt(task, elapsed_s, t_rem_s, rate, done)
        can_judge &= is_readable
        at = at if seen else attempt["older"]
        seen = False
    task["standing"] = attempts_reason(is_too_new, policy.at_start, original["attempts"], policy.max_copies)
    task["eligible"] = task["standing"] == 0
    task["copies_left"] = policy.max_copies + 1 - original["attempts"]
    original["last"] = last if can_judge else -1


@rule
def view_claimants(work: Workload, world: World, policy: PolicyPair, state: State) -> int:
    """Fill in a record for each job with an open phase; returns how many there are."""
    n_claimants, now_s = 0, state.counts[0]["now_s"]
    for place in range(state.counts[0]["n_active"]):
        job, claimant = state.jobs[state.active[place]], state.claimants[n_claimants]
        left = job["n_tasks"] - job["n_done"]
        job["target"] = 0
        if left == 0:
            continue
        mean_s = world.launch_s + work.service_s[job["id"]] * mean_factor(world.tail_index, world.tail_share)
        claimant["arrival_s"], claimant["weight"] = job["arrival_s"], work.weight[job["id"]]
        next_phase, unfinished = work.first_phase[job["id"]] + job["phase"] + 1, left
        for phase in range(next_phase, work.first_phase[job["id"] + 1]):
            unfinished += work.phase_tasks[phase]
        claimant["remaining_tasks"], claimant["remaining_work_s"] = left, unfinished * mean_s
        claimant["downstream_tasks"], claimant["transfer_ratio"] = 0.0, 1.0
        if policy.foresees_jobs:
            claimant["remaining_work_s"] = unfinished * world.launch_s + job["foreseen_s"]
        if job["phase"] + 1 < job["n_phases"]:
            claimant["downstream_tasks"] = work.phase_tasks[next_phase]
            moving_s = max(job["transferred_s"] - now_s, 0.0) * job["n_tasks"]
            claimant["transfer_ratio"] = work.transfer_ratio[job["id"]] + moving_s / (left * mean_s)
            if policy.typical_transfer > 0:
                claimant["transfer_ratio"] = transfer_ratio(
                    transfer_bytes=claimant["transfer_ratio"],
                    work_s=1.0,
                    typical_bytes_per_work_s=policy.typical_transfer,
                )
        copies = job["n_wanted"]
        if not policy.wanted_only:
            copies = max((job["n_started"] - job["n_done"]) * policy.max_copies - job["copies"], 0)
        claimant["running"] = job["running"]
        claimant["usable"] = job["running"] + waiting(job) + copies
        claimant["foreseen"] = job["running"] + waiting(job) + max(left * policy.max_copies - job["copies"], 0)
        claimant["tail_index"] = policy.tail_index
        claimant["fixed_target"] = claimant["fixed_cap"] = -1
        claimant["pool"], claimant["pool_slots"], claimant["copies"] = 0, len(state.slots), job["copies"]
        claimant["deadline_s"] = work.deadline_s[job["id"]] - (now_s - job["arrival_s"])
        claimant["error_bound"] = work.error_bound[job["id"]]
        n_claimants += 1
    return n_claimants


@rule
def list_asking(state: State) -> None:
    """List the jobs with something to start."""
    n_asking = 0
    for place in range(state.counts[0]["n_active"]):
        job = state.jobs[state.active[place]]
        if job["n_done"] < job["n_tasks"] and (waiting(job) > 0 or job["n_wanted"] > 0):
            state.asking[n_asking] = state.active[place]
            n_asking += 1
    state.counts[0]["n_asking"] = n_asking
