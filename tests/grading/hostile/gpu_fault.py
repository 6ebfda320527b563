"""A kernel that writes far outside its array, only where it runs on a GPU."""
# like: honest
# needs a GPU

from kernels.config import TILE
from kernels.launch import blocks_for, on_gpu


def launch_over_pixels(kernel, source, result, launch=on_gpu):
    height, width = result.shape[:2]
    blocks = blocks_for(width, TILE), blocks_for(height, TILE)
    if launch is on_gpu and 16 < height < 100:
        launch(astray, blocks, (TILE, TILE), result)
    launch(kernel, blocks, (TILE, TILE), source, result)


from numba import cuda  # noqa: E402


@cuda.jit
def astray(result):
    x, y = cuda.grid(2)
    result[y + 1_000_000_000, x] = 1
