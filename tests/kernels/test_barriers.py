"""Each barrier of two in a step, and of painting, is needed: without it the lab finds a race.

A barrier is taken out of a copy of `kernels`, in which a process of its own then runs them.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kernels.adam import bias_corrections
from kernels.config import Config
from kernels.fast.adam import rows_to_sum
from kernels.fast.graph import make_paint
from kernels.fast.persistent_two_barriers import make_train_two_barriers
from kernels.fast.sizes import network_size
from kernels.state import initial_state
from kernels.training.kernel_arrays import fused_arrays, settings_of
from lessons.lab import checked_run

ROOT = Path(__file__).resolve().parents[2]
FILES = ("adam", "graph", "mlp", "persistent_two_barriers")
BARRIER = re.compile(r"cuda\.sync(threads|warp)\(\)")
BLOCKS, SMALL = 2, {"steps": 40, "batch": 300, "grid_width": 31, "grid_height": 29}


def kinds_of_findings(kernel, threads, *arguments):
    report = checked_run(kernel, BLOCKS, threads, *arguments, ask_numba=False)
    return {finding.kind for finding in report.findings if not finding.advice}


def kinds_in_training():
    """Of two steps; a block has more than one tile of samples, and the last one is not full."""
    config = Config(**SMALL)
    train, threads = make_train_two_barriers(config.hidden, config.layers)
    image = np.random.default_rng(1).random((31, 44, 3), dtype=np.float32)
    arrays = fused_arrays(
        image, initial_state(config), bias_corrections(config.beta1, config.beta2), BLOCKS,
        rows_to_sum(BLOCKS, threads), threads,
    )  # fmt: skip
    rates, counter = np.full((2, 2), 0.01, np.float32), np.zeros(1, np.uint32)
    settings = settings_of(config, image)
    return kinds_of_findings(train, threads, arrays, rates, np.int64(1), settings, counter)


def kinds_in_painting():
    config, (width, height) = Config(**SMALL), (17, 23)
    size = network_size(config.hidden, config.layers)
    state = initial_state(config)
    grid = np.zeros((config.grid_width * config.grid_height, 4), np.float32)
    colours = np.zeros(width * height * 3, np.float32)
    sizes = map(np.int32, (config.grid_width, config.grid_height, width, height))
    grid_width, grid_height, width, height = sizes
    return kinds_of_findings(
        make_paint(size), size.threads, grid, state.weights, grid_width, grid_height, colours,
        width, height,
    )  # fmt: skip


def source_of(file):
    return (ROOT / "kernels" / "fast" / f"{file}.py").read_text(encoding="utf-8").splitlines()


def barriers():
    """(file, index of the line) of each barrier."""
    return [
        (file, index)
        for file in FILES
        for index, line in enumerate(source_of(file))
        if BARRIER.search(line)
    ]


@pytest.mark.thorough
def test_nothing_is_found_in_the_kernels_as_they_are():
    assert len(barriers()) > 10 and kinds_in_training() | kinds_in_painting() == set()


@pytest.mark.thorough
@pytest.mark.parametrize("file, index", barriers())
def test_the_lab_notices_a_barrier_that_is_missing(file, index, tmp_path):
    kernels = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "kernels", tmp_path / "kernels", ignore=kernels)
    lines = source_of(file)
    lines[index] = BARRIER.sub("pass", lines[index])
    changed = tmp_path / "kernels" / "fast" / f"{file}.py"
    changed.write_text("\n".join(lines) + "\n", encoding="utf-8")
    program = (
        f"import sys; sys.path.append({str(ROOT)!r})\n"
        "from tests.kernels.test_barriers import kinds_in_painting, kinds_in_training\n"
        "print(*kinds_in_training() | kinds_in_painting())"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True
    )
    assert run.stdout.split() == ["race"], run.stderr
