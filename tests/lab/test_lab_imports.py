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
