"""Do the benchmarks still run, and do they mean what they say? They are measured rarely."""

import json
from dataclasses import replace

import pytest

from controlplane.simulator.provenance import import_closure
from spark_listener.demo.application import Outcome
from spark_listener.demo.world import SIZES, World
from spark_listener.event_log import CopyCounts
from tests.bench import counterfactuals, cycle, demo_ratio, demo_rounds, sim_real
from tests.bench.__main__ import ROOT
from tests.bench.paced import slowdown

pytestmark = pytest.mark.unit


def test_a_cycle_is_timed_beside_its_memory():
    """A hundred tasks have a floor, and three cycles a percentile."""
    pool = cycle.Pool(jobs=10, tasks_per_job=10)
    row = cycle._row("cycle", pool.cycles_ms(3, warm_up=1), 50, pool.floor_ms())
    assert row["value"] > 0
    assert row["ratio"] > 0


def test_the_simulated_demo_draws_the_slowness_of_the_paced_file_system():
    """Otherwise it would predict another world. JUnit reads the same file (`WorldTest`)."""
    _, *lines = (ROOT / "tests" / "golden" / "paced_slowdowns.tsv").read_text().splitlines()
    for kind, seed, file_name, split, attempt, want in (line.split("\t") for line in lines):
        got = slowdown(World(seed=int(seed), kind=kind), file_name, int(split), int(attempt))
        assert got == pytest.approx(float(want), rel=1e-12)


def outcome(contestant, seed, seconds, losing_core_s=0.0):
    """Every job takes `seconds[job]`, else 10 s; 100 core-seconds in all."""
    job_s = {job.job_id: seconds.get(job.job_id, 10.0) for job in demo_ratio.SIZE.workload().jobs}
    copies = CopyCounts(launched=1, won=1, losing_core_s=losing_core_s, core_s=100.0)
    return Outcome(contestant=contestant, seed=seed, job_s=job_s, results={}, copies=copies, load=1.0)


@pytest.fixture
def rounds_run(monkeypatch, tmp_path):
    """The rounds that were run, in order; how to run one, which starts nothing; and those that are to be cut short."""
    ran, broken = [], set()

    def run(number, work_dir):
        (work_dir / "hopper+ras.db").open("a").write(f"{number} ")
        if number in broken:
            raise KeyboardInterrupt
        ran.append(number)
        return {"stock": [outcome("stock", number, {})]}

    monkeypatch.setattr(demo_rounds, "commit", lambda: "c0ffee")
    monkeypatch.setattr(demo_rounds, "code", lambda _: "de")
    monkeypatch.setattr(demo_rounds, "EARLIER", tmp_path / "rounds")
    monkeypatch.setattr(demo_rounds, "exit_on_signals", lambda: None)
    return ran, run, broken


def test_a_killed_measurement_goes_on_with_the_round_that_it_left(rounds_run, tmp_path):
    """Hours are long: nothing that is done is done again, and its outcomes are read as they were."""
    ran, run, broken = rounds_run
    folder = tmp_path / "half"
    broken.add(3)
    with pytest.raises(KeyboardInterrupt):
        demo_rounds.measured(folder, 4, [], run)
    broken.clear()
    found = demo_rounds.measured(folder, 4, [], run)
    assert ran == [1, 2, 3, 4]
    assert found == {"stock": [outcome("stock", number, {}) for number in (1, 2, 3, 4)]}
    assert (folder / "4" / "hopper+ras.db").read_text() == "1 2 3 4 ", "nothing is learned from a round that was cut"


def test_a_round_counts_only_for_its_code_and_with_all_rounds_before_it(rounds_run, tmp_path, monkeypatch):
    """The control plane of a round knows what the rounds before have taught it."""
    ran, run, _ = rounds_run
    folder = tmp_path / "data"
    demo_rounds.measured(folder, 3, [], run)
    (folder / "2" / "round.json").unlink()
    demo_rounds.measured(folder, 3, [], run)
    assert ran == [1, 2, 3, 2, 3]
    for commit, code, again in (("decaf", "de", []), ("decaf", "ad", [1]), ("decaf-dirty", "ad", [1])):
        monkeypatch.setattr(demo_rounds, "commit", lambda commit=commit: commit)
        monkeypatch.setattr(demo_rounds, "code", lambda _, code=code: code)
        ran.clear()
        demo_rounds.measured(folder, 1, [], run)
        assert ran == again, "files that differ from a commit may differ again"


def test_a_sitting_goes_on_where_the_last_one_ended(rounds_run, tmp_path):
    """Its outcomes were committed, and its stores were not."""
    ran, run, _ = rounds_run
    before = demo_rounds.measured(tmp_path / "before" / "half", 2, [], run)
    for number in (1, 2):
        place = tmp_path / "rounds" / "half" / f"{number}.json"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes((tmp_path / "before" / "half" / str(number) / "round.json").read_bytes())
    found = demo_rounds.measured(tmp_path / "half", 3, [], run)
    assert ran == [1, 2, 3]
    assert found["stock"][:2] == before["stock"]
    assert (tmp_path / "half" / "3" / "hopper+ras.db").read_text() == "3 "


def test_what_takes_part_in_a_round_is_what_decides():
    """A page costs no hours, nor does a policy that nobody runs under; a contestant's does."""
    names = demo_rounds.policies_of(demo_ratio.COMPETITORS)
    assert names == {"hopper", "ras", "unified"}
    places = demo_rounds.entry_points(names)
    assert all(place.exists() for files in places.values() for place in files)
    package = ROOT / "controlplane"
    closure = import_closure(package, places[package], without={demo_rounds.ALL_POLICIES})
    taking_part = {str(place.relative_to(package)) for place in closure}
    assert {
        "policies/unified/index.py",
        "policies/grass/ras.py",
        "deciding/budgets.py",
        "runtime/feed.py",
    } <= taking_part
    assert not {"api/page/jobs.py", "api/why.py", "main.py", "policies/shed_plus/dolly.py"} & taking_part
    assert len({demo_rounds.code(frozenset(some)) for some in (names, ("fifo", "shed-plus"), ())}) == 3


def test_a_round_during_which_files_have_changed_is_not_kept(rounds_run, tmp_path, monkeypatch):
    """Its processes have started from different files."""
    monkeypatch.setattr(demo_rounds, "commit", iter(("c0ffee", "c0ffee", "decaf")).__next__)
    with pytest.raises(SystemExit, match="it is decaf by now, and was c0ffee"):
        demo_rounds.measured(tmp_path / "data", 2, [], rounds_run[1])
    assert not (tmp_path / "data").exists()


def test_the_rows_say_who_pays_for_the_gain_and_with_what():
    """Goals hold for whole intervals; a job that is slower in every round is found among forty."""
    jobs = demo_ratio.SIZE.workload().jobs
    alone, slow = (next(job.job_id for job in jobs if job.tasks == tasks) for tasks in (1, 2))
    seeds = (1, 2, 3)
    outcomes = {
        "stock": [outcome("stock", seed, {}) for seed in seeds],
        "stock-tuned": [outcome("stock-tuned", seed, {}, losing_core_s=4.0) for seed in seeds],
        "hopper+ras": [outcome("hopper+ras", seed, {alone: 5.0, slow: 20.0}, losing_core_s=3.0) for seed in seeds],
    }
    lost = demo_ratio.losing_share("hopper+ras", "half", outcomes)
    rows = {row["name"]: row for row in demo_ratio.fairness("hopper+ras", "half", outcomes)}
    sizes = ("1 task", "2 to 5 tasks", "6 to 20 tasks")
    single, few, many = (rows[f"fairness-half hopper+ras {size}"] for size in sizes)
    assert (single["ratio"], single["met"]) == (pytest.approx((19 * 10 + 5) / 200, abs=1e-3), True)
    assert (few["ratio"], few["met"]) == (pytest.approx((7 * 10 + 20) / 80, abs=1e-3), False)
    assert many["ratio"] == 1.0
    worst = rows["fairness-half hopper+ras any job"]
    assert (worst["value"], worst["peer"], worst["met"]) == (2.0, f"{slow} under stock-tuned", False)
    assert (lost["value"], lost["goal"], lost["met"]) == (3.0, 4.0, True)
    cheaper = outcomes | {"stock-tuned": outcomes["stock"]}
    assert demo_ratio.losing_share("hopper+ras", "half", cheaper)["met"] is False


def test_the_size_bins_hold_every_job_once():
    """A job in no bin could be slow unseen."""
    tasks = [job.tasks for job in demo_ratio.SIZE.workload().jobs]
    assert sum(fewest <= n <= most for n in tasks for fewest, most in demo_ratio.BINS.values()) == len(tasks)
    assert all(any(fewest <= n <= most for n in tasks) for fewest, most in demo_ratio.BINS.values())


def test_the_ratio_to_either_stock_is_held_to_the_goal_of_its_world(tmp_path):
    """The row by job is beside it: a long job decides the mean."""
    names = [one.name for one in demo_ratio.COMPETITORS]
    outcomes = {name: [outcome(name, seed, {}) for seed in (1, 2)] for name in names}
    times_s = demo_rounds.mean_times(demo_ratio.COMPETITORS, outcomes, "data", tmp_path / "demo.json")
    tuned, defaults, by_job = demo_ratio.ratios("unified+unified", "data", times_s, outcomes)
    assert (tuned["goal"], tuned["met"], defaults["goal"]) == (0.92, False, None)
    assert (by_job["ratio"], by_job["name"]) == (1.0, "demo-ratio-data unified+unified by job")


def played(contestant, world, jobs=1, **overhead):
    """The first jobs of the small demo, on hosts of one core."""
    first = replace(SIZES["small"], jobs=jobs).workload().jobs
    overhead = sim_real.Overhead(**{"attempt_s": 0.25, "job_s": 0.0} | overhead)
    return sim_real.DemoPlay(sim_real.MODELS[contestant], first, 1, world, overhead, placement=1)


@pytest.mark.parametrize("contestant", sim_real.MODELS)
def test_a_simulated_job_takes_what_its_slowest_split_takes_to_read(contestant):
    """Three tasks on four hosts, of which none is sick, and neither stock nor ours can save anything in `data`."""
    world = World(seed=3, kind="data", sick_host="none")
    slowest_s = max(sim_real.read_s(world, "job320", task, 0) for task in range(3))
    assert played(contestant, world, job_s=1.0).job_s() == pytest.approx([slowest_s + 2 * 0.25 + 1.0], abs=0.05)


def test_a_simulated_sick_host_runs_for_a_share_of_each_second_and_for_whole_steps():
    """A sleep that outlasts the time in which the process is stopped is over when it goes on."""
    world = World(seed=3, sick_duty=0.25)
    play = played("stock", world)
    driver, sick = play.driver("spark:demo", range(4), 1), sim_real.HOSTS.index(world.sick_host)
    steps = [driver.duty(sick, sim_real.STEPS * step_s) for step_s in (0.05, 0.1, 0.3)]
    assert steps == pytest.approx([0.25, 0.3, 0.3])
    assert driver.duty(0, 1.0) == 1.0
    assert play.job_s()[0] > 1.5 * max(sim_real.read_s(world, "job320", task, 0) for task in range(3))


def test_simulated_stock_serves_stages_in_the_order_of_their_submission():
    """Of ten jobs on four slots the last waits for most of the work; a fair order serves small ones sooner."""
    world = World(seed=3, sick_host="none")
    fifo, fair = (played(name, world, jobs=10) for name in ("stock", "stock-tuned"))
    times_s = [play.job_s() for play in (fifo, fair)]
    assert times_s[0].mean() > 1.5 * times_s[1].mean()
    assert fifo.counts["launched"] == 0 < fair.counts["launched"]
    assert times_s[0][-1] > times_s[1][-1]


def test_no_simulated_job_is_shorter_than_its_floor():
    """It may have as many attempts, but waits for slots; the shortest job comes close."""
    world, jobs = World(seed=3, kind="data", sick_host=""), SIZES["small"].workload().jobs
    floors_s = counterfactuals.floor_s(jobs, world, sim_real.Overhead(attempt_s=0.25, job_s=0.0))
    times_s = played("hopper+ras", world, jobs=10).job_s()
    assert (times_s >= floors_s - 0.01).all()
    assert times_s.min() < 1.5 * floors_s.min()


def test_a_change_of_ours_leaves_stock_as_it_is(monkeypatch):
    """Its speculation has one copy of a task, whatever ours may have."""
    models, world = [], World(seed=3, sick_host="")
    monkeypatch.setattr(counterfactuals, "DemoPlay", lambda model, *_: models.append(model) or played("stock", world))
    change = counterfactuals.Change(title="four attempts", ours={"max_copies": 3})
    for name in ("stock-tuned", "hopper+ras"):
        change.job_s(name, world)
    assert [models[0].max_copies, models[-1].max_copies] == [1, 3]


def test_the_overhead_of_stock_is_what_attempts_take_beyond_reading_and_jobs_beyond_their_stages(tmp_path):
    """Attempts on the sick host say nothing of it, nor does the wait for a slot."""
    world = World(seed=3)
    read_ms = [round(1000 * sim_real.read_s(world, "job320", task, 0)) for task in range(2)]

    def submitted(stage, at_ms, group):
        info = {"Stage ID": stage, "Submission Time": at_ms}
        return {"Event": "SparkListenerStageSubmitted", "Stage Info": info, "Properties": {"spark.jobGroup.id": group}}

    def ended(stage, task, host, from_ms, to_ms):
        info = {"Index": task, "Attempt": 0, "Executor ID": "0", "Host": host, "Speculative": False}
        info |= {"Launch Time": from_ms, "Finish Time": to_ms}
        event = {"Event": "SparkListenerTaskEnd", "Stage ID": stage, "Stage Attempt ID": 0, "Task Info": info}
        return event | {"Task End Reason": {"Reason": "Success"}}

    events = [
        submitted(0, 0, ""),
        ended(0, 0, "127.0.0.2", 0, 9000),
        submitted(1, 10_000, "job320"),
        ended(1, 0, "127.0.0.2", 12_000, 12_000 + read_ms[0] + 300),
        ended(1, 1, "127.0.0.4", 12_000, 90_000),
        submitted(3, 90_200, "job320"),
        ended(3, 0, "127.0.0.3", 90_200, 90_300),
    ]
    log = tmp_path / "app"
    log.write_text("".join(json.dumps(event, separators=(",", ":")) + "\n" for event in events))
    overhead = sim_real.overhead_of(log, {"job320": 81.0}, world)
    assert overhead.attempt_s == pytest.approx((0.3 + 0.1) / 2, abs=1e-3)
    assert overhead.job_s == pytest.approx(81.0 - 80.0 - 0.1)
