"""At a first start on the CPU, two processes compile: one waits half as long.

Numba compiles one function at a time in a process, however many threads ask. What is large in
`kernels/cpu` are bodies, to which `compiled_apart` gives an address, and the parallel loops that
call them there. Neither needs the other to be compiled. So a second process,

    python -m kernels.training.second_compiler

compiles the loops, and Numba's cache on the disk brings them to the first.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from kernels.adam import bias_corrections
from kernels.config import COLOURS, Config
from kernels.cpu import images, step
from kernels.cpu.compile import KEEP, nowhere
from kernels.state import initial_state

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-m", "kernels.training.second_compiler"]
PATIENCE = 60  # seconds; then the first process compiles the loops itself


@contextmanager
def loops_compiled_elsewhere() -> Iterator[None]:
    """Compile the bodies within this: afterwards the loops are on the disk too.

    If that was not possible (one core, no more processes), the first process compiles the loops
    when it comes to them.
    """
    process = start() if worth_it() else None
    try:
        yield
        if process:
            process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        pass
    finally:
        if process:
            process.kill()
            process.wait()


def worth_it() -> bool:
    if not KEEP or (os.cpu_count() or 1) == 1:
        return False
    kept = Path(step.train_steps.stats.cache_path)
    return not any(kept.glob("step.train_steps-*.nbi"))


def start() -> "subprocess.Popen[bytes] | None":
    nothing = subprocess.DEVNULL
    try:
        return subprocess.Popen(COMMAND, cwd=ROOT, stdin=nothing, stdout=nothing, stderr=nothing)
    except OSError:
        return None


def compile_loops() -> None:
    """Compile the parallel loops, for arrays without a number in them: nothing runs."""
    config = Config(batch=1)
    state = initial_state(config)
    workspace = step.make_workspace(config, partitions=0)
    image = np.zeros((1, 1, COLOURS), np.float32)
    seed = np.uint64(0)
    gradient = step.gradient_body(image, seed, config.batch, state, workspace, nowhere)
    corrections = bias_corrections(config.beta1, config.beta2)
    no_steps = np.zeros((0, 2), np.float32)
    step.train_steps(
        gradient, image, seed, 1, config.batch, state, workspace, corrections, no_steps,
        config.adam_rates,
    )  # fmt: skip
    paint = images.paint_body(state.feature_grid, state.weights, workspace, image, nowhere)
    images.render(paint, state.feature_grid, state.weights, workspace, image)


if __name__ == "__main__":
    compile_loops()
