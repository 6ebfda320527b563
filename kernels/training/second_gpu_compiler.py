"""At a first start on a GPU, a second process compiles what paints.

The kernel that trains takes longest. While the first process compiles it,

    python -m kernels.training.second_gpu_compiler HIDDEN LAYERS CHANNELS

compiles what is needed after training, and `kept_kernels` brings it to the first.
"""

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from numba import float32, int32

from kernels import image_ops
from kernels.config import Config
from kernels.fast.graph import add_squared_errors, make_paint
from kernels.fast.persistent_wide import make_paint_wide, wide_fits
from kernels.fast.sizes import network_size
from kernels.training.kept_kernels import awaited, keep
from kernels.training.second_compiler import while_another_runs, worth_it
from kernels.training.waiting import without_collecting

vector, matrix, cube = float32[::1], float32[:, ::1], float32[:, :, ::1]
PAINT = (matrix, vector, int32, int32, vector, int32, int32)
OTHERS = {
    add_squared_errors: (vector, matrix, vector),
    image_ops.downsample: (cube, cube),
    image_ops.upsample: (cube, cube),
}


def painting_compiled_elsewhere(paint: Any, config: Config) -> AbstractContextManager[None]:
    """Compile what trains within this: afterwards what paints is on the disk too.

    paint: the kernel that will paint; `keep` knows it.
    """
    if not worth_it() or not awaited(paint, PAINT):
        return nullcontext()
    sizes = config.hidden, config.layers, config.channels
    return while_another_runs("kernels.training.second_gpu_compiler", *sizes)


def paint_kernel(hidden: int, layers: int, channels: int) -> Any:
    if wide_fits(hidden, layers):
        return make_paint_wide(hidden, layers, channels)[0]
    return make_paint(network_size(hidden, layers, channels))


def compile_painting(hidden: int, layers: int, channels: int) -> None:
    """Compile the kernels that paint a picture and compare it, and keep them."""
    for kernel, types in {paint_kernel(hidden, layers, channels): PAINT, **OTHERS}.items():
        keep(kernel)
        kernel.compile(types)


if __name__ == "__main__":
    with without_collecting():
        compile_painting(*map(int, sys.argv[1:]))
