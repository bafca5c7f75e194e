"""Does compiled code follow its sources, and does nobody pay for it who does not need it?"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from controlplane import compiled

pytestmark = pytest.mark.unit

ASK = """
from controlplane.probe import twice_more
from controlplane.compiled import cache_folder
print(twice_more(3.0), cache_folder())
"""


def run(code: str, folder: Path, **environment: str) -> str:
    """What a fresh process prints that imports from `folder` and keeps its caches there."""
    variables = {**os.environ, "PYTHONPATH": str(folder), "XDG_CACHE_HOME": str(folder / "cache"), **environment}
    done = subprocess.run([sys.executable, "-c", code], env=variables, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def package(tmp_path) -> Path:
    """A copy of the decorators with one rule, a constant of another file, and a kernel in a third."""
    folder = tmp_path / "controlplane"
    folder.mkdir()
    shutil.copy(compiled.__file__, folder)
    (folder / "__init__.py").touch()
    (folder / "numbers.py").write_text("MORE = 1.0\n")
    (folder / "rules.py").write_text(
        "from controlplane.compiled import rule\n\n@rule\ndef twice(x):\n    return 2.0 * x\n"
    )
    (folder / "probe.py").write_text(
        "from controlplane.compiled import kernel\nfrom controlplane import numbers\n"
        "from controlplane.rules import (\n    twice,\n)\nMORE = numbers.MORE\n\n"
        "@kernel\ndef twice_more(x):\n    return twice(x=x) + MORE\n"
    )
    return tmp_path


def test_a_kernel_follows_a_rule_and_a_constant_of_other_files(package):
    """numba's own cache would go on with the old rule, for the kernel's file has not changed."""
    first, folder = run(ASK, package).split()
    again, same_folder = run(ASK, package).split()
    assert (first, again, folder) == ("7.0", "7.0", same_folder)
    assert list(Path(folder).rglob("*.nbc"))
    rules = package / "controlplane" / "rules.py"
    rules.write_text(rules.read_text().replace("2.0 * x", "3.0 * x"))
    assert run(ASK, package).split()[0] == "10.0"
    (package / "controlplane" / "numbers.py").write_text("MORE = 0.5\n")
    assert run(ASK, package).split()[0] == "9.5"


def test_kernels_run_uncached_where_nothing_can_be_written(package):
    """A container's read-only disk is no reason to fail."""
    (package / "file").touch()
    assert run(ASK, package, XDG_CACHE_HOME=str(package / "file")) == "7.0 None"


def test_plain_python_gives_the_same_without_numba(package):
    """The oracle needs no compiler."""
    code = "import sys\nfrom controlplane.probe import twice_more\nprint(twice_more(3.0), 'numba' in sys.modules)"
    assert run(code, package, NUMBA_DISABLE_JIT="1") == "7.0 False"


def test_the_command_line_shows_its_help_without_compiling():
    """Whoever asks for help does not wait for a compiler."""
    code = "import sys, controlplane.cli.app\nprint({'numba', 'numpy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
