"""Does a policy of another package run live, in `decide` and in the simulator, by its entry point alone?"""

import json

import pytest

from tests.toy_package import ENTRY_POINTS, TOY, install, run

PROGRAM = """
import json
from dataclasses import replace
from controlplane.engine.decide import decide
from controlplane.model.parameters import EngineSettings
from controlplane.model import facts as f
from controlplane.simulator.masterworker.scenario import MasterWorkerScenario
from tests.scenario import Scenario
from tests.simulator.cluster.test_scenario import VARIED

live = Scenario(EngineSettings(mode=f.Mode.CONTROL, allocator="last-come", speculator="eager"))
copies = live.run_with_straggler()
watched = Scenario(EngineSettings(speculator="none"))
watched.run_with_straggler()
dump = watched.scheduler.snapshot(watched.now_s)
decided = [decide(dump, pair, EngineSettings()).pools[0].copies for pair in ("last-come+eager", "fair+none")]
simulated = replace(next(iter(VARIED.values())), policy="last-come+eager", jobs=4).simulate(1)
indices = [[task.index for task in tasks] for tasks in (copies, *decided)]
ordered = [record.inputs["n_known"] for record in live.records() if record.order and "score" in record.inputs]
shown = [task.inputs["n_known"] for task in live.scheduler.snapshot(live.now_s).pools[0].tasks]
expanding, plain = (MasterWorkerScenario(policy=name, jobs=200).simulate(1).cost_s for name in ("eager", "none"))
print(json.dumps([sorted({*ordered, *shown}), *indices, simulated.copies_per_task, expanding / plain]))
"""


SEVERAL = """
import json
from dataclasses import replace
from controlplane.engine.decide import decide
from controlplane.model.parameters import EngineSettings
from controlplane.model import facts as f
from tests.scenario import Scenario, orders
from tests.simulator.cluster.test_scenario import VARIED

settings = EngineSettings(mode=f.Mode.CONTROL, speculator="several", max_copies_per_task=3)
live = Scenario(settings)
copies = live.run_with_straggler()
cycles = [decision for decision in live.decisions if orders(decision)]
narrow = Scenario(replace(settings, job_copy_share=0.01))
narrow.run_with_straggler()
first = next(decision for decision in narrow.decisions if orders(decision))
watched = Scenario(EngineSettings(speculator="none"))
watched.run_with_straggler()
decided = decide(watched.scheduler.snapshot(watched.now_s), "fair+several", settings).pools[0].copies
simulated = [
    replace(next(iter(VARIED.values())), policy=f"fair+{name}", max_copies=2, jobs=40, offered_load=0.2).simulate(1)
    for name in ("eager", "several")
]
print(json.dumps([
    [record.reason.label for record in first.records if record.index == 3],
    [[(order.index, order.host) for order in orders(cycle)] for cycle in cycles],
    [(task.index, task.host) for task in decided],
    [one.copies_per_task for one in simulated],
]))
"""


BUDGETED = """
import json
from dataclasses import replace
from controlplane.engine.decide import decide
from controlplane.model.parameters import EngineSettings
from controlplane.model import facts as f
from tests.scenario import Scenario, orders
from tests.simulator.cluster.test_scenario import VARIED

settings = EngineSettings(mode=f.Mode.CONTROL, speculator="several", max_copies_per_task=3, copy_budget="first-job")
ordered = []
for budget in ({}, {"copies": 2.0}, {"copies": 0.0}):
    live = Scenario(replace(settings, copy_budget_settings=budget))
    live.run_with_straggler()
    refused = {record.reason.label for record in live.records() if record.action.label == "refuse_copy"}
    ordered.append([sum(map(len, map(orders, live.decisions))), "no_budget_job" in refused])
watched = Scenario(EngineSettings(speculator="none"))
watched.run_with_straggler()
decided = decide(watched.scheduler.snapshot(watched.now_s), "fair+several", settings).pools[0].copies
scenario = replace(next(iter(VARIED.values())), policy="fair+several", max_copies=2, jobs=40, offered_load=0.2)
simulated = [
    replace(scenario, copy_budget=name).simulate(1).copies_per_task for name in ("", "first-job")
] + [replace(scenario, copy_budget="first-job", copy_budget_settings={"copies": 0.0}).simulate(1).copies_per_task]
print(json.dumps([ordered, len(decided), simulated]))
"""


ORDERED = """
import json
from controlplane.engine.decide import decide
from controlplane.model.parameters import EngineSettings
from controlplane.model import facts as f
from controlplane.model.orders import RunNext
from controlplane.simulator.cluster.scenario import ClusterScenario
from controlplane.simulator.cluster.workloads import Listed
from tests.scenario import Scenario

SIZES = [1000] * 8 + [300, 900, 600, 1200]

def told(decision):
    orders = (order for orders in decision.orders.values() for order in orders)
    return [order.indices for order in orders if isinstance(order, RunNext)]

def run_next(live):
    return [record for record in live.records() if record.action.label == "run_next"]

def begin(**settings):
    live = Scenario(EngineSettings(speculator="largest-first", grant_ttl_ms=6000, **settings))
    decisions = [live.stage(12, input_bytes=SIZES), live.start_all(8)]
    return live, [indices for decision in decisions for indices in told(decision)]

live, first = begin(mode=f.Mode.CONTROL)
steps = [first[-1]]
steps += told(live.tell([live.ended(0, 1.0), live.started(20, 0, index=11)]))
steps += told(live.tell([live.ended(5, 1.0, outcome=f.Outcome.FAILED)]))
n_records = len(run_next(live))
live.now_s = 3.1
again, n_again = told(live.tell()), len(run_next(live)) - n_records
live.tell([f.OrderOutcome(order=run_next(live)[-1].order, result=f.OrderResult.APPLIED)])
live.tell([f.StageEnded(stage=1, stage_attempt=0)])
live.now_s = 30.0
live.tell()
outcomes = [outcome for decision in live.decisions for outcome in decision.outcomes]
kinds = {(each.kind, each.result.value) for each in outcomes if each.kind == "run_next"}
shadow, none = begin(mode=f.Mode.SHADOW)
large = Scenario(EngineSettings(mode=f.Mode.CONTROL, speculator="largest-first"))
of_many = told(large.stage(10_000))
watched = Scenario(EngineSettings(speculator="none"))
watched.stage(12, input_bytes=SIZES)
watched.start_all(8)
dump = watched.scheduler.snapshot(0.0)
advice = decide(dump, "fair+largest-first", EngineSettings()).pools[0].waiting
simulated = ClusterScenario(
    policy="fair+last-first", workload=Listed(original_s=((3.0, 1.0, 2.0, 4.0),), copy_s=9.0), jobs=1, machines=1,
    slots_per_machine=1, max_copies=0, launch_s=0.0,
).schedule(1)
print(json.dumps([
    steps, [again, n_again], sorted(kinds), [len(run_next(shadow)), none],
    [len(of_many), len(of_many[0]), of_many[0][:2]], [each.indices for each in advice],
    decide(large.scheduler.snapshot(0.0), "fair+none", EngineSettings()).pools[0].waiting,
    (simulated["ended_s"] - simulated["started_s"]).tolist(),
]))
"""


DUMP = """
import os
from pathlib import Path
import msgspec
from controlplane.model.parameters import EngineSettings
from tests.scenario import Scenario

watched = Scenario(EngineSettings(speculator="none"))
watched.run_with_straggler()
dump = watched.scheduler.snapshot(watched.now_s)
Path(os.environ["DUMP"]).write_bytes(msgspec.json.encode(dump))
"""
COMMAND = "from controlplane.cli.app import app; app()"
GAINLESS = ("--policy", "fair+gainless")
SIMULATED = ("--model", "cluster", "--jobs", "30", "--seeds", "1")


STORIES = """
from hypothesis import given, settings
from tests.engine.test_loading import Dumped, control
from tests.engine.test_random_stimuli import play, stories

ordered = []

class Ordering(Dumped):
    def compare(self, dump, decision):
        super().compare(dump, decision)
        ordered.extend(record for record in decision.records if record.action.label == "run_next" and record.order)

@settings(max_examples=60, deadline=None, derandomize=True)
@given(story=stories)
def tell(story):
    play(Ordering(control("fair+largest-first")), story)

tell()
print(len(ordered))
"""


@pytest.fixture
def installed(tmp_path):
    """A folder with the toys."""
    return install(tmp_path)


@pytest.mark.unit
def test_it_runs_live_and_in_decide_and_simulated(installed):
    """Task 3 is the straggler; it gets its copy, from a kernel that has the name of one of ours."""
    done = run(PROGRAM, installed)
    assert done.returncode == 0, done.stderr
    inputs, *copied, copies_per_task, cost_ratio = json.loads(done.stdout)
    assert inputs == [9.0], "every decision about a task has what `Row.shows` may be computed from"
    assert copied == [[3], [3], []]
    assert copies_per_task > 0.0
    assert cost_ratio > 1.1, "on the master-worker system it starts twice the tasks"


@pytest.mark.unit
def test_one_answer_may_want_several_copies_of_a_task(installed):
    """Shed+ and Dolly do: both start in one cycle, each on a host of its own, live, in `decide` and simulated."""
    done = run(SEVERAL, installed)
    assert done.returncode == 0, done.stderr
    narrow, cycles, decided, (one, two) = json.loads(done.stdout)
    (live,) = cycles
    for copies in (live, decided):
        assert [index for index, _ in copies] == [3, 3]
        assert len({host for _, host in copies} - {"h3"}) == 2
    assert narrow == ["ends_sooner"], "a second copy beyond the budget takes nothing back of the first"
    assert 1.5 * one < two <= 2 * one


@pytest.mark.unit
def test_jobs_compete_for_copies_where_a_copy_budget_shares_them(installed):
    """Shed+ and Dolly share copies among jobs, within the engine's own limits: live, in `decide` and simulated."""
    done = run(BUDGETED, installed)
    assert done.returncode == 0, done.stderr
    ordered, n_decided, (free, some, none) = json.loads(done.stdout)
    assert ordered == [[1, False], [2, False], [0, True]]
    assert n_decided == 1
    assert free > some > none == 0.0


@pytest.mark.unit
def test_waiting_originals_start_in_the_order_that_a_policy_wants(installed):
    """GRASS picks a copy or a waiting original. One order for a stage, a lease; in `decide` and simulated, too."""
    done = run(ORDERED, installed)
    assert done.returncode == 0, done.stderr
    steps, lease, kinds, shadow, many, advice, of_none, durations_s = json.loads(done.stdout)
    assert steps == [[11, *range(8), 9, 10, 8], [5, 9, 10, 8]], "only what waits again is news"
    assert lease == [[[5, 9, 10, 8]], 0]
    assert kinds == [["run_next", "applied"], ["run_next", "moot"]]
    assert shadow == [1, []]
    assert many == [1, 1000, [9999, 9998]], "one order for 10,000 tasks, which names the first thousand"
    assert (advice, of_none) == ([[11, 9, 10, 8]], [])
    assert durations_s == [4.0, 2.0, 1.0, 3.0], "the simulated slot takes the task with the highest number first"


@pytest.mark.unit
def test_a_dump_orders_waiting_originals_as_the_engine_did(installed):
    """Whatever has been said until then, all that `test_loading` compares, and the orders of waiting originals."""
    done = run(STORIES, installed)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 20


@pytest.mark.unit
def test_a_policy_that_breaks_a_law_is_named(installed, tmp_path):
    """In `decide` and simulated it ends the command; live its pool gets no orders (tests/engine/test_laws.py)."""
    done = run(DUMP, installed, DUMP=str(tmp_path / "dump.json"))
    assert done.returncode == 0, done.stderr
    decided = run(COMMAND, installed, "decide", "--snapshot", str(tmp_path / "dump.json"), *GAINLESS)
    simulated = run(COMMAND, installed, "simulate", *SIMULATED, *GAINLESS)
    assert (decided.returncode, simulated.returncode) == (1, 1), decided.stderr + simulated.stderr
    assert "its pool gets no orders until it stops: fair+gainless in spark:app" in decided.stderr
    assert "no copy without a positive gain: fair+gainless" in simulated.stderr


@pytest.mark.full
def test_it_compiles_only_what_calls_it(installed, tmp_path):
    """A minute for a policy of one loop would be a minute for every change of it."""
    compiled = {}
    for folder in (tmp_path / "nothing", installed):
        done = run(
            "from controlplane.engine.warming import warm; warm()",
            folder,
            NUMBA_DISABLE_JIT="0",
            XDG_CACHE_HOME=str(tmp_path / "cache"),
        )
        assert done.returncode == 0, done.stderr
        compiled[folder] = {path.name: path.parent.parent for path in (tmp_path / "cache").rglob("*.nbc")}
    new = {name.partition("-")[0] for name in compiled[installed].keys() - compiled[tmp_path / "nothing"].keys()}
    assert {"toy_policies.none", "toy_policies.last_come"} <= new
    assert not {name for name in new if name.startswith(("late", "mantri", "running", "views", "host_slowness"))}


@pytest.mark.unit
def test_what_is_no_row_is_named(installed):
    """Whoever has misspelt an entry point learns which."""
    points = installed / "toy_policies-1.0.dist-info" / "entry_points.txt"
    points.write_text(ENTRY_POINTS.replace(":EAGER", ":PATIENCE"))
    done = run("import controlplane.policies.registry", installed)
    assert "TypeError: entry point eager of grasshopper.policies: got Setting(" in done.stderr


@pytest.mark.unit
@pytest.mark.parametrize("name", ["fair", "clairvoyant"])
def test_a_name_in_use_is_refused(installed, name):
    """Neither would be found by it; the second is a simulator's."""
    (installed / "toy_policies.py").write_text(TOY.replace('name="last-come"', f'name="{name}"'))
    done = run("import controlplane.policies.registry", installed)
    assert (
        f"entry point last-come of grasshopper.policies: got allocator '{name}', want a name that is not in use"
        in done.stderr
    )


@pytest.mark.unit
@pytest.mark.parametrize(
    ("was", "now", "named"),
    [
        ('name="eager"', 'name=""', "got '', want a name without +"),
        ('name="eager"', 'name="a+b"', "got 'a+b', want a name without +"),
        ("default=1.5, low=0.0", "default=-1.5, low=0.0", "got -1.5, want 0 to 1e+09 as the default of patience_s"),
        ("settings=(PATIENCE,),", "settings=(PATIENCE, PATIENCE),", "got 'patience_s', want settings with names"),
        (
            'name="eager", kind=Kind.SPECULATOR, kernel=none',
            'name="eager", kind="nope", kernel=none',
            "got 'nope', want",
        ),
        ("kernel=none, about", "kernel=lambda *seen: None, about", "got '<lambda>', want a kernel under its own name"),
        ("import ", "import nothing_of_this_name, ", "does not load: ModuleNotFoundError"),
    ],
)
def test_a_row_that_cannot_work_is_named_with_what_is_wrong(installed, was, now, named):
    """When the rows are listed, and not when its policy is first asked."""
    (installed / "toy_policies.py").write_text(TOY.replace(was, now))
    done = run("import controlplane.policies.registry", installed)
    last = done.stderr.splitlines()[-1]
    assert "entry point " in last
    assert named in last
