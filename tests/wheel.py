"""Does the wheel hold everything? Builds it, installs it into an empty environment, serves and tests there.

The environment gets the wheel and, from the lock, what the wheel says it needs. Only the test tools are borrowed from
the environment that runs this file, behind everything else on the path; pyspark stays out, as it is an extra.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import urllib.error
import urllib.request
import venv
from pathlib import Path

from controlplane.processes import free_port
from tests.waiting import eventually

ROOT = Path(__file__).resolve().parent.parent
PINNED = re.compile(r"^[A-Za-z0-9_.-]+==[^\\\n]+", re.MULTILINE)
READY_S = 120.0


def main(*arguments: str) -> int:
    """Runs the unit tests with these arguments of pytest; returns its exit code."""
    with tempfile.TemporaryDirectory(prefix="grasshopper-wheel-") as folder:
        place = Path(folder)
        build = ("-m", "pip", "wheel", "-q", "--disable-pip-version-check", "--no-deps", "--no-build-isolation")
        subprocess.run([sys.executable, *build, "--wheel-dir", str(place), str(ROOT)], check=True)
        wheel = next(place.glob("*.whl"))
        venv.create(place / "env", with_pip=True)
        python = place / "env" / "bin" / "python"
        pins = place / "pins.txt"
        pins.write_text("\n".join(PINNED.findall((ROOT / "requirements/run.lock").read_text())))
        pip = (str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", "-c", str(pins))
        subprocess.run([*pip, str(wheel)], check=True)
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        environment |= {"GRASSHOPPER_WHEEL": str(wheel), "XDG_CACHE_HOME": str(place / "cache")}
        subprocess.run([str(python), "-m", "controlplane.engine.warming"], check=True, cwd=place, env=environment)
        command = python.with_name("grasshopper")
        show = (str(command), "config", "show")
        subprocess.run(show, check=True, cwd=place, env=environment, stdout=subprocess.DEVNULL)
        _serve(command, place, environment)

        shutil.copytree(ROOT / "tests", place / "tests", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", place)
        borrowed = Path(subprocess.check_output([str(python), "-c", _PURELIB], text=True).strip())
        (borrowed / "zz-test-tools.pth").write_text(sysconfig.get_path("purelib") + "\n")
        tests = (str(python), "-m", "pytest", "-m", "unit and not checkout", *arguments)
        return subprocess.run(tests, cwd=place, env=environment, check=False).returncode


def _serve(command: Path, place: Path, environment: dict[str, str]) -> None:
    """The control plane gets ready and shows its page where nothing but the wheel and its needs is installed."""
    port = free_port("127.0.0.1")
    serve = (str(command), "serve", "--port", str(port), "--store", str(place / "plane.db"))
    with subprocess.Popen(serve, cwd=place, env=environment) as plane:
        try:
            eventually(lambda: plane.poll() is not None or _status(port, "/readyz") == 200, within_s=READY_S)
            for path in ("/readyz", "/"):
                if _status(port, path) != 200:
                    raise SystemExit(f"the wheel's control plane does not answer {path}")
        finally:
            plane.terminate()


def _status(port: int, path: str) -> int:
    """The status of one answer; 0 for none."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


_PURELIB = "import sysconfig; print(sysconfig.get_path('purelib'))"

if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
