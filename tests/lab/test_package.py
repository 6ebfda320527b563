"""The lab is a package of its own: `pip install ./lessons/lab`, and nothing of this project."""

import os
import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from lessons.lab import __version__
from lessons.lab.__main__ import main

ROOT = Path(__file__).resolve().parents[2]
LAB = ROOT / "lessons" / "lab"

USE = """
import sys
import numpy as np
from numba import cuda
import twothreads
from twothreads import checked_run

@cuda.jit
def shift(values):
    i = cuda.grid(1)
    if i + 1 < values.size:
        values[i] = values[i + 1]

report = checked_run(shift, 1, 64, np.zeros(64, np.float32))
assert [finding.kind for finding in report.problems] == ["race"], report
ours = [name for name in sys.modules if name.split(".")[0] in ("lessons", "kernels")]
assert ours == [] and "PIL" not in sys.modules, ours
try:
    report.picture("picture.png")
except twothreads.InputError as error:
    print(error)
"""


def test_the_package_has_a_page_and_a_name(capsys):
    text = (LAB / "pyproject.toml").read_text(encoding="utf-8")
    name = re.search(r'^name = "(\w+)"$', text, re.MULTILINE)[1]
    page = (LAB / "PACKAGE.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {name}: ") and "lessons" not in page
    assert not re.search(r"\]\((?!\*)", page)  # no links: they would need an address
    assert (LAB / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert (LAB / "py.typed").exists()
    assert main(["--version"]) == 0 and capsys.readouterr().out == f"twothreads {__version__}\n"
    for module in re.findall(rf'"{name}\.(\w+)', text):
        assert (LAB / f"{module}.py").exists()


@pytest.mark.thorough
def test_it_installs_into_an_empty_environment(tmp_path):
    venv.create(tmp_path / "venv", with_pip=True)
    folder = tmp_path / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
    python = str(folder / "python")

    def run(*command, status=0):
        done = subprocess.run(
            [python, *command], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    numba = os.environ.get("TRY_NUMBA")  # the version that CI tries, with Numba's own compiler
    what = [f"{LAB}[cuda]", f"numba=={numba}"] if numba else [str(LAB)]
    installed = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", *what, "pytest"],
        capture_output=True,
        text=True,
        check=False,
    )
    if "No matching distribution" in installed.stderr or "Connection" in installed.stderr:
        pytest.skip("pip reaches no package index")
    assert installed.returncode == 0, installed.stderr
    assert not (LAB / "build").exists()
    (tmp_path / "use.py").write_text(USE)
    assert "pip install pillow" in run("use.py")
    pipeline = str(ROOT / "tests" / "lab" / "scripts" / "pipeline.py")
    assert "no problem found" in run("-m", "twothreads", "run", pipeline, "2")
    assert "1 problem found" in run("-m", "twothreads", "run", pipeline, "2", "managed", status=1)
    (tmp_path / "test_project.py").write_text(
        "import numpy as np\n" + USE[USE.index("from numba") : USE.index("report =")].replace(
            "import twothreads\nfrom twothreads import checked_run\n", ""
        ) + "def test_shift():\n    shift[1, 64](np.zeros(64))\n"
    )  # fmt: skip
    assert "race: thread" in run("-m", "pytest", "--lab", "test_project.py", status=1)
