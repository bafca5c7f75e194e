"""Does `grasshopper simulate --model cluster` do what its help says?"""

import json

import pytest
from typer.testing import CliRunner

from controlplane.cli.simulator import app
from controlplane.processes import COMPILED_ONCE
from controlplane.simulator.cluster.scenario import ClusterScenario

pytestmark = pytest.mark.unit

SIMULATE = ["--model", "cluster", "--jobs", "60", "--seeds", "1,2", "--nodes", "10", "--slots", "4"]


def grasshopper(*arguments: str):
    return CliRunner().invoke(app, [*SIMULATE, *arguments])


def test_the_table_tells_response_times_by_job_size_and_the_measured_load():
    """What the papers report, beside what the slots were seen to do."""
    told = grasshopper("--policy", "srpt+late", "--workload", "facebook")
    assert told.exit_code == 0
    for words in ("response time, s, 1-50 tasks", "slowdown, 99 % of the jobs", "busy slots", "standard error"):
        assert words in told.stdout


def test_the_offered_load_stands_beside_the_busy_slots():
    """Copies that win end slow originals, so the two differ, and a reader asked for one of them."""
    told = grasshopper("--policy", "srpt+late", "--rho", "0.35")
    (busy,) = [line for line in told.stdout.splitlines() if "busy slots" in line]
    assert busy.split()[-1] == "0.35"
    assert [line.split()[-1] for line in told.stdout.splitlines() if "standard error" in line] == ["offered"]


def test_a_log_file_gets_a_line_for_each_seed():
    """Minutes without a word look as if it hung, as while kernels are compiled; standard output has results alone."""
    told = grasshopper("--policy", "srpt+late", "-o", "json")
    assert [line.partition(": ")[2] for line in told.stderr.splitlines()] == [
        f"loading kernels; they are {COMPILED_ONCE}",
        "simulating srpt+late: seed 1 is done, 1 of 2",
        "simulating srpt+late: seed 2 is done, 2 of 2",
    ]
    assert json.loads(told.stdout)["model"] == "cluster"


def test_the_record_holds_everything_that_went_in():
    """The pair of policies, the world, and a summary for each seed."""
    given = ("--shared", "0.5", "--noise", "0", "--replicas", "2", "--locality", "7")
    found = json.loads(grasshopper("-o", "json", *given).stdout)
    assert (found["model"], found["scenario"]["policy"], found["seeds"]) == ("cluster", "hopper+late", [1, 2])
    assert (found["scenario"]["shared_share"], found["scenario"]["noise"]) == (0.5, 0.0)
    assert (found["scenario"]["replicas"], found["scenario"]["locality_percent"]) == (2, 7.0)
    assert found["means"]["tasks beside their input"]["mean"] < 1
    assert [one["finished"] for one in found["runs"]] == [True, True]


def test_every_number_and_every_setting_of_both_policies_can_be_set_by_name():
    """A condition of a figure can be tried without a program of one's own; an option's own value gives way."""
    policies = ("allocator.fairness_epsilon=0.2", "speculator.copy_share=0.3")
    given = ("detect_s=1.5", "wanted_only=true", "noise=0", *policies)
    arguments = [word for pair in given for word in ("--set", pair)]
    scenario = json.loads(grasshopper("-o", "json", "--noise", "0.6", *arguments).stdout)["scenario"]
    assert (scenario["detect_s"], scenario["wanted_only"], scenario["noise"]) == (1.5, True, 0.0)
    assert scenario["allocator_settings"] == {"fairness_epsilon": 0.2}
    assert scenario["speculator_settings"] == {"copy_share": 0.3}


def test_budgets_hold_copies_to_the_engines_limits_or_to_those_that_are_set():
    """One word is enough for what is live; a limit of no copies shows that they hold."""
    live = json.loads(grasshopper("-o", "json", "--budgets").stdout)["scenario"]
    assert (live["budgets"], live["job_copy_share"], live["losing_share"]) == (True, 0.5, 0.25)
    none = json.loads(grasshopper("-o", "json", "--budgets", "--set", "job_copy_share=0").stdout)
    assert [one["copies_per_task"] for one in none["runs"]] == [0.0, 0.0]


CLUSTERS = "cluster or --model deadline"


@pytest.mark.parametrize(
    ("model", "other", "arguments"),
    [
        ("cluster", "masterworker", ("--d", "35")),
        ("cluster", "masterworker", ("--max-service-s", "60")),
        ("deadline", "masterworker", ("--d", "35")),
        ("masterworker", CLUSTERS, ("--locality", "0")),
        ("masterworker", CLUSTERS, ("--budgets",)),
        ("masterworker", CLUSTERS, ("--set", "detect_s=1")),
        ("masterworker", CLUSTERS, ("--workload", "synthetic")),
    ],
)
def test_an_option_of_the_other_model_is_refused(model, other, arguments):
    """It would change nothing, even where it says what holds anyway; its user would not know."""
    told = grasshopper("--model", model, *arguments)
    assert (told.exit_code, told.stdout) == (2, "")
    assert told.stderr.strip().endswith(f"{arguments[0]} belongs to --model {other}, not to {model}")


def test_the_model_with_deadlines_has_shed_plus_cluster_unless_it_is_changed():
    """Its numbers, its policy and its jobs; what is given holds, also of its bounds."""

    def simulated(*given: str):
        arguments = ["--model", "deadline", "--jobs", "20", "--seeds", "1", "-o", "json", *given]
        return json.loads(CliRunner().invoke(app, arguments).stdout)

    usual = simulated()
    scenario = usual["scenario"]
    assert (scenario["policy"], scenario["machines"], scenario["launch_s"]) == ("fifo+shed-plus", 138, 60.0)
    assert scenario["bounds"]["stock_times"] == 0.95
    assert "jobs that kept their deadline" in usual["means"]
    changed = simulated("--nodes", "50", "--set", "bounds.deadline_s=900", "--workload", "synthetic")["scenario"]
    assert (changed["machines"], changed["bounds"]["deadline_s"]) == (50, 900.0)
    assert changed["workload"]["service_s"] == 1.0
    kept = simulated("--set", "bounds.error=0.1,0.2", "--set", "bounds.gives_up=true")["scenario"]["bounds"]
    assert (kept["stock_times"], kept["error"], kept["gives_up"]) == (0.95, [0.1, 0.2], True)
    told = CliRunner().invoke(app, ["--model", "deadline", "--estimates", "engine"])
    assert (told.exit_code, "--estimates = 'engine', want exact" in told.stderr) == (2, True)


def test_jobs_come_from_any_trace_in_swim_format(tmp_path):
    """One's own cluster has one; its jobs are what is simulated."""
    rows = [f"job{row}\t{10 * row}\t10\t{(1 + row % 2) * 2**27}\t0\t0" for row in range(90)]
    path = tmp_path / "ours.tsv"
    path.write_text("\n".join(rows) + "\n")
    found = json.loads(grasshopper("--trace", str(path), "-o", "json").stdout)
    assert found["scenario"]["workload"]["trace"] == str(path)
    assert [one["bins"][0]["jobs"] for one in found["runs"]] == [one["jobs"] for one in found["runs"]]


@pytest.mark.parametrize("text", [None, "", "neither\ta\ttrace\n"])
def test_a_file_that_is_no_trace_is_refused(text, tmp_path):
    """Missing, empty, or something else."""
    path = tmp_path / "none.tsv"
    if text is not None:
        path.write_text(text)
    told = grasshopper("--trace", str(path))
    assert told.exit_code == 2
    assert "--trace" in told.stderr


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--set", "detekt_s=1"), "--set = 'detekt_s=1'"),
        (("--set", "detect_s=soon"), "--set detect_s"),
        (("--set", "kill_s=-1"), "--set kill_s"),
        (("--set", "wanted_only=3"), "--set wanted_only"),
        (("--set", "policy=fair+late"), "--set = 'policy=fair+late'"),
        (("--set", "kill.s=1"), "--set = 'kill.s=1'"),
        (("--set", "allocator=1"), "--set = 'allocator=1'"),
        (("--set", "allocator.copy_share=0.3"), "--set allocator.copy_share"),
        (("--set", "speculator.copy_share=7"), "--set speculator.copy_share"),
        (("--set", "kill_s=1", "--model", "masterworker"), "--set"),
        (("--set", "losing_share=0.1"), "--budgets"),
        (("--budgets", "--set", "losing_share=1.1"), "--set losing_share"),
        (("--weights", "1,x"), "--weights"),
        (("--weights", "0"), "--weights"),
        (("--weights", "1,3", "--workload", "facebook"), "--weights"),
        (("--policy", "hopper"), "--policy"),
        (("--policy", "best+late"), "--policy"),
        (("--shared", "2"), "--shared"),
        (("--nodes", "0"), "--nodes"),
        (("--pools", "2"), "--pools"),
        (("--pools", "3", "--estimates", "engine"), "--pools"),
    ],
)
def test_bad_input_names_its_option(arguments, named):
    """Exit code 2, and no traceback."""
    told = grasshopper(*arguments)
    assert told.exit_code == 2
    assert named in told.stderr


def test_seeds_that_were_done_are_told_when_somebody_stops_it(monkeypatch):
    """Ctrl-C after an hour loses the seed at hand, no other; the exit code says that it is not all."""
    simulate = ClusterScenario.simulate

    def stopped(scenario, seed):
        if seed == 2:
            raise KeyboardInterrupt
        return simulate(scenario, seed)

    monkeypatch.setattr(ClusterScenario, "simulate", stopped)
    told = grasshopper("-o", "json")
    assert told.exit_code == 1
    assert "1 of 2 seeds" in told.stderr
    found = json.loads(told.stdout)
    assert (found["seeds"], len(found["runs"])) == ([1], 1)
    none = grasshopper("--seeds", "2")
    assert (none.exit_code, none.stdout) == (1, "")


def test_a_relaunch_takes_its_factor_from_its_option():
    """What another policy does not know is refused by the same name."""
    found = json.loads(grasshopper("--policy", "fair+relaunch", "--w", "3", "-o", "json").stdout)
    assert found["scenario"]["speculator_settings"] == {"relaunch_factor": 3}
    refused = grasshopper("--policy", "fair+late", "--w", "3")
    assert (refused.exit_code, "--w" in refused.stderr) == (2, True)
