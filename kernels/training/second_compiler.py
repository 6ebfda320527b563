"""At a first start two processes compile, which waits less long than one.

Numba compiles one function at a time in a process, however many threads ask. A second process,
`python -m MODULE ...`, leaves what it compiles in the same folder on the disk, where the first one
finds it. Nothing depends on that: what is not there, the first process compiles itself.

On the CPU, the second one compiles the parallel loops. What is large in `kernels/cpu` are bodies,
to which `compiled_apart` gives an address, and the parallel loops that call them there. Neither
needs the other to be compiled. So while the first process compiles the bodies,

    python -m kernels.training.second_compiler

compiles the loops. What the second process does for a GPU is in `second_gpu_compiler`.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import numpy as np

from kernels.adam import bias_corrections
from kernels.config import COLOURS, Config
from kernels.cpu import images, step
from kernels.cpu.compile import KEEP, nowhere
from kernels.state import initial_state
from kernels.training.waiting import without_collecting

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60  # seconds; then the first process compiles the rest itself


def worth_it() -> bool:
    """Whether there is a core for a second process, and a folder for what it compiles."""
    return KEEP and (os.cpu_count() or 1) > 1


@contextmanager
def while_another_runs(module: str, *arguments: object) -> Iterator[None]:
    """`python -m module arguments` runs meanwhile, and has ended afterwards."""
    process = start(module, arguments)
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


def start(module: str, arguments: tuple[object, ...]) -> "subprocess.Popen[bytes] | None":
    command = [sys.executable, "-m", module, *map(str, arguments)]
    nothing = subprocess.DEVNULL
    try:
        return subprocess.Popen(command, cwd=ROOT, stdin=nothing, stdout=nothing, stderr=nothing)
    except OSError:
        return None


def loops_compiled_elsewhere() -> AbstractContextManager[None]:
    """Compile the bodies within this: afterwards the loops are on the disk too.

    If that was not possible (one core, no more processes), the first process compiles the loops
    when it comes to them.
    """
    if not worth_it() or already_kept():
        return nullcontext()
    return while_another_runs("kernels.training.second_compiler")


def already_kept() -> bool:
    kept = Path(step.train_steps.stats.cache_path)
    return any(kept.glob("step.train_steps-*.nbi"))


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
        gradient, 1, image, seed, 1, config.batch, state, workspace, corrections, no_steps,
        config.adam_rates,
    )  # fmt: skip
    paint = images.paint_body(state.feature_grid, state.weights, workspace, image, nowhere)
    images.render(paint, state.feature_grid, state.weights, workspace, image)


if __name__ == "__main__":
    with without_collecting():
        compile_loops()
