"""How does a test run a user's MapReduce program? A real ApplicationMaster, and tasks in containers of a local YARN."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from yarn_bridge.local_yarn import JAVA_OPTIONS, LocalYarn
from yarn_bridge.mapreduce_conf import mapreduce_jar, properties

PROGRAM = Path(__file__).with_name("Words.java")
FILES, LINES = 6, 300
ENDED_S = 240.0
LAUNCHED = re.compile(r"Launched (map|reduce) tasks=(\d+)")


class Words:
    """The program, compiled, and its input; each run of it is a job of its own."""

    def __init__(self, yarn: LocalYarn, folder: Path) -> None:
        self._yarn, self._folder = yarn, folder
        self._jar = folder / "words.jar"
        classes = folder / "classes"
        command = ["javac", "-nowarn", "--release", "8", "-cp", f"{yarn.jars}/*", "-d", classes, PROGRAM]
        subprocess.run(command, check=True)
        subprocess.run(["jar", "--create", "--file", self._jar, "-C", classes, "."], check=True)
        self._input = folder / "input"
        self._input.mkdir()
        for number in range(FILES):
            lines = (f"word{(31 * number + line) % 17} the {line % 5}\n" for line in range(LINES))
            (self._input / f"{number}.txt").write_text("".join(lines))

    def start(self, name: str, server: str, **conf: object) -> Run:
        """A job attached to a control plane; of further keys the dots are underscores."""
        keys: Mapping[str, object] = properties(server, mapreduce_jar().as_uri(), {}) | {
            key.replace("_", "."): value for key, value in conf.items()
        }
        output = self._folder / name
        command = [
            "java", "-Xmx256m", *JAVA_OPTIONS, "-cp", f"{self._yarn.conf_dir}:{self._yarn.jars}/*:{self._jar}", "Words",
            *(word for key, value in keys.items() for word in ("-D", f"{key}={value}")), self._input, output,
        ]  # fmt: skip
        return Run(command, output)

    def expected(self) -> Counter[str]:
        """How often each word occurs."""
        return Counter(word for file in self._input.iterdir() for word in file.read_text().split())


class Run:
    """One job, by its client."""

    def __init__(self, command: list[object], output: Path) -> None:
        self._log = output.with_suffix(".log")
        self._output = output
        with self._log.open("w") as log:
            self._client = subprocess.Popen(list(map(str, command)), stdout=log, stderr=log)

    def end(self) -> None:
        """Returns once the job has ended, and well."""
        assert self._client.wait(timeout=ENDED_S) == 0, self._log.read_text()

    def kill(self) -> None:
        """The client goes; what is left of the job ends with the cluster."""
        self._client.kill()
        self._client.wait()

    def launched(self) -> dict[str, int]:
        """Attempts that were launched, `map` and `reduce`."""
        return {kind: int(count) for kind, count in LAUNCHED.findall(self._log.read_text())}

    def counted(self) -> Counter[str]:
        """The word counts that the job has written."""
        found: Counter[str] = Counter()
        for part in self._output.glob("part-*"):
            for line in part.read_text().splitlines():
                word, count = line.split("\t")
                found[word] += int(count)
        return found
