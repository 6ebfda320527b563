"""What asking for one part of the lab loads: that part, and neither the other nor any drawing."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SIMULATOR, ENGINE = "lessons.lab.simulator.run", "lessons.lab.compiled.engine"
DRAWING = ("PIL", "lessons.lab.simulator.picture", "lessons.lab.simulator.style", "kernels")


def modules_after(code):
    """Names of all modules that a new Python has loaded after it ran `code`."""
    code = f"{code}\nimport sys\nprint(*sys.modules, sep='\\n')"
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()


@pytest.mark.parametrize(
    "code, wanted, unwanted",
    [
        ("import lessons.lab", "lessons.lab", ("lessons.lab.", "numba")),
        *(
            pytest.param(*row, marks=pytest.mark.slow)
            for row in [
                ("from lessons.lab import checked_run", SIMULATOR, ("lessons.lab.compiled",)),
                ("from lessons.lab import native", ENGINE, ("lessons.lab.simulator",)),
            ]
        ),
    ],
)
def test_each_engine_is_loaded_alone_and_nothing_that_draws(code, wanted, unwanted):
    modules = modules_after(code)
    assert wanted in modules
    assert [name for name in modules if name.startswith(unwanted + DRAWING)] == []


@pytest.mark.slow
def test_what_few_kernels_need_is_not_prepared_for_one_that_does_not(tmp_path):
    (tmp_path / "plain.py").write_text(
        "from numba import cuda\n@cuda.jit\ndef kernel(x): x[cuda.grid(1)] = 1\n"
    )
    modules = modules_after(
        f"import sys, numpy as np; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from plain import kernel; from lessons.lab import instead_of_gpu\n"
        "with instead_of_gpu(): kernel[1, 8](np.zeros(8))"
    )
    assert "numba.cuda.np.arrayobj" in modules  # it has been compiled
    assert not {"numba.cuda.fp16", "numba.cuda.libdevicedecl", "numpy.ma"} & set(modules)


def test_what_a_script_leaves_open_is_written(tmp_path):
    script, written = tmp_path / "script.py", tmp_path / "written.txt"
    lines = "import sys", "file = open(sys.argv[1], 'w')", "def keep(): file.write('all')", "keep()"
    script.write_text("\n".join(lines))
    command = [sys.executable, "-m", "lessons.lab", "run", script, written]
    assert subprocess.run(command, cwd=ROOT, capture_output=True).returncode == 6
    assert written.read_text() == "all"
