"""What share of small changes do the tests notice? `python -m tests.mutants` tries a sample on the last commit.

Each change is tried with kernels as plain Python, and only by tests that run the changed line (`recording.py`). What is
tried is kept in build/mutants/<commit>; a run that was stopped goes on from there. build/mutants.json has the share and
every change that went unnoticed; it is committed as tests/bench/mutants.json. Changes that change nothing are listed,
with the reason, in equivalent.toml, and do not count.
"""

import argparse
import json
import queue
import random
import shutil
import subprocess
import sys
import threading
import time
import tomllib
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

from controlplane.processes import write_whole
from tests.mutants.changes import Change, changes
from tests.mutants.recording import Recording
from tests.mutants.trials import Forks, tried
from tests.suites import TESTS_FAILED

ROOT = Path(__file__).resolve().parents[2]
REPORT = ROOT / "build" / "mutants.json"
EQUIVALENT = "tests/mutants/equivalent.toml"
FOLDERS = ("model", "estimators", "deciding", "engine", "policies", "api", "store", "runtime", "simulator")
NO_RULES = "controlplane/simulator/experiments/"
"""They draw and tabulate what the simulator's rules gave."""
IN_PROCESS = ("--doctest-modules", "controlplane", "tests", "-m", "not (integration or browser or soak or full)")
NOT_OURS = tuple(f"--ignore=tests/{name}" for name in ("integration", "docker", "bench", "mutants"))
RECORDING_S = 3600.0
"""Processor time for all tests with every line recorded, at the most."""
PROCESSES = 2


def files(root: Path) -> list[str]:
    """Whose code is changed, relative to the root."""
    found = [path for name in FOLDERS for path in (root / "controlplane" / name).rglob("*.py")]
    names = sorted(str(path.relative_to(root)) for path in found)
    return [name for name in names if not name.startswith(NO_RULES)]


def sample(root: Path, seed: int, count: int) -> list[Change]:
    """Changes at different places, each place as likely; a shorter sample is the beginning of a longer one."""
    places = [place for file in files(root) for place in changes(file, (root / file).read_text())]
    rng = random.Random(seed)
    rng.shuffle(places)
    return [rng.choice(place) for place in places[:count]]


def equivalent(listed: list[dict[str, str]], change: Change, root: Path) -> bool:
    """Whether a change is listed as one that no test can notice; lines may have moved."""
    of_file = [[f"- {each['was']}", f"+ {each['becomes']}"] for each in listed if each["file"] == change.file]
    return bool(of_file) and change.diff((root / change.file).read_text()) in of_file


def prepared(commit: str) -> tuple[Path, Recording]:
    """The tree of a commit and what its tests run; both are made once."""
    folder = ROOT / "build" / "mutants" / commit
    tree = folder / "tree"
    if not (folder / "seconds.json").exists():
        shutil.rmtree(tree, ignore_errors=True)
        tree.mkdir(parents=True)
        archive = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True).stdout
        subprocess.run(["tar", "-x"], cwd=tree, input=archive, check=True)
        print("recording which test runs which line", flush=True)
        arguments = ("-p", "tests.mutants.recording", *IN_PROCESS, *NOT_OURS)
        with closing(Forks(tree, MUTANTS_FOLDER=str(folder))) as forks:
            code, said = forks.run(arguments, RECORDING_S)
        (folder / "recording.log").write_text(said)
        if code not in (0, TESTS_FAILED):
            (folder / "seconds.json").unlink(missing_ok=True)
            raise SystemExit(f"pytest did not come to the end of the tests; see {folder / 'recording.log'}")
    return tree, Recording(folder, tree)


def run(tree: Path, recording: Recording, left: queue.SimpleQueue, results: Path, until_s: float) -> None:
    """Try changes until none is left or the time is over, each with what became of it as a line of `results`."""

    def work(copy: Path) -> None:
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(tree, copy)
        with closing(Forks(copy, recording.modules, PYTHONDONTWRITEBYTECODE="1")) as forks:
            while time.monotonic() < until_s:
                try:
                    number, change = left.get_nowait()
                except queue.Empty:
                    return
                outcome = tried(forks, change, recording)
                if outcome is None:
                    print(f"{number} {change.file}:{change.line} no verdict: the machine is too busy", flush=True)
                    continue
                with results.open("a") as lines:
                    lines.write(json.dumps({"number": number, **asdict(outcome)}) + "\n")
                word = "noticed" if outcome.noticed else "UNNOTICED"
                print(f"{number} {change.file}:{change.line} {word} {outcome.by}", flush=True)

    copies = [tree.with_name(f"copy-{n}") for n in range(PROCESSES)]
    # Daemons, so that Ctrl-C ends the run; what is being tried then is tried again by the next one.
    threads = [threading.Thread(target=work, args=(copy,), daemon=True) for copy in copies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def outcomes(results: Path) -> dict[int, dict]:
    """What became of the changes that were tried, by their place in the sample."""
    lines = results.read_text().splitlines() if results.exists() else []
    return {line.pop("number"): line for line in map(json.loads, lines)}


def report(
    tree: Path, sampled: dict[int, Change], equal: set[int], tried_ones: dict[int, dict], **about: object
) -> dict:
    """What was seen of a sample; `noticed_share` is of the tried ones, None where there is none."""
    noticed = sum(outcome["noticed"] for outcome in tried_ones.values())
    survivors = []
    for number, outcome in sorted(tried_ones.items()):
        if not outcome["noticed"]:
            change = sampled[number]
            diff = change.diff((tree / change.file).read_text())
            survivors.append({"file": change.file, "line": change.line, "diff": diff, "tests": outcome["tests"]})
    counts = {"sampled": len(sampled), "equivalent": len(equal), "tried": len(tried_ones), "noticed": noticed}
    share = round(noticed / len(tried_ones), 3) if tried_ones else None
    return {**about, **counts, "noticed_share": share, "survivors": survivors}


def main(arguments: list[str]) -> int:
    """Try the sample of the last commit; returns the process's exit code."""
    options = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    options.add_argument("--count", type=int, default=600, help="how many changes to draw (600)")
    options.add_argument("--seed", type=int, default=1, help="from which they are drawn (1)")
    options.add_argument("--folders", nargs="+", default=FOLDERS, help="of the drawn ones, only those there (all)")
    options.add_argument("--hours", type=float, default=3.0, help="after which no further one is tried (3)")
    wanted = options.parse_args(arguments)
    until_s = time.monotonic() + wanted.hours * 3600
    commit = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=ROOT, text=True).strip()
    tree, recording = prepared(commit)
    drawn = enumerate(sample(tree, wanted.seed, wanted.count))
    sampled = {number: change for number, change in drawn if Path(change.file).parts[1] in wanted.folders}
    listed = tomllib.loads((tree / EQUIVALENT).read_text())["equivalent"]
    equal = {number for number, change in sampled.items() if equivalent(listed, change, tree)}
    results = tree.with_name(f"seed-{wanted.seed}.jsonl")
    left: queue.SimpleQueue = queue.SimpleQueue()
    for number in sorted(sampled.keys() - equal - outcomes(results).keys()):
        left.put((number, sampled[number]))
    run(tree, recording, left, results, until_s)
    tried_ones = {number: each for number, each in outcomes(results).items() if number in sampled}
    seen = report(tree, sampled, equal, tried_ones, commit=commit, seed=wanted.seed, folders=list(wanted.folders))
    write_whole(REPORT, json.dumps(seen, indent=2) + "\n")
    print(f"{seen['noticed']} of {seen['tried']} changes noticed; see {REPORT.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
