"""Does the wheel hold everything? Builds it, installs it into an empty environment, and runs the unit tests there.

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
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PINNED = re.compile(r"^[A-Za-z0-9_.-]+==[^\\\n]+", re.MULTILINE)


def main(report: str) -> int:
    """Returns pytest's exit code; `report` is where its JUnit file goes."""
    with tempfile.TemporaryDirectory(prefix="grasshopper-wheel-") as folder:
        place = Path(folder)
        build = ("-m", "build", "--wheel", "--no-isolation", "--outdir", str(place), str(ROOT))
        subprocess.run([sys.executable, *build], check=True, stdout=subprocess.DEVNULL)
        wheel = next(place.glob("*.whl"))
        venv.create(place / "env", with_pip=True)
        python = place / "env" / "bin" / "python"
        pins = place / "pins.txt"
        pins.write_text("\n".join(PINNED.findall((ROOT / "requirements/run.lock").read_text())))
        pip = (str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", "-c", str(pins))
        subprocess.run([*pip, str(wheel)], check=True)
        subprocess.run(
            [str(python.with_name("grasshopper")), "config", "show"], check=True, cwd=place, stdout=subprocess.DEVNULL
        )

        shutil.copytree(ROOT / "tests", place / "tests", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", place)
        borrowed = Path(subprocess.check_output([str(python), "-c", _PURELIB], text=True).strip())
        (borrowed / "zz-test-tools.pth").write_text(sysconfig.get_path("purelib") + "\n")
        tests = (str(python), "-m", "pytest", "-m", "unit and not checkout", f"--junitxml={report}")
        environment = os.environ | {"GRASSHOPPER_WHEEL": str(wheel), "XDG_CACHE_HOME": str(place / "cache")}
        subprocess.run([str(python), "-m", "controlplane.engine.warming"], check=True, cwd=place, env=environment)
        return subprocess.run(tests, cwd=place, env=environment, check=False).returncode


_PURELIB = "import sysconfig; print(sysconfig.get_path('purelib'))"

if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
